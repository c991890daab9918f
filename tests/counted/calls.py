"""Counts calls of functions, as Python tells a profile function of each."""

from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


def noting(counts: Counter[str]) -> Callable[[FrameType, str, Any], None]:
    """Return a profile function that counts the calls of Python's functions together, and those of C by their names."""

    def note(_frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            counts["Python"] += 1
        elif event == "c_call":
            counts[argument.__qualname__] += 1

    return note
