"""What a person said first in a conversation: what it is about, for a list.

That stays when a summary takes the place of the beginning: the summary stands for what the log has before it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.reading.approvals import IN_CALLS
from reel.said.messages import COMPACTED
from reeld.core.events import Pack, data_of
from reeld.store.checksums import AGENT, CONTENT, DATA, EVENT_COLUMNS, PARENT, SEQ, is_intact
from reeld.store.connection import Connection
from reeld.store.milestones import chain
from reeld.store.positions import tip_before
from reeld.store.spans import NEWEST

# How many messages are counted on the way from the tip.
MOST_MESSAGES = 1000
# How many characters the first words have.
_WORDS = 200
# How many messages are walked for the first words, from the first milestone or, if none is there, from the newest
# message: 10 ms.
_MOST_WALKED = 10_000
# How many summaries are passed over, each in place of another one.
_MOST_SUMMARIES = 100
# The newest going back before a summary. Only a prompt, and records of what it took, are between them.
_BACK = """
    SELECT seq, data_json FROM (
        SELECT seq, kind, data_json FROM events WHERE agent = ? AND seq < ? ORDER BY seq DESC LIMIT 8
    ) newest WHERE kind IN ('rewind', 'clear') ORDER BY seq DESC LIMIT 1
"""
_SAID_AT = "SELECT id FROM events WHERE agent = ? AND seq = ? AND kind = 'user'"
_ASKS = " OR ".join(f"instr(e.data_json, '{name}') > 0" for name in IN_CALLS)
_MAY_ASK = f"CASE WHEN e.kind IN ('assistant', 'tool_call') AND ({_ASKS}) THEN 1 ELSE 0 END"
# Of the nodes down to the root, or to where another agent's begin: the number of messages, the newest message, the
# oldest one of a user, the last node, and whether a call may ask a person.
_PATH = f"""
    WITH RECURSIVE path (id, agent, kind, parent, messages, asks) AS (
        SELECT e.id, e.agent, e.kind, e.parent, CASE WHEN e.kind IN ('system', 'mark') THEN 0 ELSE 1 END, {_MAY_ASK}
        FROM events e WHERE e.id = :tip AND e.id < :before
        UNION ALL
        SELECT e.id, e.agent, e.kind, e.parent, messages + CASE WHEN e.kind IN ('system', 'mark') THEN 0 ELSE 1 END,
            {_MAY_ASK}
        FROM path JOIN events e ON e.id = path.parent AND e.id < path.id AND e.agent = path.agent
        WHERE messages < :most
    )
"""
_SUMMARY = f"""{_PATH}
    SELECT max(messages), max(id) FILTER (WHERE kind NOT IN ('system', 'mark')),
        min(id) FILTER (WHERE kind = 'user'), min(id), max(asks) FROM path
"""
_OLDEST_MILESTONE = f"{_PATH} SELECT min(m.id) FROM path JOIN milestones m ON m.id = path.id"
_EVENT = f"SELECT {EVENT_COLUMNS} FROM events e WHERE e.id = ?"


class Stretch(NamedTuple):
    """A part of the way from a node to the root, in one agent's log.

    Args:
        place: the parameters of the query that reads it: its agent, its end and a limit.
        messages: the number of messages that were read.
        newest: the id of the newest message, or ``None``.
        first_of_a_user: the id of the oldest message of a user, or ``None``.
        asks: whether one of the calls may ask a person.
    """

    place: dict[str, int]
    messages: int
    newest: int | None
    first_of_a_user: int | None
    asks: bool


def stretches(connection: Connection, tip: int | None, most: int, pack: Pack) -> Iterator[Stretch]:
    """Yield the way from a node to the root, until it has so many messages."""
    count, before = 0, NEWEST
    while tip is not None and count < most:
        place = {"tip": tip, "before": before, "most": most - count}
        messages, newest, first, oldest, asks = connection.execute(_SUMMARY, place).fetchone()
        if oldest is None:  # there is no such event, or it is not older
            return
        yield Stretch(place, messages, newest, first, bool(asks))
        count, before = count + messages, oldest
        # A clone's path continues in its source. If the link to it is damaged, it may lead into any conversation.
        row = _intact_event(connection, oldest, pack)
        tip = None if row is None else row[PARENT]


def first_words(connection: Connection, tip: int | None, way: Sequence[Stretch], pack: Pack) -> str | None:
    """Return the beginning of what a user said first; ``None`` if that has no text, is damaged, or cannot be told.

    Args:
        connection: reads the database.
        tip: the newest node of the conversation.
        way: the way from there, up to ``MOST_MESSAGES``.
        pack: for the checksums.
    """
    words, first = None, _first(connection, tip, way, pack)
    for _ in range(_MOST_SUMMARIES):
        row = None if first is None else _intact_event(connection, first, pack)
        if row is None:
            break
        words = row[CONTENT]
        if not _is_summary(row):
            break
        first = _first_before(connection, row, pack)
    return None if words is None else words[:_WORDS]


def _is_summary(row: Sequence[Any]) -> bool:
    """Return whether a user's message takes the place of what was said before; older ones only say that we wrote it."""
    metadata = data_of(row[DATA]).get("provider_metadata")
    return isinstance(metadata, dict) and (metadata.get(COMPACTED) is True or metadata.get("provider") == "reel")


def _first_before(connection: Connection, row: Sequence[Any], pack: Pack) -> int | None:
    """Return the first message of a user in what a summary replaced; ``None`` if there is none.

    It mostly is the message that the summary is in the place of, so that nothing is walked.
    """
    agent = row[AGENT]
    back = connection.execute(_BACK, (agent, row[SEQ])).fetchone()
    if back is None:
        return None
    seq, data_json = back
    replaced = data_of(data_json).get("before")
    said = connection.execute(_SAID_AT, (agent, replaced)).fetchone() if type(replaced) is int else None
    if said is not None:
        return int(said[0])
    tip = tip_before(connection, agent, seq)
    return _first(connection, tip, list(stretches(connection, tip, MOST_MESSAGES, pack)), pack)


def _first(connection: Connection, tip: int | None, way: Sequence[Stretch], pack: Pack) -> int | None:
    """Return the first message of a user; of a long conversation the oldest known one if the first cannot be told."""
    first = _first_of_a_user(way)
    if tip is not None and sum(stretch.messages for stretch in way) >= MOST_MESSAGES:
        return _first_of_all(connection, tip, way[-1], pack) or first
    return first


def _first_of_a_user(way: Sequence[Stretch]) -> int | None:
    firsts = (stretch.first_of_a_user for stretch in reversed(way))
    return next((first for first in firsts if first is not None), None)


def _first_of_all(connection: Connection, tip: int, last: Stretch, pack: Pack) -> int | None:
    """Return the first message of a user in a long conversation; ``None`` if that cannot be told.

    Its newest milestones may not be written yet. Any of them leads to the first one, 5 us for each in between, and from
    there the way is walked.

    Args:
        connection: reads the database.
        tip: the newest node.
        last: a stretch of the way from there.
        pack: for the checksums.
    """
    (milestone,) = connection.execute(_OLDEST_MILESTONE, last.place).fetchone()
    if milestone is None:
        (milestone,) = connection.execute(_OLDEST_MILESTONE, {**last.place, "most": _MOST_WALKED}).fetchone()
    passed = [] if milestone is None else list(chain(connection, milestone, pack))
    way = list(stretches(connection, passed[-1].id if passed else tip, _MOST_WALKED, pack))
    is_whole = sum(stretch.messages for stretch in way) < _MOST_WALKED
    return _first_of_a_user(way) if is_whole else None


def _intact_event(connection: Connection, event_id: int, pack: Pack) -> list[Any] | None:
    """Return the columns of an event; ``None`` if it is damaged."""
    *row, stored = connection.execute(_EVENT, (event_id,)).fetchone()
    return row if is_intact(pack, row, stored) else None
