"""Enters what calls did, and what became of them, into the table of :mod:`reeld.search.touched`."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from reel.touches.outcomes import outcome_of
from reel.touches.reading import meant
from reel.touches.tools import KNOWN, Tool
from reel.touches.touch import Touch
from reeld.search.touched import DEEDS, Message, plain, position

# What is entered of one call: it may have as many hunks as a message has lines.
MOST = 1000
# Characters of a path, as the system allows them; and of a command, by which it is found.
_PATH = 4096
_COMMAND = 4096
_INSERT = f"INSERT INTO touches VALUES ({', '.join('?' * 11)}, NULL, NULL, NULL)"  # noqa: S608 - question marks
# Of calls with one id, a result is of the newest before it; of those in one message, of the first without a result.
_CALLED = """
    SELECT event, block, marks_failures FROM touches WHERE key = ? AND event < ?
    ORDER BY event DESC, result IS NOT NULL, block LIMIT 1
"""
_ANSWERED = "UPDATE touches SET failed = ?, status = ?, result = ? WHERE event = ? AND block = ?"
_ENDED = """
    SELECT DISTINCT failed, status, result, event, block FROM touches
    WHERE event IN (SELECT value FROM json_each(?)) AND result IS NOT NULL
"""


def tools_of(connection: sqlite3.Connection) -> Mapping[str, Tool]:
    """Return the tools that a connection knows."""
    tools: Mapping[str, Tool] = getattr(connection, "tools", KNOWN)
    return tools


def enter(connection: sqlite3.Connection, message: Message) -> None:
    """Enter the next message."""
    _enter_calls(connection, message)
    for block in message.blocks:
        if block["type"] == "tool_result":
            _enter_result(connection, message, block)


def replace(connection: sqlite3.Connection, events: Sequence[int], instead: Sequence[Message]) -> None:
    """Remove events, and enter messages in the place of others; what became of their calls stays known."""
    new = [message.event for message in instead]
    ended = connection.execute(_ENDED, (json.dumps(new),)).fetchall()
    gone = json.dumps([*events, *new])
    connection.execute("DELETE FROM touches WHERE event IN (SELECT value FROM json_each(?))", (gone,))
    last = position(connection)
    for message in instead:
        if message.event <= last:
            _enter_calls(connection, message)
    connection.executemany(_ANSWERED, ended)


def _enter_calls(connection: sqlite3.Connection, message: Message) -> None:
    for place, block in enumerate(message.blocks):
        if block["type"] != "tool_call":
            continue
        touches, marks_failures = meant(block, tools_of(connection))
        key = _key(message.agent, block["id"])
        rows = [
            (message.event, place, number, message.agent, message.said, *columns, key, marks_failures)
            for number, touch in enumerate(touches[:MOST])
            if (columns := _columns(touch)) is not None
        ]
        connection.executemany(_INSERT, rows)


def _enter_result(connection: sqlite3.Connection, message: Message, result: Mapping[str, Any]) -> None:
    called = connection.execute(_CALLED, (_key(message.agent, result["tool_call_id"]), message.event)).fetchone()
    if called is not None:
        *place, marks_failures = called
        outcome = outcome_of(result, marks_failures=bool(marks_failures))
        failed = sum(1 << number for number, deed in enumerate(DEEDS) if not outcome.did(deed))
        connection.execute(_ANSWERED, (failed, outcome.status, message.event, *place))


def _columns(touch: Touch) -> tuple[int, str | None, str, str | None] | None:
    """Return the deed, the last part of a file's path, the path, and the command; ``None`` if there is no such path."""
    path = plain(touch.path)
    if len(path) > _PATH:
        return None
    name = None if touch.deed == "ran" else path.rpartition("/")[2]
    return DEEDS.index(touch.deed), name, path, touch.command and touch.command[:_COMMAND]


def _key(agent: int, call: str) -> int:
    """Return the number of a call in an agent."""
    digest = blake2b(f"{agent} {call}".encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
