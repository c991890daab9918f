"""The state of a session in which somebody went back: changes of events that were taken back do not count.

The values that the daemon keeps beside a conversation stay whatever is undone. In the framework a session is its
events, and each event brings its change of the state. So an undo, a rewind or a restore brings back the state that the
session had at that place. What replaces messages, such as an edit or a summary, does not go back in this sense, and
neither does clearing a conversation: both leave the state as it is.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Final

from reel import requests
from reel.requests.calls import value_in
from reel.said.kinds import is_conversation_kind
from reel.said.messages import Event
from reel.sync.client import Client

Json = dict[str, Any]

# The kinds of events by which a conversation goes back.
_BACK: Final = ("restore", "rewind")
# The maximum number of events on a page.
_PAGE: Final = 10_000


def went_back(client: Client, agent: str, head: int) -> bool:
    """Return whether an agent, or one that it was cloned from, had ever gone back by a seq."""
    return bool(client.history(agent, kinds=_BACK, last=1, before=head + 1, inherited=True).events)


def those_gone_back(client: Client, agents: Iterable[str]) -> set[str]:
    """Return those of some agents whose own events include a going back."""
    given = [*agents]
    pages = client.pages(requests.histories(given, kinds=_BACK, limit=_PAGE)) if given else ()
    return {event["agent"] for page in pages for event in page.events}


def state_left(client: Client, agent: str, head: int) -> Json:
    """Return the state of an agent at a seq, without what had been taken back by then.

    Raises:
        NotFound: there is no such agent.
    """
    asked = requests.history(agent, kinds=[*_BACK, "state"], limit=_PAGE, before=head + 1, inherited=True)
    events = [event for page in client.pages(asked) for event in page.events]
    seqs = [event["seq"] for event in events]
    newest: dict[str, str | None] = {}
    at = head
    while at > 0 and (place := bisect_right(seqs, at)):
        event = events[place - 1]
        at = event["seq"] - 1
        if event["kind"] == "state":
            newest.setdefault(str(event["content"]), event["data_json"])
        elif (to := _target(client, agent, event)) is not None:
            at = min(at, to)
    return {key: value_in(data) for key, data in newest.items() if data is not None}


def _target(client: Client, agent: str, event: Event) -> int | None:
    """Return the seq whose state an event brings back; ``None`` if it leaves the state as it is."""
    data = _data(event)
    if event["kind"] == "restore":
        # A redo leads to where the undo came from.
        return data["undo"] - 1 if "undo" in data else data.get("to")
    if "target" in data or "before" not in data:
        return data.get("target")
    after = client.history(agent, since=event["seq"], limit=1, inherited=True).events
    replaces = any(each["command"] == event["command"] and is_conversation_kind(each["kind"]) for each in after)
    return None if replaces else data["before"] - 1


def _data(event: Event) -> dict[str, int]:
    """Return the data of an event; empty if it is damaged."""
    try:
        found: dict[str, int] = json.loads(event["data_json"] or "{}")
    except ValueError:
        return {}
    return found
