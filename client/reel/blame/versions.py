"""Which edit wrote each line of a file, given what git knows of it.

git says which commit brought each line into the file. The edit that wrote the line was made between that commit and the
one before it that changed the file. Lines that are not committed were written since the newest commit; without git,
any edit may have written any line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reel.base.light_typing import NamedTuple
from reel.blame.replaying import writers
from reel.blame.steps import Edit, Look

T = TypeVar("T")

# git counts time in seconds.
_SECOND = 1000


@dataclass(frozen=True, slots=True)
class Version:
    """A commit that changed the file.

    Args:
        time: when its author made it, in seconds since 1970. A commit that was rebased or amended keeps it.
        text: the whole file.
        before: the commit before it that changed the file; None if it made the file.
        is_plain: whether the file was changed from one known text: a merge has several, and a shallow clone none.
    """

    time: int
    text: str
    before: Version | None = None
    is_plain: bool = True


class Origin(NamedTuple):
    """Where a line comes from: a commit, by its id, and the line's number in its text, counted from 0."""

    commit: str
    line: int


@dataclass(frozen=True, slots=True)
class History:
    """What git knows of a file.

    Args:
        newest: the newest commit that changed it.
        origins: where each line of its text comes from.
        versions: the commits that they come from, by their ids; one that is missing is unknown.
    """

    newest: Version
    origins: Sequence[Origin]
    versions: Mapping[str, Version]


def blame(text: str, steps: Iterable[Edit[T] | Look], history: History | None = None) -> list[T | None]:
    """Return for each line of a file who wrote it as it stands; None if that is not certain.

    Args:
        text: the file.
        steps: the edits and looks at it, from the oldest to the newest.
        history: what git knows of it; None if it is in no commit.
    """
    known = list(steps)
    if history is None:
        return writers(None, known, text)
    committed = _committed(history, known)
    return writers(history.newest.text, _between(known, history.newest, None), text, committed)


def _committed(history: History, steps: Sequence[Edit[T] | Look]) -> list[T | None]:
    """Return who wrote each line of the newest commit: an edit between the commit that brought it and that before."""
    by: dict[str, list[T | None]] = {}
    for name, version in history.versions.items():
        if version.is_plain:
            first = version.before
            text = None if first is None else first.text
            by[name] = writers(text, _between(steps, first, version), version.text)
    return [by[origin.commit][origin.line] if origin.commit in by else None for origin in history.origins]


def _between(steps: Sequence[Edit[T] | Look], first: Version | None, last: Version | None) -> list[Edit[T] | Look]:
    """Return what happened between two commits; each may have been made at any time within its second."""
    begin = -1 if first is None else first.time * _SECOND
    end = None if last is None else (last.time + 1) * _SECOND
    return [step for step in steps if step.time >= begin and (end is None or step.time < end)]
