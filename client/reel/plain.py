"""Plain values: what every framing and every client can carry."""

import math
from typing import Any

from reel.characters import clean, is_clean

# The integers that a double holds exactly: JavaScript, Lua and Emacs clients have no others.
MAX_INTEGER = 2**53 - 1


def flaw(value: Any, levels: int) -> str | None:
    """Say what keeps a value from being plain, or ``None`` where nothing does.

    Args:
        value: null, a boolean, an integer within ±(2^53-1), a finite float, a string, or a list or a map
            (string keys) of such values.
        levels: how many levels of lists and maps it may have.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return None
    if kind is int:
        return None if -MAX_INTEGER <= value <= MAX_INTEGER else "an integer beyond ±(2^53-1)"
    if kind is float:
        return None if math.isfinite(value) else "a number that is not finite"
    if kind is list:
        return _flaw_inside(value, levels)
    if kind is dict:
        for key in value:
            if type(key) is not str or not is_clean(key):
                return f"the key {key!r}, which is no clean string"
        return _flaw_inside(value.values(), levels)
    if kind is bytes:
        return "raw bytes (send them in base64, in a field that takes it)"
    return f"a {kind.__name__}, which not every client can read"


def _flaw_inside(values: Any, levels: int) -> str | None:
    if levels < 1:
        return "lists and maps nested too deep"
    for value in values:
        if type(value) is not str and (found := flaw(value, levels - 1)) is not None:
            return found
    return None


def clean_deep(value: Any) -> tuple[Any, int]:
    """Clean every string in a plain value, keys included.

    Returns:
        the value (the very same one where nothing was replaced), and how many characters were replaced.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        cleaned = [clean_deep(item) for item in value]
        count = sum(n for _, n in cleaned)
        return ([item for item, _ in cleaned], count) if count else (value, 0)
    if isinstance(value, dict):
        pairs = [(clean(key), clean_deep(item)) for key, item in value.items()]
        count = sum(in_key + in_item for (_, in_key), (_, in_item) in pairs)
        return ({key: item for (key, _), (item, _) in pairs}, count) if count else (value, 0)
    return value, 0
