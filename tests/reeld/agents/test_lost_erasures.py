"""Erasures at the moment at which a server, or the connection to it, is lost: each is done, or its caller knows."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import anyio
import psycopg
import pytest

from reel.base.errors import Storage
from reeld.agents.erasing import complete
from reeld.agents.registry import Registry
from reeld.store.erasures import Change, Decision, Order
from reeld.store.redactions import Text
from reeld.store.store import Store, open_store
from reeld.store.transactions import Transaction
from tests.lossy import Lossy, lossy
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reeld.store.making import event, made
from tests.reeld.store.making import write as write_all

pytestmark = pytest.mark.slow

ORDER = Order("redact", "a", None, 1)
STATES = "SELECT state FROM erasures"
CONTENTS = "SELECT content FROM events WHERE id = 2"


class Behind(NamedTuple):
    """A store with a message to be redacted, what is between it and its server, and the server's URL."""

    store: Store
    lossy: Lossy
    url: str

    def rows(self, sql: str) -> list[object]:
        """Return the only value of each row of a query."""
        with psycopg.connect(self.url) as connection:
            return [value for (value,) in connection.execute(sql).fetchall()]

    async def stage(self) -> int:
        """Stage the redaction."""
        return await self.store.eraser.stage(ORDER, [Change(2, "gone")])

    async def decide(self, number: int) -> None:
        """Decide the redaction, without an event that says so."""
        await self.store.writer.commit(Transaction([], [], decision=Decision(number, 1)), lambda _: None)

    async def reconnect(self) -> None:
        """Lose all connections, and let a commit open a new one."""
        self.lossy.cut_all()
        await self.store.looks.look()


@pytest.fixture
async def behind() -> AsyncIterator[Behind]:
    """A store behind a socket that loses things."""
    with own_schema() as url, lossy(url) as between, anyio.fail_after(PATIENCE):
        async with open_store(between.url) as store:
            await write_all(store, made(1, event(2, content="secret")))
            yield Behind(store, between, url)


class Nothing:
    """What holds content besides the log: nothing."""

    @asynccontextmanager
    async def without(self, _events: Sequence[int], _instead: Mapping[int, Text]) -> AsyncIterator[None]:
        """Change the log."""
        yield

    def forget(self, rows: set[int], touches: Callable[[str], bool]) -> None:
        """Forget nothing."""

    async def forget_all(self) -> None:
        """Forget nothing."""


async def test_a_connection_that_is_lost_before_the_decision(behind: Behind) -> None:
    """The server may have lost what was staged, so nothing is decided."""
    async with behind.store.eraser.turn():
        number = await behind.stage()
        await behind.reconnect()
        with pytest.raises(Storage, match="the connection to the server was lost meanwhile"):
            await behind.decide(number)

    assert [] == behind.rows(STATES)
    assert ["secret"] == behind.rows(CONTENTS)


async def test_a_connection_that_is_lost_after_the_decision(behind: Behind) -> None:
    """The server may have lost the decision, so what is there now is looked up before anything is changed."""
    eraser = behind.store.eraser
    async with eraser.turn():
        await behind.decide(await behind.stage())
        await behind.reconnect()
        with pytest.raises(Storage, match="completed as soon as that is possible"):
            await eraser.apply()
    assert ["secret"] == behind.rows(CONTENTS)
    while eraser.is_stuck:
        with suppress(Storage):  # the server has not noticed yet that the first connection is gone
            async with eraser.second_turn():
                await eraser.apply()

    assert ["gone"] == behind.rows(CONTENTS)
    assert not eraser.is_stuck


@pytest.mark.parametrize("answer", [True, False])
async def test_a_decision_that_is_lost(behind: Behind, answer: bool) -> None:
    """If only the answer was lost, it is decided; if not, its caller is told, and nothing is."""
    eraser = behind.store.eraser
    async with eraser.turn():
        number = await behind.stage()
        behind.lossy.sign = b"COMMIT"  # what comes before it has answers of its own
        behind.lossy.lose_commit(answer=answer)
        if answer:
            await behind.decide(number)
        else:
            with pytest.raises(Storage, match="nothing was written"):
                await behind.decide(number)

    assert ["decided"] * answer == behind.rows(STATES)
    assert answer == eraser.is_stuck


async def test_an_end_that_a_server_has_lost(behind: Behind) -> None:
    """An erasure that was complete is completed again if the server came back without its last steps."""
    store = behind.store
    (checksum,) = behind.rows("SELECT checksum FROM events WHERE id = 2")
    async with store.eraser.turn():
        await behind.decide(await behind.stage())
        await store.eraser.apply()
    assert await store.eraser.clean()
    assert ["done"] == behind.rows(STATES)
    with psycopg.connect(behind.url) as connection:
        connection.execute("ALTER TABLE events DISABLE TRIGGER ALL")
        connection.execute("UPDATE events SET content = 'secret', checksum = %s WHERE id = 2", (checksum,))
        connection.execute("ALTER TABLE events ENABLE TRIGGER ALL")
        connection.execute("INSERT INTO erased_events (event, content, is_gone) VALUES (2, 'gone', false)")
        connection.execute("UPDATE erasures SET state = 'decided'")
    async with anyio.create_task_group() as tasks:
        await complete(Registry(store, tasks), Nothing())
        tasks.cancel_scope.cancel()

    assert ["gone"] == behind.rows(CONTENTS)
    assert ["done"] == behind.rows(STATES)
