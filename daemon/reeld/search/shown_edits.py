"""Edits as clients receive them: a row of the table of what calls did, with what the log has of the call."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.touches.reading import meant
from reel.touches.touch import Touch
from reeld.search.attached_log import log_of
from reeld.search.entering import tools_of
from reeld.search.finding import Paths
from reeld.search.texts import blocks_of

# Bytes of one text.
MAX_TEXT = 64 << 10
_CALL = """
    SELECT e.seq, e.kind, e.content, e.data_json, e.time, e.sent, a.uid, a.name, a.title
    FROM log.events e JOIN log.agents a ON a.id = e.agent
    WHERE e.id = ? AND a.name <> ''
"""


class Spot(NamedTuple):
    """Where a page of edits goes on: before this one."""

    said: int
    event: int
    block: int
    number: int


class Row(NamedTuple):
    """A row of the table of what calls did."""

    spot: Spot
    agent: int
    deed: int
    path: str
    command: str | None
    failed: int | None
    status: int | None


class _Called(NamedTuple):
    """A message with calls, and its agent."""

    seq: int
    kind: str
    content: str | None
    data_json: str | None
    time: int
    sent: int | None
    uid: str
    name: str
    title: str | None


class Calls:
    """The messages with calls. The last one is kept: a call of many hunks has a row for each."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._event = self._block = -1
        self._message: _Called | None = None
        self._blocks: Sequence[Any] = ()
        self._touches: list[Touch] = []

    def message(self, event: int) -> _Called | None:
        """Return the message of an event; ``None`` if it was erased."""
        if event != self._event:
            row = log_of(self._connection).execute(_CALL, (event,)).fetchone()
            self._event, self._block = event, -1
            self._message = None if row is None else _Called(*row)
            self._blocks = () if row is None else blocks_of(*row[1:4]) or ()
        return self._message

    def call(self, spot: Spot) -> tuple[str, Touch] | None:
        """Return the id of a call in the last message, and what it did; ``None`` if it was erased."""
        block = self._blocks[spot.block] if spot.block < len(self._blocks) else {"type": "text"}
        if block["type"] != "tool_call":
            return None
        if spot.block != self._block:
            self._block, self._touches = spot.block, meant(block, tools_of(self._connection)).touches
        return (block["id"], self._touches[spot.number]) if spot.number < len(self._touches) else None


def shown(
    connection: sqlite3.Connection, calls: Calls, row: Row, path: str, paths: Paths, ends: float
) -> dict[str, Any] | None:
    """Return an edit as clients receive it; ``None`` if it was erased meanwhile.

    Raises:
        OutOfTime: time ran out before it was known whether it is live; the next call continues.
    """
    message = calls.message(row.spot.event)
    found = calls.call(row.spot)
    if message is None or found is None:
        return None
    call, touch = found
    texts = {field: _cut(getattr(touch, field)) for field in ("before", "after", "command")}
    is_cut = any(texts[field] != getattr(touch, field) for field in texts)
    return {
        "id": row.spot.event,
        "agent": message.uid,
        "name": message.name,
        "title": message.title,
        "seq": message.seq,
        "time": message.time,
        **({} if message.sent is None else {"sent": message.sent}),
        "live": paths.has(connection, row.agent, message.seq, message.kind, ends),
        "call": call,
        "deed": touch.deed,
        "path": path,
        "whole": touch.whole,
        **({"every": True} if touch.every else {}),
        **({"removed": True} if touch.deed == "wrote" and touch.whole and touch.after is None else {}),
        **texts,
        **({"cut": True} if is_cut else {}),
        "status": row.status if touch.deed == "ran" else None,
        "answered": row.failed is not None,
    }


def _cut(text: str | None) -> str | None:
    if text is None or len(text) * 4 <= MAX_TEXT:
        return text
    return text.encode()[:MAX_TEXT].decode(errors="ignore")
