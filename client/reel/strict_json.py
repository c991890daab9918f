"""Strict JSON (RFC 8259): without NaN and Infinity, which Python's own parser accepts."""

import re
from json import JSONDecoder, JSONEncoder
from typing import Any, TypeAlias

# A JSON object.
Json: TypeAlias = dict[str, Any]


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


_DECODER = JSONDecoder(parse_constant=_refuse)
# What is encoded came from JSON or MessagePack and cannot contain itself: to look for cycles is wasted time.
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
_LENIENT_ENCODER = JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

# The depth limit for a provider's JSON. It is encoded again later, from a deeper stack, so this is far below the
# recursion limit.
DEPTH = 500
_STEP = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|([\[{])|[\]}]', re.DOTALL)


def parse_bounded(text: str) -> Any:
    """Parse a JSON text that is at most ``DEPTH`` levels deep, so that what is made of it can be encoded again.

    The depth is measured in the text, before anything is built: a value that is already too deep cannot even be walked.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is deeper.
    """
    if text.count("[") + text.count("{") > DEPTH and _depth(text) > DEPTH:
        raise RecursionError(f"nested deeper than {DEPTH} levels")
    return parse(text)


def _depth(text: str) -> int:
    depth = deepest = 0
    for step in _STEP.finditer(text):
        if step[1]:
            depth += 1
            deepest = max(deepest, depth)
        elif step[0] in ("]", "}"):
            depth -= 1
    return deepest


def parse(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested deeper than the parser can follow, some thousand levels.
    """
    return _DECODER.decode(text)


def encode(value: Any) -> str:
    """Return a value as compact JSON text, not escaped to ASCII: the same value always gives the same text.

    Raises:
        ValueError: a number in it is not finite.
        RecursionError: it is nested too deep.
    """
    return _ENCODER.encode(value)


def encode_lenient(value: Any) -> str:
    """Return a provider's value as compact JSON text, with ``Infinity`` for a number like 1e999 that overflowed.

    Such a text is invalid JSON, and :func:`parse` refuses it later, at a place where the error can name the field.
    """
    return _LENIENT_ENCODER.encode(value)
