"""Foreign JSON: a provider's own values as text and back, and the arguments of calls.

Storing must preserve any content. Sent JSON must be acceptable to every parser: finite numbers, no lone surrogates, not
too deep (rule X8). Only a number in a provider's own block goes back unchanged, finite or not.
"""

import math
from typing import Any

from reel.base.strict_json import Json, encode, parse
from reel.base.values import Numeral, clean_deep, is_clean

# No known parser refuses 100 levels, and a few refuse not much more.
_DEPTH = 100
_ALWAYS_SENDABLE = (str, int, bool)


def dump(value: Any) -> str:
    """Return a provider's value as compact JSON text; a lone surrogate stays the escape that it was."""
    text = encode(value)
    return text if is_clean(text) else encode(value, ascii_only=True)


def load_clean(text: str) -> Any:
    """Return the value of a JSON text, with U+FFFD for every character that cannot go over the wire.

    Raises:
        ValueError: it is not JSON.
    """
    value = parse(text)
    return clean_deep(value)[0] if "\\u" in text or not is_clean(text) else value


def load_sendable(text: Any) -> Any:
    """Return the value of a JSON text that anybody may have written; ``None`` if it cannot be sent again."""
    try:
        value = load_clean(text) if type(text) is str else None
    except (ValueError, RecursionError):
        return None
    return value if is_sendable(value, any_number=True) else None


def is_sendable(value: Any, depth: int = _DEPTH, *, any_number: bool = False) -> bool:
    """Return whether a provider can read a parsed value that is sent as JSON again.

    Args:
        value: what was parsed.
        depth: how many levels of lists and maps it may have.
        any_number: take numbers that few programs can hold, such as 1e400, because the provider itself wrote them.
    """
    kind = type(value)
    if kind in _ALWAYS_SENDABLE:
        return True
    if kind is float:
        return math.isfinite(value)
    if kind is dict or kind is list:
        inside = value.values() if kind is dict else value
        rest = [element for element in inside if type(element) not in _ALWAYS_SENDABLE]
        if not rest:
            return depth > 0
        return depth > 0 and all(is_sendable(element, depth - 1, any_number=any_number) for element in rest)
    return any_number or kind is not Numeral


def arguments_as_object(arguments: str) -> Json:
    """Return a call's arguments as an object; other text becomes ``{"INVALID_JSON": text}`` (rule X8)."""
    return _arguments(arguments)[0]


def arguments_as_text(arguments: str) -> str:
    """Return a call's arguments as the text of an object: the stored one if it is such a text (rule X8)."""
    value, is_stored = _arguments(arguments)
    return arguments if is_stored else encode(value)


def _arguments(arguments: str) -> tuple[Json, bool]:
    """Return arguments as an object, and whether their text is that of the object: escapes may stay as they are."""
    if arguments == "":
        return {}, False
    try:
        value = parse(arguments)
        if type(value) is dict and is_sendable(value):
            cleaned, replaced = clean_deep(value) if "\\u" in arguments else (value, 0)
            return cleaned, not replaced
    except (ValueError, RecursionError):
        pass
    return {"INVALID_JSON": arguments}, False
