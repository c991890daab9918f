"""What a sample of a stream is, and how streams are encoded."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """A stream: its API, its bytes, its text and the body that it forms."""

    format: str
    data: bytes
    text: str
    body: dict[str, Any]


def sse(events: Sequence[Any], *, named: bool = False, done: bool = False) -> bytes:
    """Encode events as an API sends them, with the event's name in front if ``named``."""
    lines = [
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" if named else f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def ndjson(events: Sequence[Any]) -> bytes:
    """Encode events one a line."""
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()
