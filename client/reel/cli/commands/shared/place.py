"""Where a conversation was begun: tags with the working directory and its branch, as imports have them."""

import os
from pathlib import Path

# The tag with the directory of a conversation.
DIRECTORY = "cwd"
_BRANCH = "branch"
_HEADS = "ref: refs/heads/"
# A tag's value has at most so many bytes; a longer path is left out.
_LONGEST = 1024


def tags_of_place() -> dict[str, str]:
    """Return the tags of a conversation that begins here, so that ``reel continue`` finds it here."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:  # it was removed
        return {}
    found = {DIRECTORY: directory, _BRANCH: _branch_of(Path(directory))}
    return {key: value for key, value in found.items() if value and _fits(value)}


def _branch_of(directory: Path) -> str:
    """Return the name of the branch that is checked out there; an empty text outside a repository, or without a branch.

    It is read from the files: running git takes 5 ms, and runs what the repository's configuration names.
    """
    for above in (directory, *directory.parents):
        place = above / ".git"
        try:
            if place.is_file():  # a worktree or a submodule
                place = above / place.read_text().removeprefix("gitdir:").strip()
            elif not place.is_dir():
                continue
            head = (place / "HEAD").read_text().strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return head.removeprefix(_HEADS) if head.startswith(_HEADS) else ""
    return ""


def _fits(value: str) -> bool:
    try:
        return value.isprintable() and len(value.encode()) <= _LONGEST
    except UnicodeEncodeError:  # a path of any bytes is no text
        return False
