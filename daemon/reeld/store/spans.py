"""The parts of an agent's past that a page of its history covers: spans of seqs, each in one agent's log.

Between two jumps (a clear, a rewind, a restore or a clone) a log only grows. So the events in effect are a few spans:
from the last jump to the end; before that, up to the target of that jump from the jump that precedes the target; and so
on.

A rewind goes to a place in the conversation, which may have come with a ``clone`` into the agent, or into one that it
inherits from. The seqs of such a place are those of another log. So the way back then leads through that clone.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reeld.core.events import data_of
from reeld.store.connection import Connection
from reeld.store.schema import JUMPS

_JUMP = f"""
    SELECT seq, kind, data_json FROM events WHERE agent = ? AND seq <= ? AND {JUMPS} ORDER BY seq DESC LIMIT 1
"""  # noqa: S608 - our own words
_FIRST = "SELECT coalesce(min(seq), 0) FROM events WHERE agent = ?"
# Both conditions: SQLite does not see that the second one implies the first, which names the index.
_TOOK_OVER = f"""
    SELECT 1 FROM events WHERE agent = ? AND seq > ? AND seq < ? AND {JUMPS} AND kind = 'clone' LIMIT 1
"""  # noqa: S608 - our own words


class Span(NamedTuple):
    """The events of an agent after a seq, up to another.

    Args:
        row: the agent's number in the database.
        uid: its id.
        after: the seq before the first.
        upto: the last seq.
    """

    row: int
    uid: str
    after: int
    upto: int


class _Jump(NamedTuple):
    """The target of a jump: a seq.

    ``into`` is the id of the agent that has it, if that is another one. With ``is_rewind`` it is a place in the
    conversation.
    """

    seq: int
    to: int
    into: str | None
    is_rewind: bool


def whole(line: Sequence[tuple[int, str, int]]) -> list[Span]:
    """Return the spans of whole logs, each up to its last seq."""
    return [Span(row, uid, 0, upto) for row, uid, upto in line]


def in_effect(connection: Connection, line: Sequence[tuple[int, str, int]]) -> list[Span]:
    """Return the spans of events that no jump has undone, the oldest first.

    Args:
        connection: a reading connection.
        line: the agents that it inherits from and the agent itself, each with its id and the last seq that belongs to
            the past.
    """
    return list(_back(connection, line))[::-1]


def _back(connection: Connection, line: Sequence[tuple[int, str, int]]) -> Iterator[Span]:
    # The events in effect are those in effect at `last`, but not those after `cap`.
    last = cap = line[-1][2]
    uids = [uid for _, uid, _ in line]
    for number in range(len(line) - 1, -1, -1):
        row, uid, upto = line[number]
        cap = min(cap, upto)
        (first,) = connection.execute(_FIRST, (row,)).fetchone()
        while last > 0:
            jump = _newest_jump(connection, row, last)
            if jump is None:
                yield Span(row, uid, 0, min(last, cap))
                break
            yield Span(row, uid, jump.seq, min(last, cap))
            if jump.is_rewind and (jump.to < first or _took_over(connection, row, jump.to, jump.seq)):
                last, cap = jump.seq - 1, min(cap, jump.to)
                continue
            last = min(jump.to, jump.seq - 1)  # never ahead, whatever a damaged row says
            if jump.into is not None:
                if number == 0 or jump.into != uids[number - 1]:
                    return
                break


def _newest_jump(connection: Connection, row: int, last: int) -> _Jump | None:
    """Return the newest jump of an agent up to a seq; one that cannot be read goes back to the beginning."""
    found = connection.execute(_JUMP, (row, last)).fetchone()
    if found is None:
        return None
    seq, kind, data_json = found
    data = data_of(data_json)
    places = {"restore": data.get("to"), "rewind": data.get("target"), "clone": data.get("at")}
    before, to = data.get("before"), places.get(kind)
    if type(before) is int:
        to = before - 1
    into = str(data.get("from")) if kind == "clone" else None
    return _Jump(seq, to if type(to) is int else 0, into, kind == "rewind")


def _took_over(connection: Connection, row: int, after: int, before: int) -> bool:
    """Return whether an agent took over a state between two seqs."""
    return connection.execute(_TOOK_OVER, (row, after, before)).fetchone() is not None
