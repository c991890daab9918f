"""What is known to have happened to a file, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edit(Generic[T]):
    """A call of a tool that changed a file.

    Args:
        source: what is named as the writer of a line; any value.
        time: when the call was made, in milliseconds since 1970.
        after: the text that was written.
        before: the text that it replaced; for a whole file its text before, or None if that is not known.
        whole: whether ``after`` is the whole file.
        every: whether ``before`` was replaced wherever it was.
        done: whether the tool reported success. An edit that may have failed is the writer of no line, and casts doubt.
    """

    source: T
    time: int
    after: str
    before: str | None = None
    whole: bool = False
    every: bool = False
    done: bool = True


@dataclass(frozen=True, slots=True)
class Look:
    """A moment at which somebody read a file.

    Args:
        time: when, in milliseconds since 1970.
        text: the whole file as it was then; None if that is not known.
        is_first: whether it only says that the file may have been there, if nothing is known of it yet.
    """

    time: int
    text: str | None = None
    is_first: bool = False
