"""Texts and values that every framing, every client and the database can represent.

A *clean* text has no NUL, where C strings end, and no lone surrogate, which UTF-8 cannot encode. A *plain* value
is null, a boolean, a finite number, a string, or a list or a map of plain values whose keys are clean strings.

A plain number may be of any size. A *large* one, which some clients cannot hold, goes to clients as text.
"""

from __future__ import annotations

import codecs
import math

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# The integers that a double represents exactly. JavaScript, Lua and Emacs clients have no others.
MAX_INTEGER = 2**53 - 1
# Creates a named tuple, of all its fields in order, in half the time that calling its class takes.
new_tuple = tuple.__new__
# The integers that MessagePack can represent.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
# A text that may be a number: four characters or more, digits or a few of them with an exponent. So are most dates.
_DIGITS = "0123456789"
_IN_NUMBERS = f"{_DIGITS}.eE+-"
_SHORTEST_NUMBER = 4
# How much of a numeral an error message shows, in characters.
_SHOWN = 40
_REPLACEMENT = "\ufffd".encode()
# How a text that may have lone surrogates is encoded: the name of an error handler that replaces each by U+FFFD.
REPLACING = "reel.replacing"


def _replace(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - the handler is for encoding alone
    return _REPLACEMENT * (error.end - error.start), error.end


codecs.register_error(REPLACING, _replace)


class Numeral:
    """A JSON number that Python cannot represent, such as ``1e400``: its text, which is written as it was read."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numeral) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.text[:_SHOWN]}…" if len(self.text) > _SHOWN else self.text


# The types of plain values that need no look inside. A float may be one that is not finite.
_SCALARS = frozenset({str, bool, int, Numeral, type(None)})


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
    if is_clean(text):
        return text, 0
    import re  # noqa: PLC0415 - few texts need it, and every program that imports this would pay

    return re.subn("[\x00\ud800-\udfff]", "�", text)


def _is_clean_deep(value: Any) -> bool:
    """Return whether every string in a plain value is clean, the keys of maps included."""
    if isinstance(value, str):
        return is_clean(value)
    if isinstance(value, dict):
        return all(map(is_clean, value)) and all(map(_is_clean_deep, value.values()))
    return not isinstance(value, list) or all(map(_is_clean_deep, value))


def clean_deep(value: Any) -> tuple[Any, int]:
    """Clean every string in a plain value, the keys of maps included.

    Returns:
        the value (the same object if nothing was replaced), and how many characters were replaced.
    """
    # Nearly all values are clean, which is found out in half the time that replacing takes.
    return (value, 0) if _is_clean_deep(value) else _replaced(value)


def _replaced(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        items = [_replaced(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = [(clean(key), _replaced(item)) for key, item in value.items()]
        count = sum(in_key + in_item for (_, in_key), (_, in_item) in pairs)
        return {key: item for (key, _), (item, _) in pairs}, count
    return value, 0


def why_not_plain(value: Any, levels: int) -> str | None:
    """Return why a value is not plain, or ``None`` if it is.

    Args:
        value: any Python value.
        levels: how many levels of lists and maps it may have.
    """
    kind = type(value)
    if kind in _SCALARS:
        return None
    if kind is float:
        return None if math.isfinite(value) else "a number that is not finite"
    if kind is list:
        return _why_not_inside(value, levels)
    if kind is dict:
        if not _are_clean(value):
            key = next(key for key in value if type(key) is not str or not is_clean(key))
            return f"the key {key!r}, which is not a clean string"
        return _why_not_inside(value.values(), levels)
    if kind is bytes:
        return "raw bytes (send them in base64, in a field that takes it)"
    return f"a {kind.__name__}, which not every client can read"


def _why_not_inside(values: Any, levels: int) -> str | None:
    if levels < 1:
        return "lists and maps nested too deep"
    for value in values:
        # Checked here too: a call for each value is most of the time that the check takes.
        if type(value) not in _SCALARS and (reason := why_not_plain(value, levels - 1)) is not None:
            return reason
    return None


def _are_clean(keys: Any) -> bool:
    """Return whether all keys of a map are clean strings; they are looked at together."""
    try:
        return is_clean("".join(keys))
    except TypeError:
        return False


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a value has more levels of lists and maps than this."""
    kind = type(value)
    if kind is not list and kind is not dict:
        return False
    if levels < 1:
        return True
    for item in value.values() if kind is dict else value:
        # Checked here too, so that a list of a thousand strings does not cost a thousand calls.
        if (type(item) is list or type(item) is dict) and is_deeper(item, levels - 1):
            return True
    return False


def has_large_number(value: Any, lowest: int = -MAX_INTEGER, highest: int = MAX_INTEGER) -> bool:
    """Return whether a plain value has an integer beyond some bounds, or a number that is not finite as a float."""
    kind = type(value)
    if kind is list or kind is dict:
        for item in value if kind is list else value.values():
            # Checked here too, as above.
            if type(item) is not str and item is not None and has_large_number(item, lowest, highest):
                return True
        return False
    return kind is Numeral or (kind is int and not lowest <= value <= highest)


def numbers_as_text(value: Any, lowest: int = -MAX_INTEGER, highest: int = MAX_INTEGER) -> tuple[Any, int]:
    """Replace every large number in a plain value by its digits, as text.

    Returns:
        the value (the same object if nothing was replaced), and how many numbers were replaced.

    Raises:
        ValueError: an integer has more digits than Python writes.
    """
    if not has_large_number(value, lowest, highest):
        return value, 0
    if isinstance(value, list):
        items = [numbers_as_text(item, lowest, highest) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = {key: numbers_as_text(item, lowest, highest) for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, sum(count for _, count in pairs.values())
    return str(value), 1


def fit_messagepack(value: Any) -> tuple[Any, int]:
    """Replace every number in a plain value that MessagePack cannot represent, as :func:`numbers_as_text` does."""
    return numbers_as_text(value, _LOWEST, _HIGHEST)


def has_number_as_text(value: Any) -> bool:
    """Return whether a plain value has a text that :func:`numbers_as_text` may have put there."""
    kind = type(value)
    if kind is list or kind is dict:
        return any(map(has_number_as_text, value if kind is list else value.values()))
    return kind is str and _may_be_number(value)


def _may_be_number(text: str) -> bool:
    positive = text.removeprefix("-")
    return len(positive) >= _SHORTEST_NUMBER and positive[0] in _DIGITS and not positive.strip(_IN_NUMBERS)
