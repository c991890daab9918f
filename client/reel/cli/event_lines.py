"""The log as people read it: one line per event."""

import json
from collections.abc import Callable
from typing import Any

from reel.cli.output import Line
from reel.cli.terminal import cut, flat
from reel.messages import Event

# How much of an event's content is shown if there is no terminal to set the limit.
_GIST = 200
_KIND = 12
_STYLES = {"system": "system", "user": "user", "assistant": "assistant", "tool_call": "call", "tool_result": "result"}


def layout(event: Event, width: int | None, clock: Callable[[int], str]) -> Line:
    """Lay out an event: seq, time, kind and the beginning of its content."""
    kind = event["kind"]
    head = f"{event['seq']:>6}  {clock(event['time'])}  "
    room = _GIST if width is None else max(width - len(head) - max(_KIND, len(kind)) - 2, 1)
    return [(head, "dim"), (f"{kind:<{_KIND}}", _STYLES.get(kind, "bold")), "  ", cut(gist(event), room)]


def gist(event: Event) -> str:
    """Return an event's content in a few words, and whether the event is damaged."""
    return f"(damaged) {_content(event)}" if event.get("damaged") else _content(event)


def _content(event: Event) -> str:
    if event["content"] is not None:
        return flat(event["content"])
    return _from_data(event["data_json"]) if event["data_json"] is not None else ""


def _from_data(text: str) -> str:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return flat(text)
    if not isinstance(data, dict):
        return flat(text)
    if isinstance(data.get("output"), str):
        return flat(data["output"])
    return flat(", ".join(f"{name} {_word(value)}" for name, value in data.items() if value not in (None, {}, [])))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
