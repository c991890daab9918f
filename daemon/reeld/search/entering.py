"""Enters what calls did, and what became of them, into the table of :mod:`reeld.search.touched`."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias

from reel.touches.outcomes import Outcome, outcome_of
from reel.touches.reading import meant
from reel.touches.tools import KNOWN, Tool
from reel.touches.touch import Touch
from reeld.search.touched import DEEDS, Message, plain, position

# What is entered of one call: it may have as many hunks as a message has lines.
MOST = 1000
# Characters of a path, as the system allows them; and of a command, by which it is found.
_PATH = 4096
_COMMAND = 4096
_INSERT = f"INSERT INTO touches VALUES ({', '.join('?' * 14)})"  # noqa: S608 - question marks
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
# What became of a call: a bit for each deed that was not done, the exit status, and the event of its result.
_Ended: TypeAlias = tuple[int, int | None, int]


def tools_of(connection: sqlite3.Connection) -> Mapping[str, Tool]:
    """Return the tools that a connection knows."""
    tools: Mapping[str, Tool] = getattr(connection, "tools", KNOWN)
    return tools


class _Call:
    """A call that is to be entered, and what became of it, as far as its result has been read.

    Args:
        event: its event.
        key: its number.
        marks_failures: whether its tool marks each command that failed.
        deeds: its rows of the table, without what became of it.
    """

    def __init__(self, event: int, key: int, *, marks_failures: bool, deeds: Sequence[tuple[Any, ...]]) -> None:
        self.event = event
        self.key = key
        self.marks_failures = marks_failures
        self.ended: _Ended | None = None
        self._deeds = deeds

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield its rows of the table."""
        ended = self.ended or (None, None, None)
        return ((*deed, *ended) for deed in self._deeds)


def enter(connection: sqlite3.Connection, messages: Iterable[Message]) -> None:
    """Enter the next messages."""
    tools = tools_of(connection)
    calls: list[_Call] = []
    # Those in the newest message that has calls with a key.
    newest: dict[int, list[_Call]] = {}
    for message in messages:
        for call in _calls_of(message, tools):
            calls.append(call)
            same = newest.get(call.key)
            if same is None or same[0].event != message.event:
                newest[call.key] = [call]
            else:
                same.append(call)
        for block in message.blocks:
            if block["type"] == "tool_result":
                key = _key(message.agent, block["tool_call_id"])
                if key in newest:
                    call = next((call for call in newest[key] if call.ended is None), newest[key][0])
                    call.ended = _ended(message, block, marks_failures=call.marks_failures)
                else:
                    _enter_result(connection, message, block, key)
    _insert(connection, calls)


def replace(connection: sqlite3.Connection, events: Sequence[int], instead: Sequence[Message]) -> None:
    """Remove events, and enter messages in the place of others; what became of their calls stays known."""
    new = [message.event for message in instead]
    ended = connection.execute(_ENDED, (json.dumps(new),)).fetchall()
    gone = json.dumps([*events, *new])
    connection.execute("DELETE FROM touches WHERE event IN (SELECT value FROM json_each(?))", (gone,))
    last = position(connection)
    tools = tools_of(connection)
    _insert(connection, [call for message in instead if message.event <= last for call in _calls_of(message, tools)])
    connection.executemany(_ANSWERED, ended)


def _calls_of(message: Message, tools: Mapping[str, Tool]) -> Iterator[_Call]:
    """Yield the calls of a message that do something."""
    for place, block in enumerate(message.blocks):
        if block["type"] == "tool_call":
            touches, marks_failures = meant(block, tools)
            key = _key(message.agent, block["id"])
            deeds = [
                (message.event, place, number, message.agent, message.said, *columns, key, marks_failures)
                for number, touch in enumerate(touches[:MOST])
                if (columns := _columns(touch)) is not None
            ]
            if deeds:
                yield _Call(message.event, key, marks_failures=marks_failures, deeds=deeds)


def _insert(connection: sqlite3.Connection, calls: Sequence[_Call]) -> None:
    connection.executemany(_INSERT, (row for call in calls for row in call.rows()))


def _enter_result(connection: sqlite3.Connection, message: Message, result: Mapping[str, Any], key: int) -> None:
    """Enter what became of a call in the table."""
    called = connection.execute(_CALLED, (key, message.event)).fetchone()
    if called is not None:
        *place, marks_failures = called
        connection.execute(_ANSWERED, (*_ended(message, result, marks_failures=bool(marks_failures)), *place))


def _ended(message: Message, result: Mapping[str, Any], *, marks_failures: bool) -> _Ended:
    """Return what became of a call, as its result says."""
    outcome = outcome_of(result, marks_failures=marks_failures)
    return _not_done(outcome), outcome.status, message.event


@lru_cache
def _not_done(outcome: Outcome) -> int:
    return sum(1 << number for number, deed in enumerate(DEEDS) if not outcome.did(deed))


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
