"""Runs git so that it starts no other program and waits for nobody: no monitor, converter, pager or network."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence

# Seconds that git may take in all.
LIMIT = 2.0
_GIT = ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# What git says about a file that it does not know, in a repository or outside.
_UNKNOWN = (
    "not a git repository",
    "no such path",
    "bad revision 'HEAD'",
    "no such ref: HEAD",
    "must be run in a work tree",
)


class GitFailed(Exception):
    """git did not answer; the message says why."""


class Git:
    """Runs git in a directory, for a limited time in all.

    Args:
        directory: the directory.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._deadline = time.monotonic() + LIMIT

    def ask(self, *arguments: str) -> str:
        """Return what git prints; empty for a file that it does not know.

        Raises:
            GitFailed: git is not there, takes too long, or cannot read the repository.
        """
        return self._run(arguments).decode(errors="replace")

    def texts(self, names: Sequence[str]) -> dict[str, str]:
        """Return the texts of files, by their names: ``COMMIT:PATH``. What git does not have is left out.

        Raises:
            GitFailed: as above.
        """
        asked = [name for name in dict.fromkeys(names) if "\n" not in name]
        answer = self._run(("cat-file", "--batch"), "".join(f"{name}\n" for name in asked).encode(errors="replace"))
        found: dict[str, str] = {}
        at = 0
        for name in asked:
            end = answer.find(b"\n", at)
            *_, kind, size = [b"", *answer[at:end].split(b" ")]
            at = end + 1
            if size.isdigit():  # otherwise the answer is "missing"
                if kind == b"blob":
                    found[name] = answer[at : at + int(size)].decode(errors="replace")
                at += int(size) + 1
        return found

    def _run(self, arguments: Sequence[str], given: bytes = b"") -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - git, with paths after --
                [*_GIT, *arguments],
                cwd=self._directory,
                env={**os.environ, **_ENVIRONMENT},
                input=given,
                capture_output=True,
                timeout=max(self._deadline - time.monotonic(), 0.001),
                check=False,
            )
        except FileNotFoundError:
            raise GitFailed("git is not installed") from None
        except subprocess.TimeoutExpired:
            raise GitFailed(f"git took more than {LIMIT:g} s") from None
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode and not any(words in said for words in _UNKNOWN):
            raise GitFailed(f"git says: {said.splitlines()[0] if said else f'status {done.returncode}'}")
        return b"" if done.returncode else done.stdout
