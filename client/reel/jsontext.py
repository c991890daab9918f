"""JSON as the RFC has it (8259): no NaN, no Infinity."""

import json
from typing import Any


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def parse(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested deeper than the parser goes, which is far deeper than anybody means it.
    """
    return _DECODER.decode(text)
