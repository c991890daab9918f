"""Which edit wrote each line of a file, given what git knows of it.

git says in which commit each line came into the file. A writer of the line is looked for among the edits between that
commit and the one before it that changed the file: earlier and later ones did not write it. Lines that are not
committed were written since the newest commit; without git, all lines are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from reel.blame.replaying import writers
from reel.blame.rewriting import lines_of
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
        before: the id of the commit before it that changed the file; None if it made the file.
        is_plain: whether the file was changed from one known text: a merge has several, and a shallow clone none.
    """

    time: int
    text: str
    before: str | None = None
    is_plain: bool = True


class Origin(NamedTuple):
    """Where a line comes from: the id of a commit, and the line's number in its text, counted from 0."""

    commit: str
    line: int


@dataclass(frozen=True, slots=True)
class History:
    """What git knows of a file.

    Args:
        versions: the commits that its lines come from, and those before them.
        newest: the newest commit that changed it; None if there is none.
        origins: where each of its lines comes from; None if it is not committed.
    """

    versions: Mapping[str, Version]
    newest: str | None
    origins: Sequence[Origin | None]


def blame(text: str, steps: Iterable[Edit[T] | Look], history: History | None = None) -> list[T | None]:
    """Return for each line of a file who wrote it as it stands; None if that is not certain.

    Args:
        text: the file.
        steps: the edits and looks at it, from the oldest to the newest.
        history: what git knows of it.
    """
    steps = list(steps)
    if history is None:
        return writers(None, steps, text)
    newest = history.versions[history.newest] if history.newest else None
    here = writers(newest.text if newest else None, _between(steps, newest, None), text)
    committed: dict[str, list[T | None]] = {}
    found = []
    for at, origin in enumerate(history.origins):
        if origin is None:
            found.append(here[at])
            continue
        if origin.commit not in committed:
            committed[origin.commit] = _written_for(history.versions, origin.commit, steps)
        found.append(committed[origin.commit][origin.line])
    return found


def _written_for(versions: Mapping[str, Version], commit: str, steps: Sequence[Edit[T] | Look]) -> list[T | None]:
    """Return who wrote each line of a commit since the one before it."""
    version = versions[commit]
    if not version.is_plain:
        return [None] * len(lines_of(version.text))
    before = None if version.before is None else versions[version.before]
    return writers(before.text if before else None, _between(steps, before, version), version.text)


def _between(steps: Sequence[Edit[T] | Look], first: Version | None, last: Version | None) -> list[Edit[T] | Look]:
    """Return what happened after one commit until another; each may have been made at any time within its second."""
    begin = -1 if first is None else first.time * _SECOND
    end = None if last is None else (last.time + 1) * _SECOND
    return [step for step in steps if step.time >= begin and (end is None or step.time < end)]
