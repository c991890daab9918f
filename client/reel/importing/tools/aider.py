"""aider: one Markdown file in each repository, to which every run appends its messages.

aider writes an answer as it came. It ends each line of a prompt, and of its own output, with two spaces: so a heading
or a quotation in an answer is told from a prompt. An editor may have removed such spaces from a whole run.
"""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from reel.importing.sources.files import MAX_LINE, Line, lines_of, open_regular
from reel.importing.steps import TOO_LONG, About, Counts, Found, Kept, Part, Problem, Said, Source, Step, Tool
from reel.importing.values import digest, milliseconds, name_of, tags_of, title_of
from reel.providers.blocks import text as text_block

_NAME = "aider"
_FILE = ".aider.chat.history.md"
_RUN = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
# Directories that nobody works in: they may have a hundred thousand files.
_NEVER = frozenset({".git", "node_modules"})
_BEGINNING = b"# aider chat started at "
_MARKS = {"user": "#### ", "shown": "> "}
# What aider ends its lines with. An answer has none of its own before the first prompt.
_END = "  "
# The beginning of a prompt that is a command to aider, and no title.
_COMMANDS = ("/", "!")
# The maximum size of one message: in a damaged file, it may be unbounded.
_LONGEST = MAX_LINE // 2


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the history of the repository of the current directory; no other places are known."""
    here = Path(environment.get("PWD") or ".")
    for directory in (here, *here.parents):
        if (directory / _FILE).is_file() or (directory / ".git").exists():
            yield directory / _FILE
            return
    yield here / _FILE


def _discover(root: Path) -> Found:
    """Find the history at a path, or those of a directory and of all below it."""
    problems: list[Problem] = []
    paths = _below(root, problems) if root.is_dir() else [root]
    found = [_found_at(path) for path in paths]
    sources = [source for each in found for source in each.sources]
    return Found(sources, [*problems, *(problem for each in found for problem in each.problems)])


def _below(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield the histories below a directory. Links to directories are not followed."""

    def report(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 0, error.strerror or str(error)))

    for directory, below, names in os.walk(root, onerror=report):
        below[:] = sorted(name for name in below if name not in _NEVER)
        if _FILE in names:
            yield Path(directory) / _FILE


def _found_at(path: Path) -> Found:
    if path.is_symlink():
        return Found([], [Problem(str(path), 0, "is a link, which is not followed")])
    if not path.is_file():
        return Found([], [])
    status = path.stat()
    directory = str(path.parent.resolve())
    name = name_of(_NAME, f"{path.parent.resolve().name}-{digest(directory)}")
    try:
        runs = _runs_in(path)
    except OSError as error:
        return Found([], [Problem(str(path), 0, error.strerror or str(error))])
    about = {"cwd": directory}
    source = Source(str(path), name, status.st_size, status.st_mtime_ns, about=about, conversations=runs)
    return Found([source], [])


def _runs_in(path: Path) -> int:
    with open_regular(str(path)) as file:
        return sum(line.data.startswith(_BEGINNING) for line in lines_of(file)) or 1


class History:
    """A history that is being read: a conversation for each run.

    Args:
        source: the location of the file.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.counts = Counts()
        self._started = ""
        self._sent: int | None = None
        self._runs: dict[str, int] = {}
        # The block being collected: the kind of its lines, its first line number, and its lines.
        self._kind = ""
        self._line = 0
        self._gathered: list[str] = []
        self._size = 0
        self._said = 0
        self._described = self._has_title = self._commanded = False
        # Whether the lines that aider marks end with two spaces; unknown before the first one.
        self._has_ends: bool | None = None

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the file; an incomplete last line is left for the next call."""
        with open_regular(self.source.path) as file:
            for line in lines_of(file):
                if not line.complete:
                    break
                yield from self._read(line)
        yield from self._flush()

    def _read(self, line: Line) -> Iterator[Step]:
        if line.length and not line.data:
            what = f"a line of {line.length:,} bytes; the limit is {MAX_LINE:,}"
            self.counts.refuse(TOO_LONG, Problem(self.source.path, line.number, what))
            return
        text = line.data.decode("utf-8", "replace").replace("\0", "\ufffd").rstrip("\r\n")
        if (run := _RUN.fullmatch(text)) is not None:
            yield from self._flush()
            self.counts.map()
            self._begin(run[1])
            return
        kind = self._kind_of(text)
        if not text.strip() and (not self._gathered or self._kind != "assistant"):
            self.counts.ignore("empty line")
            return
        if kind != self._kind or self._size > _LONGEST:
            yield from self._flush()
            self._kind, self._line = kind, line.number
        self.counts.map()
        mark = _MARKS.get(kind, "")
        self._gathered.append(text[len(mark) :].rstrip() if mark else text)
        self._size += line.length

    def _kind_of(self, text: str) -> str:
        """Return whose a line is."""
        for kind, mark in _MARKS.items():
            if text.startswith(mark) or text == mark.rstrip():
                ends = text.endswith(_END)
                if self._has_ends is None:
                    self._has_ends = ends
                if ends or not self._has_ends:
                    return kind
        return "assistant"

    def _begin(self, started: str) -> None:
        self._runs[started] = self._runs.get(started, 0) + 1
        number = self._runs[started]
        stamp = re.sub(r"\D", "-", started)
        self._started = stamp if number == 1 else f"{stamp}-{number}"
        self._sent, self._said, self._has_ends = _local(started), 0, None
        self._described = self._has_title = self._commanded = False

    def _flush(self) -> Iterator[Step]:
        """Yield the collected block. The file has no ids: the position of a message in its run serves as its id."""
        text, self._gathered, self._size = "\n".join(self._gathered).strip("\n"), [], 0
        kind, self._kind = self._kind, ""
        if not text:
            return
        self._said += 1
        ref = f"{self._said}-{digest(kind, text)}"
        if not self._described:
            self._described = True
            facts = {"tool": _NAME, "source": self.source.path, "cwd": self.source.about.get("cwd", "")}
            yield About(f"/{self._started or 'start'}", "", tags_of(**facts))
        if kind == "shown":
            yield Kept("note", ref, text, {"aider": "shown"}, self._sent, self._line)
            return
        yield Said(kind, (Part(ref, [text_block(text)]),), {}, self._sent, self._line)
        if kind == "user" and not self._has_title:
            # A command is the title of a run without any other prompt.
            self._has_title = not text.startswith(_COMMANDS)
            if self._has_title or not self._commanded:
                yield About(f"/{self._started or 'start'}", title_of(text))
            self._commanded = True


def _local(started: str) -> int | None:
    """Return a local time as milliseconds since the epoch; aider writes no zone."""
    try:
        return milliseconds(datetime.fromisoformat(started).astimezone().isoformat())
    except (ValueError, OverflowError):
        return None


TOOL = Tool(_NAME, "aider", _places, _discover, History)
