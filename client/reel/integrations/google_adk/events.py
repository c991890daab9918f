"""Reads the events of a session of Google's ADK: its own, and those that other clients added."""

import json
from collections.abc import Iterator
from typing import Any, Final

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions

from reel import requests
from reel.base.light_typing import NamedTuple
from reel.integrations.google_adk.items import content_of, messages_of
from reel.requests import Call
from reel.sync.client import Client

Json = dict[str, Any]

FORMAT: Final = "x-google-adk"
# The maximum number of events on a page, and so the maximum of ``last``.
_PAGE: Final = 10_000
# How many of the newest events are read first when looking for those after a time.
_FIRST: Final = 64
# The string fields that identify an event.
_NAMES: Final = ("id", "invocation_id", "author", "branch")


class _RawPage(NamedTuple):
    """A page of items whose JSON has not been parsed."""

    head: int
    at: int
    items: list[Any]
    more: bool


def _read_raw(result: Json) -> _RawPage:
    return _RawPage(result["head"], result["at"], result["items"], result["more"])


def events_at(client: Client, agent: str, at: int, last: int | None = None) -> list[Event]:
    """Return the events at a position.

    Args:
        client: reads them.
        agent: the agent.
        at: the position.
        last: only this many of the newest events, which may be more than fit on a page.
    """
    return _read(client, agent, at, last)[0]


def events_after(client: Client, agent: str, at: int, time: float) -> list[Event]:
    """Return the events from a time on, without reading all earlier ones."""
    count = _FIRST
    while True:
        events, is_all = _read(client, agent, at, count)
        if is_all or (events and events[0].timestamp < time):
            return [event for event in events if event.timestamp >= time]
        count *= 4


def _read(client: Client, agent: str, at: int, last: int | None) -> tuple[list[Event], bool]:
    """Return events, and whether they include the oldest."""
    if last == 0:
        return [], False
    page = {"limit": _PAGE} if last is None or last > _PAGE else {"last": last}
    call: Call[Any] = requests.items(agent, FORMAT, at=at, **page)
    pages = client.pages(call._replace(read=_read_raw))
    events: list[Event] = []
    count = 0
    for found in (found for page in pages for found in page.items):
        count += 1
        if (event := _event(found, events)) is not None:
            events.append(event)
    return events, "last" not in page or count < page["last"]


def _event(found: Json, before: list[Event]) -> Event | None:
    """Return an event; ``None`` if another client added it, and nothing in it is readable for the framework."""
    if "item_json" in found:
        return _parsed(found["item_json"])
    content = content_of(found["message"])
    if content is None:
        return None
    # Foreign messages get the author who last spoke for the model.
    speaker = next((event.author for event in reversed(before) if event.author != "user"), "model")
    made = {
        "id": f"reel-{found['seq']}",
        "invocation_id": f"reel-{found['seq']}",
        "author": speaker if found["message"]["role"] == "assistant" else "user",
        "timestamp": (found.get("sent") or found["time"]) / 1000,
    }
    if (event := _made(made | {"content": content})) is not None:
        return event
    # One of them may be a file with invalid base64.
    parts = [part for part in content["parts"] if _made(made | {"content": {**content, "parts": [part]}}) is not None]
    return _made(made | {"content": {**content, "parts": parts}}) if parts else None


def _parsed(text: str) -> Event:
    """Return an event without the parts that this version of the framework does not know."""
    if (known := _valid(text)) is not None:
        return known
    event: Json = json.loads(text)
    return next(found for simpler in _simpler(event) if (found := _made(simpler)) is not None)


def _simpler(event: Json) -> Iterator[Json]:
    """Yield ever simpler versions of an event; the last one is always valid."""
    if isinstance(actions := event.get("actions"), dict):
        yield {**event, "actions": {key: new for key, new in actions.items() if key in EventActions.model_fields}}
    known = {"author": "model"} | {key: event[key] for key in _NAMES if isinstance(event.get(key), str)}
    timed = known | {"timestamp": event["timestamp"]} if "timestamp" in event else known
    try:
        content = next(found for said in messages_of(event) if (found := content_of(said)) is not None)
    except Exception:  # it may contain anything
        content = None
    if content is not None:
        yield timed | {"content": content}
        yield known | {"content": content}
    yield timed
    yield known


def _made(event: Json) -> Event | None:
    return _valid(json.dumps(event))


def _valid(text: str) -> Event | None:
    try:
        return Event.model_validate_json(text)
    except Exception:  # some validators of the framework raise more than a ValidationError
        return None
