"""Events and messages for the tests of exports."""

import json
from typing import Any

from reel.said.messages import Event, Message


def event(seq: int, kind: str, data: Any = None, content: str | None = None) -> Event:
    """Return an event; that of a user says its seq."""
    return {
        "id": seq,
        "agent": "a",
        "seq": seq,
        "command": seq,
        "kind": kind,
        "content": content if content is not None or kind != "user" else str(seq),
        "data_json": None if data is None else json.dumps(data),
        "parent": None,
        "time": 0,
        "client": None,
    }


def message(seq: int, text: str | None = None, role: Any = "user") -> Message:
    """Return a message of one text, by default its seq."""
    return said(seq, role, {"type": "text", "text": str(seq) if text is None else text})


def said(seq: int, role: Any, *blocks: Any) -> Message:
    """Return a message of some blocks."""
    return {"role": role, "content": list(blocks), "provider_metadata": {}, "seq": seq, "time": 0}
