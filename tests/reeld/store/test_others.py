"""What other daemons wrote: an agent is given all of it, or none and must read its log."""

from contextlib import closing

import anyio
import pytest

from reeld.store.postgres.others import Others
from reeld.store.store import open_store
from tests.patience import PATIENCE
from tests.postgres import own_schema, server_connection
from tests.reeld.store.making import event, made, said
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
                end = others.look(connection, 2)
                await commit(store, said(1, event(3, content="b")))
                others.note([(1, 3, 1, size)], end)
                others.read(connection)
            found = others.take()

    assert {1} == found.rows
    assert told == [foreign.event_id for foreign in found.events]
