"""What a text may hold, and what a value may be, to fit every framing, every client and the database.

A *clean* text has no NUL, where C strings end, and no lone surrogate, which UTF-8 cannot encode. A *plain* value
is null, a boolean, an integer within ±(2^53-1), a finite float, a string, or a list or a map of plain values whose
keys are clean strings.
"""

import math
import re
from typing import Any

# The integers that a double holds exactly. JavaScript, Lua and Emacs clients have no others.
MAX_INTEGER = 2**53 - 1
_UNCLEAN = re.compile("[\x00\ud800-\udfff]")


def is_clean(text: str) -> bool:
    """Return whether a text can travel in every framing and be stored as it is."""
    # The two quick answers first: this runs over every text that comes in, and nearly all are ASCII.
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean(text: str) -> tuple[str, int]:
    """Replace every NUL and lone surrogate by U+FFFD.

    Returns:
        the text, and how many characters were replaced.
    """
    return (text, 0) if is_clean(text) else _UNCLEAN.subn("�", text)


def clean_deep(value: Any) -> tuple[Any, int]:
    """Clean every string in a plain value, the keys of maps included.

    Returns:
        the value (the same object if nothing was replaced), and how many characters were replaced.
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


def why_not_plain(value: Any, levels: int) -> str | None:
    """Return why a value is not plain, or ``None`` if it is.

    Args:
        value: any Python value.
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
        return _why_not_inside(value, levels)
    if kind is dict:
        for key in value:
            if type(key) is not str or not is_clean(key):
                return f"the key {key!r}, which is not a clean string"
        return _why_not_inside(value.values(), levels)
    if kind is bytes:
        return "raw bytes (send them in base64, in a field that takes it)"
    return f"a {kind.__name__}, which not every client can read"


def _why_not_inside(values: Any, levels: int) -> str | None:
    if levels < 1:
        return "lists and maps nested too deep"
    for value in values:
        if type(value) is not str and (reason := why_not_plain(value, levels - 1)) is not None:
            return reason
    return None


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a value has more levels of lists and maps than this."""
    kind = type(value)
    if kind is not list and kind is not dict:
        return False
    if levels < 1:
        return True
    for item in value.values() if kind is dict else value:
        # Asked here too, so that a list of a thousand strings costs no thousand calls.
        if (type(item) is list or type(item) is dict) and is_deeper(item, levels - 1):
            return True
    return False
