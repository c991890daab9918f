"""The arguments of a call: a text as the model wrote it, for some providers an object (``formats.md`` 6.8)."""

import math
from typing import Any

from reel.strict_json import parse
from reel.values import clean_deep
from reeld.formats.jsonbytes import encode_text
from reeld.formats.model import Json

# As deep as a provider's parser surely goes, and ours.
_DEPTH = 100


def as_object(arguments: str) -> Json:
    """Give the arguments as an object; what is none is kept under ``INVALID_JSON``."""
    if arguments == "":
        return {}
    try:
        value = parse(arguments)
        if type(value) is dict and is_sendable(value):
            cleaned: Json = clean_deep(value)[0] if "\\u" in arguments else value
            return cleaned
    except (ValueError, RecursionError):
        pass
    return {"INVALID_JSON": arguments}


def as_text(arguments: str) -> str:
    """Give the arguments as the text of an object, which is the stored one wherever that is such a text."""
    value = as_object(arguments)
    sound = arguments != "" and "INVALID_JSON" not in value and "\\u" not in arguments
    return arguments if sound else encode_text(value)


def is_sendable(value: Any, depth: int = _DEPTH) -> bool:
    """Tell whether a parsed value can be written as JSON again: its numbers are finite, and it is not too deep."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(is_sendable(entry, depth - 1) for entry in inside)
    return True
