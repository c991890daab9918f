"""What git knows of a file: the commit that brought each line of its newest version, and the texts around it.

git is asked only about commits: to compare one with the file on the disk, it might run a filter of the repository.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from reel.base.light_typing import NamedTuple
from reel.blame.rewriting import lines_of
from reel.blame.versions import History, Origin, Version
from reel.cli.commands.shared.git import Git, GitFailed


class Known(NamedTuple):
    """What git knows of a file.

    Args:
        history: its commits.
        top: the top of the repository.
        names: the paths that it had, from there; the newest one first.
    """

    history: History
    top: str
    names: Sequence[str]


class _Blamed(NamedTuple):
    """A commit that brought lines: the file's path in it, the commit before, and the path there; empty for none."""

    path: str
    before: str = ""
    path_before: str = ""


class _Listed(NamedTuple):
    """A commit that changed the file: when its author made it, and the commits before that changed the file."""

    time: int
    before: Sequence[str]


def git_history(path: str) -> Known | None:
    """Return what git knows of a file; None if it is in no commit.

    Args:
        path: the file itself, not a link to it.

    Raises:
        GitFailed: git is not there, takes too long, or cannot read the repository.
    """
    directory, own = os.path.split(path)
    git = Git(directory or ".")
    place = git.ask("rev-parse", "--show-prefix", "--show-toplevel", "--is-shallow-repository").split("\n")
    # Commits that people tell git to ignore count too: they wrote the line as it stands.
    options = ("--no-textconv", "--ignore-revs-file=", "--porcelain")
    blamed, origins = _read_blame(git.ask("blame", *options, "HEAD", "--", own) if place[1:] else "")
    if not origins:
        return None
    prefix, top, is_shallow, *_ = place
    found = dict.fromkeys([prefix + own, *(each for row in blamed.values() for each in (row.path, row.path_before))])
    names = [name for name in found if name]
    listed = _read_list(
        git.ask("rev-list", "--parents", "--format=%at", "HEAD", "--", *(f":(top,literal){name}" for name in names))
    )
    texts = git.texts([f"HEAD:{names[0]}", *_objects(blamed)])
    newest = texts.get(f"HEAD:{names[0]}", "")
    if not listed or len(lines_of(newest)) != len(origins):
        raise GitFailed("git's answers contradict each other")
    versions = {
        commit: version
        for commit, row in blamed.items()
        if (version := _version(commit, row, listed, texts, is_shallow=is_shallow == "true")) is not None
    }
    first = next(iter(listed.values()))
    return Known(History(Version(first.time, newest), origins, versions), top, names)


def _objects(blamed: Mapping[str, _Blamed]) -> list[str]:
    """Return the texts to read, as git names them."""
    pairs = [(commit, row.path) for commit, row in blamed.items()]
    pairs += [(row.before, row.path_before) for row in blamed.values() if row.before]
    return [f"{commit}:{path}" for commit, path in pairs]


def _version(
    commit: str, row: _Blamed, listed: Mapping[str, _Listed], texts: Mapping[str, str], *, is_shallow: bool
) -> Version | None:
    """Return a commit as a version of the file; None if what was before it is not certain."""
    text = texts.get(f"{commit}:{row.path}")
    own = listed.get(commit)
    if text is None or own is None or len(own.before) > 1:
        return None
    if not own.before:
        return None if is_shallow or row.before else Version(own.time, text)
    before = listed.get(own.before[0])
    # Without a name before, the file was made in this commit; an earlier one of that name had been removed.
    text_before = texts.get(f"{row.before}:{row.path_before}") if row.before else ""
    if before is None or text_before is None:
        return None
    return Version(own.time, text, Version(before.time, text_before))


def _read_blame(answer: str) -> tuple[dict[str, _Blamed], list[Origin]]:
    """Return the commits of a blame, and where each line comes from; its form is in the manual of ``git blame``."""
    blamed: dict[str, _Blamed] = {}
    origins: list[Origin] = []
    commit, before, path_before = "", "", ""
    for line in answer.split("\n"):
        key, _, value = line.partition(" ")
        if line.startswith("\t"):
            commit = ""
        elif not commit and value:
            commit, before, path_before = key, "", ""
            origins.append(Origin(commit, int(value.partition(" ")[0]) - 1))
        elif key == "previous":
            before, _, path_before = value.partition(" ")
        elif key == "filename":
            blamed[commit] = _Blamed(value, before, path_before)
    return blamed, origins


def _read_list(answer: str) -> dict[str, _Listed]:
    """Return the commits of a list, from the newest to the oldest."""
    listed: dict[str, _Listed] = {}
    names: list[str] = []
    for line in answer.splitlines():
        if line.startswith("commit "):
            names = line.split()[1:]
        elif names:
            listed[names[0]] = _Listed(int(line), names[1:])
    return listed
