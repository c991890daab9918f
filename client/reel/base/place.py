"""Where a conversation was begun: tags with the working directory and its branch, as imports have them.

What git knows is read from its files: running git takes 5 ms, and runs what the repository's configuration names.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from reel.base.light_typing import NamedTuple

# The tag with the directory of a conversation.
DIRECTORY = "cwd"
_BRANCH = "branch"
_HEADS = "ref: refs/heads/"
_GIT = ".git"
# As many worktrees are looked at.
_WORKTREES = 30
# A tag's value has at most so many bytes; a longer path is left out.
_LONGEST = 1024


def tags_of_place() -> dict[str, str]:
    """Return the tags of a conversation that begins here, so that ``reel continue`` finds it here."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:  # it was removed
        return {}
    repository = _repository_of(Path(directory))
    found = {DIRECTORY: directory, _BRANCH: "" if repository is None else repository.branch()}
    return {key: value for key, value in found.items() if value and _fits(value)}


def directories(place: str) -> list[str]:
    """Return a directory by its names, and the same directory in the other worktrees of its repository.

    Args:
        place: a path from here; ``.`` is this directory.
    """
    given = os.path.abspath(os.path.expanduser(place))
    own, shells = os.path.realpath(given), os.environ.get("PWD", given)
    found = [given, own, *([shells] if os.path.isabs(shells) and os.path.realpath(shells) == own else [])]
    if (repository := _repository_of(Path(own))) is not None:
        inside = os.path.relpath(own, repository.top)
        found += [os.path.normpath(top / inside) for top in repository.worktrees()]
    return list(dict.fromkeys(found))


class _Repository(NamedTuple):
    """A working tree: its directory, and where git keeps what is about it."""

    top: Path
    kept: Path

    def branch(self) -> str:
        """Return the name of the branch that is checked out; empty without one."""
        head = _read(self.kept / "HEAD")
        return head.removeprefix(_HEADS) if head.startswith(_HEADS) else ""

    def worktrees(self) -> Iterator[Path]:
        """Yield the other working trees, the main one first."""
        common = self.kept / _read(self.kept / "commondir")
        tops = [Path(os.path.realpath(common)).parent] if os.path.basename(os.path.realpath(common)) == _GIT else []
        tops += [Path(_read(link)).parent for link in sorted(common.glob("worktrees/*/gitdir"))[:_WORKTREES]]
        yield from (top for top in tops if top.is_absolute() and top != self.top)


def _repository_of(directory: Path) -> _Repository | None:
    """Return the working tree that a directory is in; ``None`` outside a repository."""
    for above in (directory, *directory.parents):
        place = above / _GIT
        if os.path.isdir(place):  # false for a name that is too long; Path.is_dir raises
            return _Repository(above, place)
        if os.path.isfile(place):  # a worktree or a submodule
            return _Repository(above, above / _read(place).removeprefix("gitdir:").strip())
    return None


def _read(path: Path) -> str:
    """Return a line of one of git's files; empty if it cannot be read."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _fits(value: str) -> bool:
    try:
        return value.isprintable() and len(value.encode()) <= _LONGEST
    except UnicodeEncodeError:  # a path of any bytes is no text
        return False
