"""JSON as the RFC has it (8259): no NaN, no Infinity."""

import json
import re
from typing import Any


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


# What is taken from a provider: it is written again, by the parser's like that stands on more of the stack by then.
DEPTH = 500
_STEP = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|([\[{])|[\]}]', re.DOTALL)


def parse_bounded(text: str) -> Any:
    """Parse a JSON text that is at most ``DEPTH`` levels deep, so that whatever is made of it can be written again.

    Raises:
        ValueError: it is none.
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
        ValueError: it is none.
        RecursionError: it is nested deeper than the parser goes, which is far deeper than anybody means it.
    """
    return _DECODER.decode(text)
