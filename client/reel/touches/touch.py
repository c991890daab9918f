"""What one call did to one file, or in a shell."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Deed: TypeAlias = Literal["read", "wrote", "ran"]


@dataclass(frozen=True, slots=True)
class Touch:
    r"""A file that was read or written, or a command that was run.

    Args:
        deed: what was done.
        path: the file as the call names it, below the directory that the call names, if any; for a command that
            directory, or an empty text.
        before: the text that was replaced, if the call has it.
        after: the text that was written, if the call has it. Of a hunk, both have the lines around the change too, and
            each line ends with ``\n``.
        whole: whether ``after`` is the whole file; with ``None`` the file was removed.
        every: whether ``before`` was replaced wherever it was.
        command: what was run.
        status: the exit status, if the result says it or the tool marks failures and marked none.
    """

    deed: Deed
    path: str
    before: str | None = None
    after: str | None = None
    whole: bool = False
    every: bool = False
    command: str | None = None
    status: int | None = None
