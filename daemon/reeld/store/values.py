"""The values of an agent: the newest `state` event of each key in its past. Undo does not affect them.

The past is the agent's own log and what it inherited as a clone, up to the position at which it was cloned. The index
``events_of_state`` leads from one key to the next, and from a key to its newest event, however long the log is.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reeld.core.events import Pack
from reeld.core.paging import take_page
from reeld.protocol.params import State
from reeld.store.checksums import AGENT, EVENT_COLUMNS, ID, is_intact
from reeld.store.connection import Connection, Texts
from reeld.store.history import lineage
from reeld.store.pruned import pruned_as

# The most keys that are examined for one page: most of them may have been removed.
_LOOKED_AT = 10_000
_NEXT = "SELECT content FROM events WHERE kind = 'state' AND agent = ? AND content > ? ORDER BY content LIMIT 1"
_NEWEST = (
    f"SELECT {EVENT_COLUMNS} FROM events e WHERE e.kind = 'state' AND e.agent = ? AND e.content = ? AND e.seq <= ?"
    " ORDER BY e.seq DESC LIMIT 1"
)
_SEQS = """
    SELECT value, CASE WHEN e.data_json IS NULL THEN 0 ELSE e.seq END
    FROM json_each(:keys) CROSS JOIN events e ON e.kind = 'state' AND e.agent = :agent AND e.content = value
    WHERE e.seq = (
        SELECT max(seq) FROM events WHERE kind = 'state' AND agent = :agent AND content = value AND seq <= :upto
    )
"""


class ValuePage(NamedTuple):
    """Values in the form of the protocol, as MessagePack; ``after`` is the key to go on after, if there are more."""

    items: list[bytes]
    after: str | None


def values(connection: Connection, row: int, at: int, asked: State, pack: Pack) -> ValuePage:
    """Return a page of the values that an agent had at a seq.

    Raises:
        InvalidParams: one of them was pruned.
    """
    keys, after = asked.keys, asked.after
    line = [(owner, upto) for owner, _, upto in reversed(lineage(connection, row, at))]
    wanted = sorted({key for key in keys if key > after}) if keys is not None else _keys(connection, line, after)
    seen = after
    looked_at = 0

    def found() -> Iterator[tuple[str, bytes]]:
        nonlocal seen, looked_at
        for key in wanted:
            if looked_at == _LOOKED_AT:
                return
            looked_at += 1
            event = _newest(connection, line, key)
            if event is not None and event[_DATA] is not None:
                _require_kept(connection, event, key, at)
                yield key, pack(_shown(key, event, pack))
            seen = key

    page, more = take_page(found(), asked.limit, asked.max_bytes, lambda each: len(each[1]))
    if more:
        seen = page[-1][0]
    return ValuePage([packed for _, packed in page], seen if more or looked_at == _LOOKED_AT else None)


def seqs_of(connection: Connection, row: int, at: int, keys: set[str]) -> dict[str, int]:
    """Return the seq of the value of each of some keys that was ever set, 0 if it was removed.

    This may happen in the event loop. So no value is read, which may be large, and an agent of the line is asked once.
    """
    found: dict[str, int] = {}
    for owner, _, upto in reversed(lineage(connection, row, at)):
        missing = Texts(keys - found.keys())
        if not missing:
            break
        found.update(connection.execute(_SEQS, {"keys": missing, "agent": owner, "upto": upto}).fetchall())
    return found


_COLUMNS = [column.removeprefix("e.") for column in EVENT_COLUMNS.split(", ")]
_SEQ, _DATA, _TIME = map(_COLUMNS.index, ("seq", "data_json", "time"))


def _keys(connection: Connection, line: Sequence[tuple[int, int]], after: str) -> Iterator[str]:
    """Yield the keys of all agents of a line, in order."""
    while True:
        following = [found for owner, _ in line if (found := connection.execute(_NEXT, (owner, after)).fetchone())]
        if not following:
            return
        (after,) = min(following)
        yield after


def _newest(connection: Connection, line: Sequence[tuple[int, int]], key: str) -> Sequence[Any] | None:
    """Return the newest event of a key; the first agent of the line that has one counts."""
    for owner, upto in line:
        found: Sequence[Any] | None = connection.execute(_NEWEST, (owner, key, upto)).fetchone()
        if found is not None:
            return found
    return None


def _require_kept(connection: Connection, event: Sequence[Any], key: str, at: int) -> None:
    if (marker := pruned_as(connection, event[ID], event[AGENT], "state", None, event[_DATA])) is not None:
        raise InvalidParams(f"at: the value of {key!r} at {at} cannot be brought back; it is {marker}", field="at")


def _shown(key: str, event: Sequence[Any], pack: Pack) -> dict[str, Any]:
    *row, stored = event
    shown = {"key": key, "seq": event[_SEQ], "time": event[_TIME], "data_json": event[_DATA]}
    return shown if is_intact(pack, row, stored) else {**shown, "data_json": None, "damaged": True}
