"""The common types of all readers: the place of a history, its contents, and counts of the records understood.

A reader yields steps in the order of its source. Every message has a ``ref``, its id in the source. So a
message that is read twice is added once, and a step back can name its target.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.importing.values import origins_first
from reel.said.messages import COMPACTED

# The number of problems kept for a source; further ones are only counted.
_MOST_PROBLEMS = 20

# The rule for records that repeat earlier ones.
REPEATED = "repeated"
# The rule for records of a file that has no message: no agent is made of it.
WITHOUT_MESSAGE = "in a file without a message"
# The kind under which an unreadable record is counted.
NOT_JSON = "not JSON"
TOO_LONG = "too long"
UNREADABLE = (NOT_JSON, TOO_LONG)


class Source(NamedTuple):
    """A file, or a conversation in a database, that a tool keeps.

    Args:
        path: the file.
        conversation: the name for the agent, such as ``claude-code/<id>``.
        size: its size in bytes, for the progress.
        modified: its modification time in nanoseconds since the epoch.
        fork_of: the name of the conversation that this one was forked from; empty if it was not forked.
        key: identifies the conversation in the file; empty if the file has only one.
        about: additional data for the tool's reader.
        conversations: the number of its conversations, if known without reading all of it.
        has_newer: whether another source of the conversation was written later: that one decides where it is.
    """

    path: str
    conversation: str
    size: int
    modified: int
    fork_of: str = ""
    key: str = ""
    about: Mapping[str, str] = {}
    conversations: int = 1
    has_newer: bool = False


class About(NamedTuple):
    """Facts about a conversation. The steps that follow belong to it.

    Args:
        part: the suffix of the conversation's name, such as ``/agent-1``; empty for the conversation itself.
        title: a title for people; may be empty.
        tags: facts such as the working directory.
        fork_of: the part that this one was forked from, which was read before; empty if it was not forked.
    """

    part: str = ""
    title: str = ""
    tags: Mapping[str, str] = {}
    fork_of: str = ""


class Part(NamedTuple):
    """Blocks of a message, and their id in the source."""

    ref: str
    blocks: list[dict[str, Any]]


class Said(NamedTuple):
    """A message that follows the previous one.

    Args:
        role: user, assistant, tool or system.
        parts: its blocks; some tools store a message in several records, and may have written only the first ones.
        metadata: its ``provider_metadata``.
        sent: its time in milliseconds since the epoch; ``None`` if unknown.
        line: its line in the source, for errors.
    """

    role: str
    parts: tuple[Part, ...]
    metadata: dict[str, Any]
    sent: int | None
    line: int = 0


class Kept(NamedTuple):
    """A record for the log only: the usage of an answer, or data outside of the conversation.

    Args:
        kind: an inert kind: usage, note, interrupted or state.
        ref: its id in the source.
        content: a readable text, or ``None``; the key of a state.
        data: its data.
        sent: as in :class:`Said`.
        line: as in :class:`Said`.
    """

    kind: str
    ref: str
    content: str | None
    data: dict[str, Any]
    sent: int | None
    line: int = 0


class Back(NamedTuple):
    """The conversation continues after a message other than the last one; with an empty ``to``, from its beginning."""

    to: str


class Middle(NamedTuple):
    """The source begins in the middle of the conversation: what comes next follows a message that it does not have."""

    after: str


class Compacted(NamedTuple):
    """A summary replaces the whole conversation.

    Args:
        summary: the message.
        kept: the refs of messages of the conversation so far that follow the summary.
        before: the refs of those that precede it.
    """

    summary: Said
    kept: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    @property
    def said(self) -> Said:
        """The summary as it is stored: it says that it takes the place of all that was said before."""
        return self.summary._replace(metadata={**self.summary.metadata, COMPACTED: True})


class Again(NamedTuple):
    """Messages from before the newest summary follow here, once more.

    Args:
        refs: the refs of the messages.
    """

    refs: tuple[str, ...]


Step: TypeAlias = About | Said | Kept | Back | Middle | Compacted | Again


class Problem(NamedTuple):
    """A place that could not be read, and the reason."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else f"{self.path}: {self.what}"


class Counts:
    """Counts of the records read, by outcome: read = mapped + known + ignored + unknown."""

    def __init__(self) -> None:
        self.read = 0
        # Those that became steps, and, of these, those whose steps were imported before: mapped does not count them.
        self.mapped = 0
        self.known = 0
        # The line that is being read, if the source has lines; and that of each record that became steps, until it is
        # told what became of these.
        self.line = 0
        self.lines: list[int] = []
        # Where that line ends, in bytes of the source.
        self.position = 0
        # By the name of the rule.
        self.ignored: Counter[str] = Counter()
        # By their type.
        self.unknown: Counter[str] = Counter()
        # Parts of records that are used, by their type: `reel load` refuses these, and they are kept whole.
        self.refused: Counter[str] = Counter()
        # Fields of records that are used, by their names: nothing is made of these.
        self.left_out: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.more_problems = 0
        # Whether something was left for later, although the source may not change any more.
        self.unfinished = False

    def map(self, left_out: Iterable[str] = ()) -> None:
        """Count a record that became a step, or a part of one, and the fields of which nothing was made."""
        self.read += 1
        self.mapped += 1
        self.lines.append(self.line)
        for field in left_out:
            self.left_out[field] += 1

    def ignore(self, rule: str) -> None:
        """Count a record that a rule ignores."""
        self.read += 1
        self.ignored[rule] += 1

    def note(self, kind: str) -> None:
        """Count a record of an unknown type."""
        self.read += 1
        self.unknown[kind] += 1

    def disuse(self, rule: str) -> None:
        """Count what became steps, or is unknown, as ignored by a rule: nothing was made of it."""
        kept = Counter({kind: number for kind, number in self.unknown.items() if kind in UNREADABLE})
        if left := self.mapped + (self.unknown - kept).total():
            self.ignored[rule] += left
        self.mapped, self.unknown = 0, kept

    def set_aside(self, number: int, rule: str) -> None:
        """Count so many of the records that became steps as ignored by a rule."""
        self.mapped -= number
        self.ignored[rule] += number

    def know(self, number: int) -> None:
        """Count so many of the records that became steps as known."""
        self.mapped -= number
        self.known += number

    def count_earlier(self, earlier: "Counts") -> None:
        """Count as known what an earlier reading of the same source did, which stored some of it."""
        self.know(earlier.known - self.known)

    def refuse(self, kind: str, problem: Problem) -> None:
        """Count a record that could not be read, and report it."""
        self.note(kind)
        self.problem(problem)

    def problem(self, problem: Problem) -> None:
        """Report a place that could not be read."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more_problems += 1

    def add(self, other: "Counts") -> None:
        """Add the counts of another source."""
        self.read += other.read
        self.mapped += other.mapped
        self.known += other.known
        self.ignored += other.ignored
        self.unknown += other.unknown
        self.refused += other.refused
        self.left_out += other.left_out
        for problem in other.problems:
            self.problem(problem)
        self.more_problems += other.more_problems


class Reading(Protocol):
    """A source that is being read."""

    counts: Counts

    def steps(self) -> Iterator[Step]:
        """Yield the steps. The next call yields steps written since.

        Raises:
            OSError: the source cannot be read.
        """
        ...


def forks_last(sources: Iterable[Source]) -> list[Source]:
    """Sort sources so that each fork comes after its origin; those of one conversation stay together."""
    named: dict[str, list[Source]] = {}
    for source in sources:
        named.setdefault(source.conversation, []).append(source)
    origins = {name: next((one.fork_of for one in group if one.fork_of), "") for name, group in named.items()}
    return [source for name in origins_first(origins) for source in named[name]]


class Found(NamedTuple):
    """The sources found in a place, and those left out."""

    sources: list[Source]
    problems: list[Problem]


def nowhere(_environment: Mapping[str, str]) -> Iterable[Path]:
    """Return no places: the user names the files of a tool that has no usual one."""
    return ()


def alone(_source: Source) -> Iterable[Path]:
    """Return no files: all of a source is in its own."""
    return ()


class Tool(NamedTuple):
    """A tool whose histories can be read.

    Args:
        name: its name on the command line, and the first part of its agents' names.
        title: its name for people.
        places: returns the places of its histories, given the environment; they need not exist.
        discover: returns the sources at a path, in the order in which they are to be read.
        open: opens a source for reading.
        by_position: whether a message is identified by its position in its file. Then two files are two conversations.
        beside: returns the other files that belong to a source.
    """

    name: str
    title: str
    places: Callable[[Mapping[str, str]], Iterable[Path]]
    discover: Callable[[Path], Found]
    open: Callable[[Source], Reading]
    by_position: bool = False
    beside: Callable[[Source], Iterable[Path]] = alone
