"""Values as JSON: compact, in UTF-8, always the same bytes for the same value."""

import json
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)


def encode_text(value: Any) -> str:
    """Give the JSON text of a value."""
    return _ENCODER.encode(value)


def encode(value: Any) -> bytes:
    """Give the JSON text of a value as bytes."""
    return _ENCODER.encode(value).encode()
