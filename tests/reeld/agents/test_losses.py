"""What agents do if the server has lost events: nothing that was under way is done over another state."""

import anyio
import pytest

from reeld.agents import tree
from reeld.agents.executor import Command, Work, job
from reeld.agents.idempotency import CommandOptions
from reeld.agents.registry import Registry
from reeld.core.events import UNUSED
from reeld.core.stage import Reply
from reeld.protocol.params import Nothing
from reeld.store.loss import Forgotten
from reeld.store.store import open_store
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reeld.agents.direct_client import DirectClient, shown
from tests.reeld.store.making import lose_newest

pytestmark = pytest.mark.slow


async def test_what_is_under_way_is_refused() -> None:
    """An undo that has begun would take back another command, and who waits behind it has not seen the loss."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store, anyio.create_task_group() as tasks:
            client = DirectClient(Registry(store, tasks), tasks)
            await client.create("a")
            await client.add("a", "kept")
            await client.add("a", "lost")
            agent, gate, done = await client.registry.find("a"), anyio.Event(), anyio.Event()
            waited: list[object] = []
            undone: list[object] = []

            async def undo(work: Work) -> Reply:
                await gate.wait()
                return await tree.undo(work, Nothing())

            def answer(outcome: object) -> None:
                undone.append(outcome)
                done.set()

            agent.post(job(client.registry, CommandOptions(), Command(undo), answer))
            client.post(agent, "waits", answer=waited.append)
            client.registry.pump()
            await anyio.wait_all_tasks_blocked()
            lose_newest(url)
            await store.be_current()
            gate.set()
            await done.wait()

            assert [Forgotten] * 2 == [type(outcome) for outcome in (*waited, *undone)]
            added = await client.add("a", "new")
            assert 5 + UNUSED == added["head"]  # behind the event that says what is lost
            assert ["kept", "new"] == shown((await client.registry.find("a")).committed.conversation)
            tasks.cancel_scope.cancel()
