"""A short history for the tests of the checker to extend: one client creates an agent, two clients add a message."""

import json
from typing import Any

from tests.crash.history import Call, Event, FinalAgent
from tests.model import Said

# The agents' ids, and their names.
A, B = "a" * 32, "b" * 32

INFO: dict[str, Any] = {"name": "demo", "title": None, "tags": {}}
CREATE = Call("s", 0, "create", "demo", {}, 1, 2, {"id": A, "head": 1, "command": 1, **INFO})
HI = Call("s", 1, "add", "demo", {"messages": ["hi"]}, 3, 4, {"agent": A, "head": 2, "command": 2, "first": 2})
HO = Call(
    "t", 1, "add", "demo", {"messages": ["ho"], "key": "k"}, 5, 6, {"agent": A, "head": 3, "command": 3, "first": 3}
)
READ = Call("r", 0, "messages", "demo", {}, 7, 8, {"agent": A, "head": 3, "conversation": []})
CREATED = Event(1, A, 1, 1, "created", None, '{"name": "demo"}', "s")
SAID_HI = Event(2, A, 2, 2, "user", "hi", None, "s")
SAID_HO = Event(3, A, 3, 3, "user", "ho", None, "t")
LOG = (CREATED, SAID_HI, SAID_HO)
END = FinalAgent(A, "demo", True, 3, (Said(2, "user", "hi", None), Said(3, "user", "ho", None)), ())


def shown(*records: tuple[int, str]) -> list[dict[str, Any]]:
    """Return records as they are on the wire."""
    return [{"seq": seq, "kind": "user", "content": text, "data_json": None} for seq, text in records]


def reading(head: int, *records: tuple[int, str], sent: float = 7, answered: float = 8) -> Call:
    """Return a read with this result."""
    reply = {"agent": A, "head": head, "conversation": shown(*records)}
    return READ._replace(reply=reply, sent=sent, answered=answered)


def unheard(call: Call) -> Call:
    """Return the call without a reply."""
    return call._replace(answered=float("inf"), reply=None)


def refused(call: Call, error: str, **data: Any) -> Call:
    """Return the call, refused."""
    return call._replace(reply=None, error=error, data=data)


def answered(call: Call, command: int, **more: Any) -> Call:
    """Return the call, answered as a command of one event."""
    return call._replace(reply={"agent": A, "head": command, "command": command, **more})


def event(number: int, kind: str, data: dict[str, Any], *, agent: str = A, seq: int = 0, client: str = "s") -> Event:
    """Return an event that is a whole command."""
    return Event(number, agent, seq or number, seq or number, kind, None, json.dumps(data), client)
