"""The log in the order in which it was written: pages of an agent's history, and the events after a position."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.values import clean_deep
from reel.said.blocks import InvalidRecord
from reeld.core.events import Event, Pack, read
from reeld.core.paging import PackedPage, packed_page, take_page
from reeld.core.state import Profile
from reeld.protocol.params import Histories, History
from reeld.store.checksums import AGENT, EVENT_COLUMNS, ID, SEQ, is_intact
from reeld.store.connection import Connection, DatabaseError, Texts
from reeld.store.queries import profile_of, required
from reeld.store.spans import NEWEST, Lineage, Span, in_effect, whole
from reeld.store.states import origin_of

# What is read of an event for a page, with the place of its parent.
_SHOWN = f"""
    SELECT {EVENT_COLUMNS}, p.seq, pa.uid
    FROM events e LEFT JOIN events p ON p.id = e.parent LEFT JOIN agents pa ON pa.id = p.agent
"""
_BY_SEQ = "WHERE e.agent = ? AND e.seq > ? AND e.seq <= ?"
# The plus keeps SQLite from using the index on seqs.
_BY_REF = "WHERE e.agent = ? AND +e.seq > ? AND +e.seq <= ? AND e.ref IN (SELECT value FROM json_each(?))"
_KNOWN = """
    SELECT e.ref, e.seq FROM json_each(?) CROSS JOIN events e ON e.agent = ? AND e.ref = value WHERE e.seq <= ?
"""
_WITH_TOKENS = "e.kind IN ('assistant', 'tool_call') AND instr(e.data_json, 'usage') > 0"
_ROWS = "SELECT a.uid, a.id FROM json_each(?) CROSS JOIN agents a ON a.uid = value WHERE a.name <> ''"
_LOGGED = f"SELECT {EVENT_COLUMNS} FROM events e"
_LOGGED_OF_ONE = f"{_LOGGED} WHERE agent = :row AND seq > :place ORDER BY seq LIMIT :limit"
_LOGGED_OF_ALL = f"{_LOGGED} WHERE id > :place ORDER BY id LIMIT :limit"


class Logged(NamedTuple):
    """An event of the log, its agent and its id."""

    profile: Profile
    event_id: int
    event: Event


def ascending(rows: Iterable[Sequence[Any]], column: int, after: int) -> Iterator[Sequence[Any]]:
    """Yield rows whose numbers in a column are strictly ascending.

    After a lost write a page may be in a B-tree twice. Then SQLite returns rows repeatedly, as if they came later: a
    caller that keeps asking for the rows after the last one would never finish.

    Args:
        rows: the result of a query for numbers above ``after``, in order.
        column: the index of the number.
        after: the number before the first.

    Raises:
        DatabaseError: the rows are not in order, or repeated.
    """
    for row in rows:
        if row[column] <= after:
            raise DatabaseError(f"a page of the file is there twice: row {row[column]} comes after {after}")
        after = row[column]
        yield row


def history(connection: Connection, row: int, head: int, asked: History, pack: Pack) -> PackedPage:
    """Return a page of an agent's log up to its head, with the inherited past in front if asked for."""
    line = lineage(connection, row, head) if asked.inherited else [_own(connection, row, head)]
    spans = in_effect(connection, line) if asked.live else whole(line)
    if asked.before is not None:
        last = asked.before - 1
        spans = (span._replace(upto=min(span.upto, last)) for span in spans)
    spans = takewhile(lambda span: span.upto > asked.since, spans)
    selected = _Selected(asked.kinds, asked.refs, tokens=asked.tokens)
    since, wanted = asked.since, list[Span]()
    if asked.last is None:
        wanted = list(spans)
    else:
        seqs: list[int] = []
        for span in spans:
            wanted.append(span)
            seqs += selected.newest(connection, span, since, asked.last - len(seqs))
            if len(seqs) == asked.last:
                break
        if not seqs:
            wanted = []  # a long log without such events is not read again
        since = seqs[-1] - 1 if seqs else since
    events = _events(connection, wanted[::-1], since, asked.limit, selected, pack)
    return packed_page((pack(event) for event in events), asked.limit, asked.max_bytes)


def histories(connection: Connection, asked: Histories, pack: Pack) -> PackedPage:
    """Return a page of the logs of several agents, without what they inherited."""
    rows: dict[str, int] = dict(connection.execute(_ROWS, (Texts(asked.agents),)).fetchall())
    first = asked.agents[0] if asked.agents else ""
    spans = (
        Span(rows[uid], uid, asked.since if uid == first else 0, NEWEST)
        for uid in dict.fromkeys(asked.agents)
        if uid in rows
    )
    selected = _Selected(asked.kinds, None, tokens=asked.tokens)
    events = _events(connection, spans, 0, asked.limit, selected, pack)
    return packed_page((pack(event) for event in events), asked.limit, asked.max_bytes)


class _Selected:
    """The events of some kinds and references, or all.

    Args:
        kinds: the kinds; ``None`` for all.
        refs: the references; ``None`` for all events, also those without one.
        tokens: whether answers are selected as well that may say how many tokens they took.
    """

    def __init__(self, kinds: Sequence[str] | None, refs: Sequence[str] | None, *, tokens: bool) -> None:
        self._where = _BY_SEQ if refs is None else _BY_REF
        if kinds is not None:
            where = f"e.kind IN ({', '.join('?' * len(kinds))})"
            self._where += f" AND ({where} OR {_WITH_TOKENS})" if tokens else f" AND {where}"
        self._chosen = (*(() if refs is None else (Texts(refs),)), *(kinds or ()))

    def rows(self, connection: Connection, span: Span, since: int, limit: int) -> Iterator[Sequence[Any]]:
        """Yield the first events of a span after a seq."""
        found = self._find(connection, _SHOWN + self._where + " ORDER BY e.seq LIMIT ?", span, since, limit)
        yield from ascending(found, SEQ, max(since, span.after))

    def newest(self, connection: Connection, span: Span, since: int, limit: int) -> list[int]:
        """Return the seqs of the last events of a span after a seq, the newest first."""
        query = "SELECT e.seq FROM events e " + self._where + " ORDER BY e.seq DESC LIMIT ?"
        return [seq for (seq,) in self._find(connection, query, span, since, limit)]

    def _find(self, connection: Connection, query: str, span: Span, since: int, limit: int) -> Iterable[Sequence[Any]]:
        return connection.execute(query, (span.row, max(since, span.after), span.upto, *self._chosen, limit))


def _events(
    connection: Connection, spans: Iterable[Span], since: int, limit: int, selected: _Selected, pack: Pack
) -> Iterator[dict[str, Any]]:
    """Yield the selected events of spans after a seq: one more than fits on a page, if there are more."""
    for span in spans:
        for event in selected.rows(connection, span, since, limit + 1):
            yield _as_map(span.uid, event, pack)


def known(connection: Connection, row: int, refs: Iterable[str]) -> dict[str, int]:
    """Return the references that occur in an agent's past, the inherited one included, and the seq of each."""
    asked = Texts(refs)
    found: dict[str, int] = {}
    for owner, _, upto in lineage(connection, row, NEWEST):
        found.update(connection.execute(_KNOWN, (asked, owner, upto)).fetchall())
    return found


def _own(connection: Connection, row: int, head: int) -> tuple[int, str, int]:
    (uid,) = required(connection.execute("SELECT uid FROM agents WHERE id = ?", (row,)).fetchone())
    return row, uid, head


def lineage(connection: Connection, row: int, head: int) -> Lineage:
    """Return an agent and its sources, the oldest first, each with the last seq that belongs to its past.

    A position below an agent's first own seq is one in its source's past. So a clone that was taken there has less of
    that past than the agent has.
    """
    line: list[tuple[int, str, int]] = []
    owner = row
    while True:
        found = connection.execute("SELECT uid, source, source_at FROM agents WHERE id = ?", (owner,)).fetchone()
        uid, source, at = required(found)
        line.append((owner, uid, head))
        if source is None or at is None or source >= owner:  # the list of agents may be damaged
            break
        owner, head = source, min(at, head)
    return line[::-1]


def _as_map(uid: str, columns: Sequence[Any], pack: Pack) -> dict[str, Any]:
    *row, stored, parent_seq, parent_uid = columns
    event_id, _, seq, command, kind, content, data_json, _, client, time, *known = row
    origin = origin_of(known)
    event = {
        "id": event_id,
        "agent": uid,
        "seq": seq,
        "command": command,
        "kind": kind,
        "content": content,
        "data_json": data_json,
        "parent": None if parent_seq is None else {"agent": parent_uid, "seq": parent_seq},
        "time": time,
        "client": client,
        **({} if origin is None else origin.as_map()),
    }
    return event if is_intact(pack, row, stored) else {**clean_deep(event)[0], "damaged": True}


def after(connection: Connection, row: int | None, place: int, limit: int, max_bytes: int, pack: Pack) -> list[Logged]:
    """Return the events after a position: of one agent after a seq, or of all after an id.

    Args:
        row: the agent; ``None`` for all.
        place: the seq, or the id.
        limit: how many events at most.
        max_bytes: how many bytes their texts may have together; at least one event is returned.
    """
    query, column = (_LOGGED_OF_ALL, ID) if row is None else (_LOGGED_OF_ONE, SEQ)
    rows = connection.execute(query, {"row": row, "place": place, "limit": limit})
    events, _ = take_page(_logged(connection, ascending(rows, column, place), pack), limit, max_bytes, _text_size)
    return events


def _logged(connection: Connection, rows: Iterable[Sequence[Any]], pack: Pack) -> Iterator[Logged]:
    profiles: dict[int, Profile] = {}
    for *row, stored in rows:
        event_id, agent = row[ID], row[AGENT]
        if agent not in profiles:
            profiles[agent] = profile_of(connection, agent)
        event = (
            event_of(row, pack) if is_intact(pack, row, stored) else _event(row)._replace(content=None, data_json=None)
        )
        yield Logged(profiles[agent], event_id, event)


def _text_size(logged: Logged) -> int:
    return len(logged.event.content or "") + len(logged.event.data_json or "")


def _event(row: Sequence[Any]) -> Event:
    """Return the event of a row without its message."""
    _, _, seq, command, kind, content, data_json, parent, client, time, *known = row
    return Event(seq, command, kind, content, data_json, parent, time, client, origin=origin_of(known))


def event_of(row: Sequence[Any], pack: Pack) -> Event:
    """Return the event of a row; if its message cannot be read, it is a record without one, as everywhere.

    Args:
        row: its columns, without the checksum.
    """
    event = _event(row)
    with suppress(InvalidRecord):
        message, tools = read(pack, event.kind, event.content, event.data_json, event.seq, event.time, event.origin)
        return event._replace(message=message, tools=tools)
    return event


def time_at(connection: Connection, row: int | None, position: int) -> tuple[int, int | None]:
    """Return the newest seq of an agent, or the newest id of all, and the time of the event at one, if there is one."""
    if row is None:
        (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
        found = connection.execute("SELECT time FROM events WHERE id = ?", (position,)).fetchone()
    else:
        (newest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM events WHERE agent = ?", (row,)).fetchone()
        found = connection.execute("SELECT time FROM events WHERE agent = ? AND seq = ?", (row, position)).fetchone()
    return newest, None if found is None else int(found[0])
