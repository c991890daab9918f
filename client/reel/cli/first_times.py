"""Hints that are shown the first times only: who has seen one knows it."""

import os

from reel.address import state_directory

# How many times a hint is shown.
_TIMES = 3


def is_among_first(hint: str) -> bool:
    """Return whether a hint has been shown only a few times so far, and record that it is shown now.

    Args:
        hint: a word that stands for the hint.
    """
    path = f"{state_directory()}/hints-shown"
    try:
        if _read(path).split().count(hint) >= _TIMES:
            return False
        os.makedirs(state_directory(), mode=0o700, exist_ok=True)  # noqa: PTH103 - pathlib costs 4 ms
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - as above
            file.write(f"{hint}\n")
    except OSError:
        return True  # nothing can be noted here: rather a hint too many than none
    return True


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
            return file.read()
    except FileNotFoundError:
        return ""
