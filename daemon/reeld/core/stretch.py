"""Reads a stretch of a log that a client sends as it is: events in their order, and which of them are one command.

Here every event is checked by itself. Whether the conversation can go where an event says is checked when it is staged
(:mod:`reeld.agents.appending`).
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER, new_tuple
from reel.said.blocks import InvalidRecord, kind_of
from reel.said.records import parse_data
from reeld.core.events import Origin
from reeld.core.rows import CheckedRow, with_origin
from reeld.core.usual_messages import usual_rows
from reeld.core.validation import (
    UNALTERED,
    Altered,
    note_ref,
    origin_from,
    read_carefully,
    require_key,
)

# The events that are not rows. Each begins a command, and only after the first two rows may follow in it.
MOVES = frozenset({"clear", "rewind", "restore", "mark", "changed", "agent_killed", "revived"})
_BEFORE_ROWS = frozenset({"clear", "rewind"})
# What only the daemon sets, although every event of a log has it.
_OF_THE_DAEMON = frozenset({"seq", "id", "time", "client", "agent"})
# What says where an event is from and where it belongs.
_PLACE = frozenset({"command", "parent", "sent", "ref"})
_OF_A_MESSAGE = _PLACE | {"role", "content", "provider_metadata"}
_FIELDS_OF_A_MOVE = frozenset({"kind", "content", "data_json"})


class Move(NamedTuple):
    """An event that is not a row: it moves the tip, sets a mark, or changes the agent."""

    kind: str
    data: dict[str, Any]
    origin: Origin | None


class StretchCommand(NamedTuple):
    """One command of a stretch.

    Args:
        first: the index of its first event.
        move: what it begins with, if that is not a row.
        rows: its rows.
    """

    first: int
    move: Move | None
    rows: list[CheckedRow]


class Stretch(NamedTuple):
    """A stretch of a log.

    Args:
        commands: its commands.
        refs: the index of each event that has a reference.
        parents: the seq that an event names as its parent, 0 for none, by the index of the event.
        altered: how much of the messages was altered.
    """

    commands: list[StretchCommand]
    refs: Mapping[str, int]
    parents: Mapping[int, int]
    altered: Altered


def refused(index: int, field: str, why: str) -> InvalidMessage:
    """Return the error for an event of a stretch."""
    return InvalidMessage(f"events[{index}].{field}: {why}", index=index, field=field)


def read_stretch(events: list[Any]) -> Stretch:
    """Return a stretch of a log.

    Raises:
        InvalidMessage: an event is not valid; ``data`` has ``index`` and ``field``.
    """
    reader = StretchReader()
    reader.take(events)
    return reader.end()


class StretchReader:
    """Reads a stretch of a log, some events at a time."""

    def __init__(self) -> None:
        self._commands: list[StretchCommand] = []
        self._refs: dict[str, int] = {}
        self._parents: dict[int, int] = {}
        self._replaced = self._numbers = 0
        # How many events were read, and what the newest calls its command.
        self._read = 0
        self._name: int | None = None

    def take(self, events: list[Any]) -> None:
        """Read the next events.

        Raises:
            InvalidMessage: one is not valid; ``data`` has ``index`` and ``field``.
        """
        usual = usual_rows(events, _OF_A_MESSAGE)
        for index, event, row in zip(count(self._read), events, usual, strict=False):
            try:
                self._take(index, event, row)
            except InvalidRecord as error:
                raise refused(index, error.field, error.reason) from None
        self._read += len(events)

    def end(self) -> Stretch:
        """Return the stretch."""
        altered = Altered(self._replaced, self._numbers) if self._replaced or self._numbers else UNALTERED
        return Stretch(self._commands, self._refs, self._parents, altered)

    def _take(self, index: int, event: Any, usual: CheckedRow | None) -> None:
        if type(event) is not dict:
            raise InvalidRecord("kind", f"expected a message or a record, got {kind_of(event)}")
        if not _OF_THE_DAEMON.isdisjoint(event):
            field = next(field for field in event if field in _OF_THE_DAEMON)
            raise InvalidRecord(field, "the daemon sets it; leave it out")
        name = _integer(event, "command")
        if (parent := _integer(event, "parent")) is not None:
            self._parents[index] = parent
        origin = origin_from(event.get("sent"), event.get("ref"))
        note_ref(origin, index, self._refs, "events")
        begins = name is None or name != self._name
        self._name = name
        if usual is not None:
            self._rows(index, begins=begins).append(with_origin(usual, origin))
            return
        own = {field: value for field, value in event.items() if field not in _PLACE}
        kind = own.get("kind")
        if type(kind) is str and kind in MOVES:
            if not begins:
                raise InvalidRecord("command", f"{kind!r} begins a command; give it another number")
            self._commands.append(StretchCommand(index, _move(own, origin), []))
            return
        if kind == "state":
            require_key(own)
        row, replaced, numbers = read_carefully(own)
        self._replaced += replaced
        self._numbers += numbers
        self._rows(index, begins=begins).append(with_origin(row, origin))

    def _rows(self, index: int, *, begins: bool) -> list[CheckedRow]:
        """Return the rows of the command that a row belongs to."""
        if begins:
            rows: list[CheckedRow] = []
            self._commands.append(new_tuple(StretchCommand, (index, None, rows)))
            return rows
        _, move, rows = self._commands[-1]
        if move is not None and move.kind not in _BEFORE_ROWS:
            raise InvalidRecord("command", f"{move.kind!r} is a command by itself; give this another number")
        return rows


def _integer(event: dict[str, Any], field: str) -> int | None:
    value = event.get(field)
    if value is not None and (type(value) is not int or not 0 <= value <= MAX_INTEGER):
        raise InvalidRecord(field, f"expected a seq, got {value if type(value) is int else kind_of(value)}")
    return value


def _move(own: dict[str, Any], origin: Origin | None) -> Move:
    for field in own:
        if field not in _FIELDS_OF_A_MOVE:
            raise InvalidRecord(str(field), f"a {own['kind']} has no such field; it has kind and data_json")
    if own.get("content") is not None:
        raise InvalidRecord("content", f"a {own['kind']} has none")
    data_json = own.get("data_json")
    if data_json is not None and type(data_json) is not str:
        raise InvalidRecord("data_json", f"expected a string, got {kind_of(data_json)}")
    return Move(own["kind"], {} if data_json is None else parse_data(data_json), origin)
