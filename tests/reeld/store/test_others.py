"""What other daemons wrote: this one is told to which agents before it goes on."""

from contextlib import closing
from functools import partial

import anyio
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.wire.msgpack_codec import packer
from reeld.store import history
from reeld.store.commit_faults import KeyTakenError, OvertakenError
from reeld.store.postgres.writer import ServerEventWriter
from reeld.store.store import open_store
from reeld.store.transactions import Outcome
from tests.lossy import lossy
from tests.patience import PATIENCE
from tests.postgres import own_schema, server_connection
from tests.reeld.store.making import event, key, made, said
from tests.reeld.store.test_lost_answers import commit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("looks", [False, True])
async def test_every_agent_is_told(looks: bool) -> None:
    """Whether a look or a commit finds out, all agents to which others wrote are told, and the newest event."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store, open_store(url) as other:
            for row in (1, 2, 3):
                await commit(store, made(row))
            await other.looks.look()
            told: list[tuple[frozenset[int], int]] = []
            store.writer.report(lambda moved, newest: told.append((moved, newest)))
            for written in (said(2, event(2)), said(1, event(2)), said(2, event(3))):
                await commit(other, written)
            for seq in (2, 3):
                await (store.looks.look() if looks else commit(store, said(3, event(seq))))

    assert {1, 2} == frozenset().union(*(moved for moved, _ in told))
    assert 6 <= told[-1][1]


async def test_everything_is_told_in_the_order_of_ids() -> None:
    """Also if transactions are written one by one, because one of them is to blame, while others write."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store, open_store(url) as other, anyio.create_task_group() as tasks:
            for row in range(1, 32):
                await commit(store, made(row)._replace(keys=[key("taken", row)] if row == 1 else []))
            await other.looks.look()
            # The ids of own events, and 0 whenever others have written.
            told: list[int] = []
            refused: list[Outcome] = []
            settled = anyio.Event()

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

            store.writer.report(lambda _moved, _newest: told.append(0))
            tasks.start_soon(write_elsewhere)
            for row in range(2, 32):
                written = said(row, event(2))
                store.writer.submit(written._replace(keys=[key("taken", row)] if row in (2, 31) else []), settle)
            await settled.wait()
            tasks.cancel_scope.cancel()
        async with open_store(url) as store:
            logged = await store.read_long(history.after, None, 31, 1000, 1 << 20, packer())
            of_others = {each.event_id for each in logged if each.profile.row == 1}

    own = [each for each in told if each]
    assert [KeyTakenError] * 2 == [type(error) for error in refused]
    assert 28 == len(own)
    assert sorted(own) == own
    for before, after in zip([31, *own], own, strict=False):
        if of_others & {*range(before, after)}:
            assert 0 == told[told.index(after) - 1], f"{after} came before what others wrote after {before}"


async def test_only_what_is_about_others_is_overtaken() -> None:
    """Of a commit that finds out that others wrote to an agent, only the transaction about this agent is refused."""
    with own_schema() as url, closing(server_connection(url)) as connection, anyio.fail_after(PATIENCE):
        async with open_store(url) as store:
            for row in (1, 2, 3):
                await commit(store, made(row))
            other = ServerEventWriter(connection, "")
            other.daemon = store.channel.daemon if store.channel else 0  # as if its own, so that no notification helps
            (written,) = other.commit(connection, [said(2, event(2))])
            outcomes: dict[int, Outcome] = {}
            for row in (1, 2, 3):
                store.writer.submit(said(row, event(5)), partial(outcomes.__setitem__, row))
            await store.looks.look()

    assert [4] == written
    assert {1: list, 2: OvertakenError, 3: list} == {row: type(outcome) for row, outcome in outcomes.items()}


async def test_what_waits_behind_a_look_is_overtaken() -> None:
    """A transaction that waits while a look finds out that others wrote to its agent is refused, too."""
    with own_schema() as url, lossy(url) as between, anyio.fail_after(PATIENCE):
        async with open_store(between.url) as store, open_store(url) as other:
            for row in (1, 2):
                await commit(store, made(row))
            await other.looks.look()
            between.is_deaf = True
            between.is_open.clear()
            store.looks.hear()
            await wait_all_tasks_blocked()  # the look has begun
            outcomes: dict[int, Outcome] = {}
            for row in (1, 2):
                store.writer.submit(said(row, event(5)), partial(outcomes.__setitem__, row))
            await wait_all_tasks_blocked()
            await commit(other, said(2, event(2)))
            between.is_open.set()
            await store.looks.look()

    assert {1: list, 2: OvertakenError} == {row: type(outcome) for row, outcome in outcomes.items()}
