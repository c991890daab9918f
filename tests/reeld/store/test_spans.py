"""Which events of a log are in effect, and pages of them from either end."""

import json
import random
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack import unpackb

from reel.wire.msgpack_codec import packer
from reeld.protocol.params import History
from reeld.store import history
from reeld.store.schema import MIGRATIONS, migrate
from tests.reeld.store.rows import Rows

pack = packer()


def page(rows: Rows, row: int = 1, head: int = 999, **more: Any) -> list[tuple[int, int]]:
    """Return the agents and seqs of a page of history."""
    found = history.history(rows.connection, row, head, History(**{"limit": 99, **more}), pack)
    return [(int(event["agent"], 16), event["seq"]) for event in map(unpackb, found.items)]


class Log:
    """Agents whose logs grow, and a list of what is in effect after each of their events."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.states: dict[int, list[list[tuple[int, int]]]] = {}
        # The ids of the messages.
        self.nodes: dict[tuple[int, int], int] = {}

    def agent(self, row: int, source: int | None = None, at: int = 0) -> None:
        self.rows.agent(row, source=source, at=at)
        self.states[row] = [[]] if source is None else self.states[source][: at + 1]
        if source is not None:
            self.take(row, source, at)

    def take(self, row: int, source: int, at: int) -> None:
        """Take over the state of another agent."""
        states = self.states[row]
        states += [states[-1]] * (at + 1 - len(states))
        self.rows.skip(row, at)
        self.event(row, "clone", {"from": f"{source:032x}", "at": at}, self.states[source][at])

    def event(
        self, row: int, kind: str, data: dict[str, Any] | None = None, to: list[tuple[int, int]] | None = None
    ) -> None:
        """Add an event; one that goes back, to a state, is not itself in effect."""
        states = self.states[row]
        before = states[-1] if to is None else to
        parent = next((self.nodes[event] for event in reversed(before) if event in self.nodes), None)
        made = self.rows.event(row, kind, None, None if data is None else json.dumps(data), parent=parent)
        if kind == "user":
            self.nodes[row, len(states)] = made
        states.append([*states[-1], (row, len(states))] if to is None else to)

    def step(self, row: int, chance: random.Random) -> None:
        states = self.states[row]
        at, live = chance.randrange(len(states)), states[-1]
        kind = chance.choice(["user", "note", "note", "user", "clear", "restore", "rewind", "replace"])
        seq = chance.choice(live)[1] if live else 0
        if kind == "clear":
            self.event(row, kind, None, [])
        elif kind == "restore":
            self.event(row, kind, {"to": at}, states[at])
        elif kind == "replace" and live:
            self.event(row, "rewind", {"before": seq}, [event for event in live if event[1] < seq])
        elif kind == "rewind" and live:
            self.event(row, kind, {"target": seq}, [event for event in live if event[1] <= seq])
        else:
            self.event(row, "user")

    def head(self, row: int) -> int:
        return len(self.states[row]) - 1


@given(seed=st.integers(0, 2**32))
def test_what_is_in_effect(seed: int) -> None:
    """An event is live if no jump went back before it, also in what a clone inherited; pages select among these.

    What a clone into an agent brought is not in its past, but the agent may go back in it.
    """
    chance = random.Random(seed)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS)
        log = Log(Rows(connection))
        log.agent(1)
        log.agent(3)
        for row in (1, 3):
            for _ in range(8):
                log.step(row, chance)
        if chance.random() < 0.5:
            log.take(1, 3, chance.randint(0, log.head(3)))
            log.step(1, chance)
        log.agent(2, source=1, at=(at := chance.randint(0, log.head(1))))
        for taker, source in ((1, 3), (2, 1), (2, 3)):
            for _ in range(3):
                log.step(taker, chance)
            if chance.random() < 0.6:
                log.take(taker, source, chance.randint(0, log.head(source)))
                for _ in range(3):
                    log.step(taker, chance)
        for row in (1, 2):
            known = [event for event in log.states[row][-1] if event[0] == row or (row == 2 and (1, at) >= event)]
            count, before = chance.randint(1, 4), chance.randint(1, 30)
            older = [event for event in known if event[1] < before]

            assert page(log.rows, row, live=True, inherited=True) == known
            assert page(log.rows, row, live=True) == [event for event in known if event[0] == row]
            assert page(log.rows, row, live=True, inherited=True, before=before) == older
            assert page(log.rows, row, live=True, inherited=True, before=before, last=count) == older[-count:]


@pytest.mark.parametrize("jump", [None, ("clone", '{"from": "x", "at": 0}'), ("rewind", '{"target": 2}')])
def test_a_page_of_a_long_log(jump: tuple[str, str] | None) -> None:
    """What is in effect is found in as many steps as in a short log, with jumps and without."""
    steps: list[int] = []
    for length in (30, 3000):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            migrate(connection, MIGRATIONS)
            rows = Rows(connection)
            rows.agent(1)
            for _ in range(length):
                rows.event(1)
            if jump is not None:
                rows.event(1, jump[0], None, jump[1])
                for _ in range(length):
                    rows.event(1, "note")
            steps.append(0)

            def count() -> None:
                steps[-1] += 1

            connection.set_progress_handler(count, 1)
            assert 5 == len(page(rows, live=True, head=9999, last=5))
    assert steps[1] == pytest.approx(steps[0], rel=0.2)


def test_the_newest_of_a_kind_that_a_long_log_does_not_have() -> None:
    """They are looked for once, from the end, and only after the seq that is asked for."""
    steps: dict[tuple[int, int], int] = {}
    for length in (300, 3000):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            migrate(connection, MIGRATIONS)
            rows = Rows(connection)
            rows.agent(1)
            for _ in range(length):
                rows.event(1)
            for since in (0, length - 100):
                key = length, since and 1
                steps[key] = 0

                def count(key: tuple[int, int] = key) -> None:
                    steps[key] += 1

                connection.set_progress_handler(count, 1)
                assert [] == page(rows, head=length, since=since, last=5, kinds=["note"])
                assert [] == page(rows, live=True, head=length, since=since, last=5, kinds=["note"])
                connection.set_progress_handler(None, 1)
    assert steps[3000, 1] == pytest.approx(steps[300, 1], rel=0.2)
    assert steps[3000, 0] < 15 * 3000  # 10 for an event of both pages; 20 if it is read again


def test_pages_from_the_end(rows: Rows) -> None:
    """The newest events of some kinds, or before a seq, come in the order of their seqs."""
    rows.agent(1)
    for kind in ("user", "note", "user", "note", "user"):
        rows.event(1, kind)
    assert [(1, 4), (1, 5)] == page(rows, last=2)
    assert [(1, 4)] == page(rows, last=1, kinds=["note"])
    assert [(1, 2), (1, 3)] == page(rows, last=2, before=4)
    assert [(1, 4), (1, 5)] == page(rows, last=9, since=3)
    assert [] == page(rows, last=2, kinds=["mark"])
    assert [(1, 4)] == page(rows, last=2, limit=1)


def test_a_clone_of_another_ends_what_is_inherited(rows: Rows) -> None:
    """Where the state of an agent that is not in the past was taken over, only what came after it is known."""
    rows.agent(1)
    rows.event(1, "note")
    rows.event(1, "clone", None, '{"from": "x", "at": 9}')
    rows.event(1, "note")
    assert [(1, 3)] == page(rows, live=True)


def test_a_jump_that_cannot_be_read_takes_everything_back(rows: Rows) -> None:
    """What is live is not guessed from a damaged event, nor does one that goes ahead hold up anything."""
    rows.agent(1)
    rows.event(1, "note")
    rows.event(1, "restore", None, '{"to": "x"}')
    rows.event(1, "note")
    assert [(1, 3)] == page(rows, live=True)
    rows.event(1, "restore", None, '{"to": 99}')
    assert [(1, 3)] == page(rows, live=True)


def test_what_comes_back_by_way_of_a_clone(rows: Rows) -> None:
    """Where an agent takes over the state of its own clone, what that had from the agent is in effect again."""
    rows.agent(1)
    rows.event(1, "note")
    kept = rows.event(1)
    rows.event(1)
    rows.agent(2, source=1, at=2)
    rows.event(2, "clone", None, f'{{"from": "{1:032x}", "at": 2}}', parent=kept)
    said = rows.event(2)
    rows.event(1, "clone", None, f'{{"from": "{2:032x}", "at": 4}}', parent=said)
    rows.event(1)
    assert [(1, 1), (1, 2), (1, 5)] == page(rows, live=True)
    assert [(1, 2), (1, 5)] == page(rows, live=True, last=2)


@pytest.mark.parametrize("last", [5, None])
def test_a_page_after_many_jumps(last: int | None) -> None:
    """A page of what is newest takes as many steps as if the agent had gone back only once."""
    steps: list[int] = []
    for rewinds in (20, 1000):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            migrate(connection, MIGRATIONS)
            rows = Rows(connection)
            rows.agent(1)
            for seq in range(1, 3 * rewinds, 3):
                rows.event(1)
                rows.event(1)
                rows.event(1, "rewind", None, f'{{"target": {seq}}}')
            steps.append(0)

            def count() -> None:
                steps[-1] += 1

            connection.set_progress_handler(count, 1)
            head = 3 * rewinds
            found = page(rows, live=True, head=head, last=last, since=0 if last else head - 15)
            assert [seq for _, seq in found] == [*range(head - 14, head, 3)]
    assert steps[1] == pytest.approx(steps[0], rel=0.3)
