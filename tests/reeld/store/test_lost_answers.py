"""Commits to a PostgreSQL server that does not answer, is lost before it does, or refuses them."""

from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import NamedTuple

import anyio
import pytest

from reel.base.errors import Storage
from reel.wire.msgpack_codec import packer
from reeld.store import history, looks
from reeld.store.commit_faults import CommitInDoubt, OvertakenError
from reeld.store.postgres import writer
from reeld.store.postgres.writer import ServerEventWriter
from reeld.store.store import Store, open_store
from reeld.store.transactions import Transaction
from tests.lossy import Lossy, lossy
from tests.patience import PATIENCE
from tests.postgres import own_schema, server_connection
from tests.reeld.store.making import event, made, said

pytestmark = pytest.mark.slow


class Behind(NamedTuple):
    """A store, what is between it and its server, and the server's URL."""

    store: Store
    lossy: Lossy
    url: str


@pytest.fixture
async def behind() -> AsyncIterator[Behind]:
    """A store that has one agent, behind a socket that loses things."""
    with own_schema() as url, lossy(url) as between, anyio.fail_after(PATIENCE):
        async with open_store(between.url) as store:
            await commit(store, made(1))
            yield Behind(store, between, url)


async def commit(store: Store, transaction: Transaction) -> list[int]:
    """Write a transaction; return the ids of its first events."""
    firsts: list[int] = []
    await store.writer.commit(transaction, firsts.extend)
    return firsts


def of_another(url: str, transaction: Transaction) -> Callable[[], None]:
    """Return a function that writes a transaction as another daemon does."""

    def do() -> None:
        with closing(server_connection(url)) as other:
            (outcome,) = ServerEventWriter(other, "").commit(other, [transaction])
            assert not isinstance(outcome, Exception), outcome

    return do


async def texts(store: Store) -> list[tuple[int, str | None]]:
    """Return the ids and the texts of all events."""
    return [
        (one.event_id, one.event.content)
        for one in await store.read_long(history.after, None, 0, 100, 1 << 20, packer())
    ]


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("origin", [None, (1, "ref")])
@pytest.mark.parametrize("locks", [True, False])
async def test_a_lost_commit_is_done_once(
    behind: Behind, answer: bool, origin: tuple[int, str] | None, locks: bool
) -> None:
    """Whether the commit or only its answer was lost, it is there once, and its caller gets the usual outcome."""
    store, between, _ = behind
    between.lose_commit(answer=answer)
    firsts = await commit(store, said(1, event(2, content="a", origin=origin))._replace(is_probe=locks))
    after = await commit(store, said(1, event(3, content="b")))

    assert [2, 3] == firsts + after
    assert [(1, None), (2, "a"), (3, "b")] == await texts(store)


async def test_others_write_before_it_is_done_again(behind: Behind) -> None:
    """If a commit was lost and others have written to the agent since, it is refused as one over an old state."""
    store, between, url = behind
    between.lose_commit(of_another(url, said(1, event(2, content="other"))), answer=False)
    with pytest.raises(OvertakenError):
        await commit(store, said(1, event(2, content="own")))

    assert [(1, None), (2, "other")] == await texts(store)


async def test_others_write_after_it(behind: Behind) -> None:
    """If only the answer was lost, what others have written since makes no difference."""
    store, between, url = behind
    between.lose_commit(of_another(url, said(1, event(3, content="other"))), answer=True)
    firsts = await commit(store, said(1, event(2, content="own")))
    with pytest.raises(OvertakenError):
        await commit(store, said(1, event(3, content="late")))

    assert [2] == firsts
    assert [(1, None), (2, "own"), (3, "other")] == await texts(store)


async def test_commits_for_other_agents_beside_it(behind: Behind) -> None:
    """Of transactions that are committed together, those about agents that nobody moved are written."""
    store, between, url = behind
    await commit(store, made(2))
    between.lose_commit(of_another(url, said(1, event(2, content="other"))), answer=False)
    outcomes: dict[int, object] = {}
    async with anyio.create_task_group() as tasks:
        for row in (1, 2):

            async def one(row: int) -> None:
                try:
                    outcomes[row] = await commit(store, said(row, event(2, content=f"{row}")))
                except OvertakenError:
                    outcomes[row] = "diverged"

            tasks.start_soon(one, row)

    assert {1: "diverged", 2: [4]} == outcomes
    assert [(1, None), (2, None), (3, "other"), (4, "2")] == await texts(store)


@pytest.mark.parametrize("answer", [True, False])
async def test_the_server_does_not_come_back(behind: Behind, answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the outcome is in doubt; later commands go on when the server is there."""
    store, between, _ = behind
    monkeypatch.setattr(writer, "_GIVES_UP", 0.01)

    def go_away() -> None:
        between.refuses = True

    between.lose_commit(go_away, answer=answer)
    with pytest.raises(CommitInDoubt, match="retry with the same key"):
        await commit(store, said(1, event(2, content="a")))
    with pytest.raises(Storage, match="nothing was written"):
        await commit(store, made(2))
    between.refuses = False
    await commit(store, made(2))

    assert [(2, "a")] * answer == [(number, text) for number, text in await texts(store) if text]


async def test_a_look_at_the_log_that_fails_is_not_over(behind: Behind) -> None:
    """Who must know what others have written is not told that there is nothing while the server cannot be asked."""
    store, between, url = behind
    of_another(url, said(1, event(2, content="other")))()
    between.refuses = True
    between.cut_all()
    with pytest.raises(Storage):
        await store.looks.look()
    between.refuses = False
    await store.be_current()

    assert 2 == store.writer.newest


async def test_a_server_that_hangs(behind: Behind, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server does not answer, nobody is told what may be old, and a commit waits; then it is done once."""
    store, between, _ = behind
    monkeypatch.setattr(looks, "_ANSWERS", 0.01)
    between.is_open.clear()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(commit, store, said(1, event(2, content="a")))
        with pytest.raises(Storage, match="has not answered"):
            await store.be_current()
        between.is_open.set()
    monkeypatch.undo()
    await store.be_current()

    assert [(1, None), (2, "a")] == await texts(store)


async def test_a_commit_that_takes_too_long_for_the_server() -> None:
    """It is refused, and the next one is written: a time-out of the server's ends no more than one commit."""
    with own_schema() as url, closing(server_connection(url)) as other, anyio.fail_after(PATIENCE):
        async with open_store(url) as store:
            await commit(store, made(1))
            # Only now: no other statement may fail because the machine is busy.
            await store._database.run(lambda connection: connection.execute("SET statement_timeout = 500"))
            other.send("BEGIN")
            other.send("SELECT newest FROM log FOR UPDATE")  # a daemon that hangs in its transaction
            with pytest.raises(Storage, match=r"nothing was written: .*statement timeout"):
                await commit(store, said(1, event(2, content="a")))
            other.send("ROLLBACK")
            await store._database.run(lambda connection: connection.execute("SET statement_timeout = 0"))
            await commit(store, said(1, event(2, content="b")))

            assert [(1, None), (2, "b")] == await texts(store)


async def test_a_role_whose_transactions_are_serializable() -> None:
    """Its commit does not fail because another daemon's was faster, whatever the role is set to."""
    with own_schema() as url, closing(server_connection(url)) as other, anyio.fail_after(PATIENCE):
        async with open_store(f"{url}%20-cdefault_transaction_isolation%3Dserializable") as store:
            await commit(store, made(1))
            other.send("BEGIN")
            other.send("UPDATE log SET newest = newest")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(commit, store, said(1, event(2, content="a")))
                while not other.send("SELECT FROM pg_locks WHERE NOT granted").rowcount:  # noqa: ASYNC110 - no event
                    await anyio.sleep(0.01)  # between two looks
                other.send("COMMIT")

            assert [(1, None), (2, "a")] == await texts(store)
