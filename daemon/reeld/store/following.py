"""Reading the log forward, as it was written: jobs for the reading connections."""

import sqlite3
from contextlib import suppress
from typing import NamedTuple

from reel.blocks import InvalidRecord
from reeld.core.events import Draft, Pack, read
from reeld.core.state import Profile
from reeld.store.reading import profile_of, tip_after

_EVENTS = "SELECT id, agent, seq, command, kind, content, data_json, parent, time, client FROM events"
_OF_ONE = f"{_EVENTS} WHERE agent = :row AND seq > :place ORDER BY seq LIMIT :limit"
_OF_ALL = f"{_EVENTS} WHERE id > :place ORDER BY id LIMIT :limit"


class Logged(NamedTuple):
    """An event of the log: whose, its id, and what was committed."""

    profile: Profile
    event_id: int
    draft: Draft


def after(
    connection: sqlite3.Connection, row: int | None, place: int, limit: int, max_bytes: int, pack: Pack
) -> list[Logged]:
    """Read the events after a place: of one agent after a seq, of all after an id.

    Args:
        connection: where to.
        row: the agent; ``None``: all.
        place: the seq, or the id.
        limit: how many at most.
        max_bytes: what their texts may have together; one comes at least.
        pack: encodes a message for the wire.
    """
    events: list[Logged] = []
    profiles: dict[int, Profile] = {}
    room = max_bytes
    query = _OF_ALL if row is None else _OF_ONE
    for event_id, agent, *event in connection.execute(query, {"row": row, "place": place, "limit": limit}):
        if agent not in profiles:
            profiles[agent] = profile_of(connection, agent)
        draft = _read(pack, Draft(*event))
        room -= len(draft.content or "") + len(draft.data_json or "")
        if room < 0 and events:
            break
        events.append(Logged(profiles[agent], event_id, draft))
    return events


def _read(pack: Pack, draft: Draft) -> Draft:
    """Make the message of an event; one that is none stays a record, as in every reading of the log."""
    with suppress(InvalidRecord):
        message, tools = read(pack, draft.kind, draft.content, draft.data_json, draft.seq, draft.time)
        return draft._replace(message=message, tools=tools)
    return draft


def tip_before(connection: sqlite3.Connection, row: int, seq: int) -> int | None:
    """Find the tip of an agent's state before one of its events; before the first, there is none."""
    found = connection.execute(
        "SELECT id, kind, parent FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT 1", (row, seq)
    ).fetchone()
    return None if found is None else tip_after(*found)
