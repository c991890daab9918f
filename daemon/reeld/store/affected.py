"""Determines which agents an erasure affects: those that have one of the erased events in their past."""

from collections.abc import Sequence
from typing import Protocol

from reeld.store.connection import Connection
from reeld.store.spans import NEWEST

# The agents that took over a state with `clone` into them, and the event that it ends with.
_TAKERS = """
    SELECT c.agent, c.seq, p.agent, p.seq FROM events c JOIN events p ON p.id = c.parent
    WHERE c.kind = 'clone' AND c.parent >= ?
"""
_CLONES = "SELECT id, source_at FROM agents WHERE source = ?"


class Located(Protocol):
    """An event, and its place."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def owner(self) -> int:
        """The row of its agent."""

    @property
    def seq(self) -> int:
        """Its seq."""


def affected(connection: Connection, found: Sequence[Located]) -> set[int]:
    """Return the rows of the agents whose past has one of some events."""
    # The seq from which on an agent's past contains such events; and the agents whose clones are still to be visited.
    first: dict[int, int] = {}
    waiting: list[int] = []

    def note(agent: int, seq: int) -> None:
        if seq < first.get(agent, NEWEST):
            first[agent] = seq
            waiting.append(agent)

    takers: dict[int, list[tuple[int, int, int]]] = {}
    if found:
        for taker, seq, source, at in connection.execute(_TAKERS, (min(each.id for each in found),)):
            takers.setdefault(source, []).append((taker, seq, at))
    for each in found:
        note(each.owner, each.seq)
    while waiting:
        agent = waiting.pop()
        for taker, seq, at in takers.get(agent, ()):
            if first[agent] <= at:
                note(taker, seq)
        for clone, at in connection.execute(_CLONES, (agent,)).fetchall():
            if first[agent] <= at:
                note(clone, first[agent])
    return set(first)
