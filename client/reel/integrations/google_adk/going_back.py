"""The state of a session in which somebody went back: what events changed that were taken back does not count.

The values beside a conversation are the daemon's newest ones, whatever was undone. But in the framework, a session is
its events, and each one's change of state is a part of it. So a session goes back to the state that it had at the place
to which an undo, a rewind or a restore leads. What replaces messages, such as an edit or a summary, and what clears a
conversation is no way back in this sense, and leaves the state as it is.
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
    """Whether an agent, or one that it was cloned from, has ever gone back until a seq."""
    return bool(client.history(agent, kinds=_BACK, last=1, before=head + 1, inherited=True).events)


def those_gone_back(client: Client, agents: Iterable[str]) -> set[str]:
    """Return those of some agents that have gone back by events of their own."""
    given = [*agents]
    pages = client.pages(requests.histories(given, kinds=_BACK, limit=_PAGE)) if given else ()
    return {event["agent"] for page in pages for event in page.events}


def state_left(client: Client, agent: str, head: int) -> Json:
    """Return the state of an agent at a seq, without what was taken back until then.

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
    """Return the seq whose state an event leads to; ``None`` if it leaves the state."""
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
    """Return the data of an event; there is none if it changed on the disk."""
    try:
        found: dict[str, int] = json.loads(event["data_json"] or "{}")
    except ValueError:
        return {}
    return found
