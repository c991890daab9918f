"""Frees what is large without holding up other threads."""

from typing import Any

# Items that are freed at once: less than a millisecond.
_FREED = 2000


def let_go(items: list[Any]) -> None:
    """Free the items of a list, a few at a time, in a thread: a million at once keep all threads waiting for 0.1 s."""
    while items:
        del items[-_FREED:]
