"""The log of every agent, and all agents, as they are at the end."""

import sqlite3
from typing import Final

from reel.sync.client import Client
from tests.crash.history import Event, FinalAgent, marked, said

_EVENTS = """
    SELECT e.id, a.uid, e.seq, e.command, e.kind, e.content, e.data_json, e.client
    FROM events e JOIN agents a ON a.id = e.agent ORDER BY e.id
"""
_FIELDS: Final = ("id", "agent", "seq", "command", "kind", "content", "data_json", "client")


def read_final_state(client: Client) -> tuple[list[Event], list[FinalAgent]]:
    """Read all events and all agents from a daemon."""
    events: list[Event] = []
    final: list[FinalAgent] = []
    for row in client.iter_agents():
        events += (Event._make(event[field] for field in _FIELDS) for event in client.iter_history(row.id))
        final.append(_final_agent(client, row.id))
    return events, final


def _final_agent(client: Client, agent: str) -> FinalAgent:
    info = client.agent(agent)
    records = said(list(client.iter_conversation(agent)))
    marks = marked([mark._asdict() for mark in info.marks])
    return FinalAgent(agent, info.name, info.alive, info.head, records, marks, info.title, info.tags)


def read_log(connection: sqlite3.Connection) -> list[Event]:
    """Read the log directly from a database."""
    return list(map(Event._make, connection.execute(_EVENTS)))
