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
        time: when the call was said, in milliseconds since 1970.
        after: the text that was written.
        before: the text in whose place it was written; of a whole file, its text before, and None if that is not known.
        whole: whether ``after`` is the whole file.
        every: whether ``before`` was replaced wherever it was.
        done: whether the tool said that it was done. What was perhaps done is the writer of nothing, and casts doubt.
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
    """

    time: int
    text: str | None = None
