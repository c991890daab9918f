"""What other daemons wrote: an agent is given all of it, or none and must read its log."""

from contextlib import closing

import anyio
import pytest

from reeld.store.elsewhere import Elsewhere
from reeld.store.postgres.others import Others
from reeld.store.store import open_store
from reeld.store.transactions import KeyTakenError, Outcome
from tests.patience import PATIENCE
from tests.postgres import own_schema, server_connection
from tests.reeld.store.making import event, key, made, said
from tests.reeld.store.test_lost_answers import commit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("size", "told"), [(1, [2, 3]), (1 << 30, [])])
async def test_all_of_an_agent_or_none(size: int, told: list[int]) -> None:
    """If a later part of what is new of an agent is too much to be read, the part before it is not given either."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store:
            await commit(store, made(1))
            await commit(store, said(1, event(2, content="a")))
            others = Others()
            others.is_used = lambda _: True
            with closing(server_connection(url)) as connection:
                end = others.note(others.ask(connection, 2).fetchall(), 2)
                await commit(store, said(1, event(3, content="b")))
                others.note([(1, 3, 1, size)], end)
                others.read(connection)
            found = others.take()

    assert {1} == found.rows
    assert told == [foreign.event_id for foreign in found.events]


async def test_everything_is_told_in_the_order_of_ids() -> None:
    """Also if transactions are written one by one, because one of them is to blame, while others write."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store, open_store(url) as other, anyio.create_task_group() as tasks:
            for row in range(1, 32):
                await commit(store, made(row)._replace(keys=[key("taken", row)] if row == 1 else []))
            told: list[int] = []
            refused: list[Outcome] = []
            settled = anyio.Event()

            def on_elsewhere(elsewhere: Elsewhere, _: int) -> None:
                told.extend(foreign.event_id for foreign in elsewhere.events)

            def settle(outcome: Outcome) -> None:
                if isinstance(outcome, list):
                    told.extend(outcome)
                else:
                    refused.append(outcome)
                if len(refused) == 2:
                    settled.set()

            async def write_elsewhere() -> None:
                for seq in range(2, 10_000):
                    await commit(other, said(1, event(seq)))
                    await anyio.lowlevel.checkpoint()  # a commit is not cancelled

            store.writer.follow(lambda _: True, on_elsewhere)
            tasks.start_soon(write_elsewhere)
            for row in range(2, 32):
                written = said(row, event(2))
                store.submit(written._replace(keys=[key("taken", row)] if row in (2, 31) else []), settle)
            await settled.wait()
            tasks.cancel_scope.cancel()

    assert [KeyTakenError] * 2 == [type(error) for error in refused]
    assert 28 < len(told)
    assert sorted(told) == told
