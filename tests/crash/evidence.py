"""What is left: the log of every agent, and the agents as they stand."""

import sqlite3
from typing import Final

from reel.sync.client import Client
from tests.crash.history import Event, Living, marked, said

_EVENTS = """
    SELECT e.id, a.uid, e.seq, e.command, e.kind, e.content, e.data_json, e.client
    FROM events e JOIN agents a ON a.id = e.agent ORDER BY e.id
"""
_FIELDS: Final = ("id", "agent", "seq", "command", "kind", "content", "data_json", "client")


def evidence(client: Client) -> tuple[list[Event], list[Living]]:
    """Ask a daemon for everything."""
    events: list[Event] = []
    living: list[Living] = []
    for row in client.iter_agents():
        events += (Event._make(event[field] for field in _FIELDS) for event in client.iter_history(row.id))
        living.append(_living(client, row.id))
    return events, living


def _living(client: Client, agent: str) -> Living:
    info = client.agent(agent)
    records = said(list(client.iter_conversation(agent)))
    marks = marked([mark._asdict() for mark in info.marks])
    return Living(agent, info.name, info.alive, info.head, records, marks, info.title, info.tags)


def logged(connection: sqlite3.Connection) -> list[Event]:
    """Read the log from a database itself."""
    return list(map(Event._make, connection.execute(_EVENTS)))
