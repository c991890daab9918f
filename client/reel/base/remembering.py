"""What functions remember of people's texts: of short ones only, and nothing of any after an erasure."""

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar

R = TypeVar("R")

_LONGEST: Final = 1 << 14
_caches: list[Any] = []


def remembering(most: int) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Make a function of a text remember its last results, which nobody may change.

    Args:
        most: how many.
    """

    def decorate(function: Callable[[str], R]) -> Callable[[str], R]:
        cached = lru_cache(most)(function)
        _caches.append(cached)

        @wraps(function)
        def remembered(text: str) -> R:
            return cached(text) if len(text) <= _LONGEST else function(text)

        return remembered

    return decorate


def forget() -> None:
    """Forget all of it, and the patterns that :mod:`re` keeps: one of a redaction is made of what was to be removed."""
    for cached in _caches:
        cached.cache_clear()
    re.purge()
