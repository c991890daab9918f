"""A file as it stands, and which edit of a conversation wrote each line of it: what ``reel blame`` tells."""

from __future__ import annotations

import os
import re

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.base.place import directories
from reel.blame.rewriting import lines_of, words_of
from reel.blame.steps import Edit, Look
from reel.blame.versions import blame
from reel.cli.commands.shared.edits import collected
from reel.cli.commands.shared.git import GitFailed
from reel.cli.commands.shared.git_history import Known, git_history
from reel.cli.line.arguments import UsageError
from reel.reading.when_said import said_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reel.cli.line.context import Context
    from reel.replies import Edit as Row

# The largest file, in bytes: nobody writes a larger one by hand, and each line takes time.
_LARGEST = 8_000_000
# The programs with which a file is read in a shell.
_SHOWS = re.compile(
    r"\b(?:awk|bat|cat|diff|gc|get-content|git|grep|head|jq|less|more|nl|perl|python3?|rg|ruby|sed|tac|tail|type)\b",
    re.IGNORECASE,
)


class Blamed(NamedTuple):
    """A file with the writers of its lines; None for a line whose writer is not known.

    Args:
        lines: the lines, without their ends.
        writers: the edits that wrote them.
        edits: how many edits of the file are known.
        behind: how many events the daemon has not looked at yet.
    """

    lines: Sequence[str]
    writers: Sequence[Row | None]
    edits: int
    behind: int


def blamed_file(ctx: Context, path: str) -> Blamed:
    """Return a file with the writers of its lines. If git does not answer, a warning says so.

    Raises:
        ProtocolMismatch: the daemon has no list of edits.
        UsageError: there is no such file, or it is not a text.
    """
    text = _read(path)
    known = _history(ctx, os.path.realpath(path))
    rows, behind = _edits(ctx, _names(path, known))
    found = blame(text, steps_of(rows), None if known is None else known.history)
    wrote = sum(row.deed == "wrote" for row in rows)
    return Blamed([words_of(line) for line in lines_of(text)], found, wrote, behind)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST + 1)
    except IsADirectoryError:
        raise UsageError(f"{path} is a directory; name a file in it") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise UsageError(f"{path} has more than {_LARGEST // 1_000_000} MB; blame is for files that people write")
    if b"\0" in content:
        raise UsageError(f"{path} is not a text: it has a NUL byte")
    return content.decode(errors="replace")


def _history(ctx: Context, path: str) -> Known | None:
    try:
        return git_history(path)
    except GitFailed as error:
        ctx.out.warn(f"{error}; without its answer, fewer lines can be told")
        return None


def _names(path: str, known: Known | None) -> list[str]:
    """Return the paths that edits may name a file by: as typed, without links, in other worktrees, before a rename."""
    found = [os.path.abspath(path), os.path.realpath(path)]
    for place in (os.path.abspath(path), os.path.realpath(path)):
        directory, own = os.path.split(place)
        found += [os.path.join(each, own) for each in directories(directory)]
    if known is not None:
        found += [os.path.join(top, name) for top in directories(known.top) for name in known.names]
    return list(dict.fromkeys(name.encode(errors="replace").decode(errors="replace") for name in found))


def _edits(ctx: Context, paths: Sequence[str]) -> tuple[list[Row], int]:
    """Return what was done to a file, from the oldest to the newest, and how far the daemon is behind."""
    found = [collected(ctx, None, path=path) for path in paths]
    rows = [row for edits, _ in found for row in edits if row.deed != "ran"]
    # Edits of the same moment come in the reverse order of their calls.
    rows.reverse()
    rows += _commands(ctx, {os.path.basename(path) for path in paths}, rows)
    return sorted(_once(rows), key=said_at), max(behind for _, behind in found)


def _commands(ctx: Context, names: Iterable[str], rows: Sequence[Row]) -> list[Row]:
    """Return the commands that name a file, of the conversations that wrote it as a whole: it may have been read so."""
    wrote = {(row.agent, row.call) for row in rows if row.deed == "wrote"}
    agents = {row.agent for row in rows if row.whole}
    return [
        row
        for agent in sorted(agents)
        for name in sorted(names)
        for row in collected(ctx, None, agent=agent, command=name)[0]
        if (row.agent, row.call) not in wrote
    ]


def _once(rows: Iterable[Row]) -> list[Row]:
    """Return edits, each once: a session that goes on in a new file repeats the calls of the old one."""
    found: dict[object, Row] = {}
    for row in sorted(rows, key=lambda row: row.id):
        found.setdefault((row.call, row.deed, row.path, said_at(row), row.before, row.after), row)
    return list(found.values())


def steps_of(rows: Iterable[Row]) -> list[Edit[Row] | Look]:
    """Return edits as steps to replay. One whose text was cut is not certain, nor what a command did that names it."""
    return [
        Look(said_at(row), is_first=row.deed == "ran" and not _SHOWS.search(row.command or ""))
        if row.deed != "wrote"
        else Edit(
            row,
            said_at(row),
            row.after or "",
            None if row.whole else row.before,
            whole=row.whole,
            every=row.every,
            done=row.answered and not row.cut,
        )
        for row in rows
    ]
