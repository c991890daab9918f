"""Several daemons on one server: each takes any command for any agent, and all say the same."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from reel import aio
from reel.aio.client import Client
from reel.base.errors import Conflict, Exists, NotFound, ReelError, Storage
from reel.wire.pushes import DraftPush, EventPush
from reeld.agents.asking import drain
from reeld.agents.clock import now
from reeld.agents.notice import PassOptions
from reeld.agents.pruning_old import PruningOld
from reeld.agents.registry import Registry
from reeld.agents.retaining import Retaining
from reeld.backups.schedule import Schedule
from reeld.backups.scheduled import ScheduledBackups
from reeld.backups.service import Backups
from reeld.search.service import Search
from reeld.serving.call import Services
from reeld.serving.drafts import Drafts
from reeld.serving.erasing_chores import Holders
from reeld.serving.listener import open_listener
from reeld.serving.long_work import LongWork
from reeld.serving.neighbours import keep_in_touch
from reeld.serving.renderings import RenderCache, UnansweredRenderings
from reeld.serving.server import Server
from reeld.store.connection import Error
from reeld.store.retention import Noted, Retention, Subject, note, noted
from reeld.store.store import Store, open_store
from tests.daemon import short_directory
from tests.lossy import lossy
from tests.patience import PATIENCE
from tests.postgres import own_schema

pytestmark = pytest.mark.slow


@asynccontextmanager
async def daemon(url: str, path: str) -> AsyncIterator[Services]:
    """Serve a database on a server at the path of a socket."""
    async with open_store(url) as store, anyio.create_task_group() as tasks:
        registry = Registry(store, tasks)
        backups = Backups(store)
        services = Services(
            registry,
            store,
            Drafts(registry.bus),
            lambda: None,
            dict,
            LongWork(),
            RenderCache(),
            UnansweredRenderings(),
            Search(store),
            list,
            backups,
            ScheduledBackups(backups, Schedule(), store.path, now),
            Retaining(Retention()),
            PruningOld(Retention()),
        )
        server = Server()
        tasks.start_soon(services.drafts.run)
        tasks.start_soon(keep_in_touch, store.channel, registry.bus, services.drafts)
        async with open_listener(path) as listening:
            await tasks.start(server.run, [listening], services)
            yield services
            await server.close()
        await drain(registry)
        tasks.cancel_scope.cancel()


@pytest.fixture
async def clients() -> AsyncIterator[list[Client]]:
    """A client of each of three daemons."""
    with own_schema() as url, anyio.fail_after(PATIENCE), short_directory() as directory:
        async with AsyncExitStack() as stack:
            paths = [str(Path(directory) / f"s{number}") for number in range(3)]
            for path in paths:
                await stack.enter_async_context(daemon(url, path))
            yield [await stack.enter_async_context(aio.connect(path)) for path in paths]


def texts(page: Any) -> list[str]:
    """Return the texts of a page of messages."""
    return [message["content"][0]["text"] for message in page.messages]


async def test_what_one_wrote_the_others_read(clients: list[Client]) -> None:
    """What was acknowledged by one daemon is in what the next one answers, whichever it is."""
    await clients[0].create("demo", system="Be brief.")
    for number in range(12):
        await clients[number % 3].add("demo", f"{number}")
        reader = clients[(number + 1) % 3]

        assert [str(each) for each in range(number + 1)] == texts(await reader.messages("demo"))
        assert "Be brief." == (await reader.agent("demo")).system


async def test_all_write_to_one_agent_at_once(clients: list[Client]) -> None:
    """Every command is carried out once, whoever writes at the same moment, and each follower is told of it once."""
    await clients[0].create("demo")
    heard: list[list[int]] = [[], [], []]

    async def write(client: Client, number: int) -> None:
        for step in range(20):
            await client.add("demo", f"{number}.{step}")

    async def follow(number: int, address: str | None, *, task_status: Any) -> None:
        async with clients[number].subscribe(address) as subscription:
            task_status.started()
            async for push in subscription:
                assert isinstance(push, EventPush)
                heard[number].append(push.seq)
                if push.seq == 61:
                    return

    async with anyio.create_task_group() as tasks:
        for number, address in enumerate(("demo", None, "demo")):
            await tasks.start(follow, number, address)
        for number, client in enumerate(clients):
            tasks.start_soon(write, client, number)
    found = [texts(await client.messages("demo")) for client in clients]

    assert [[*range(2, 62)]] * 3 == heard
    assert found[0] == found[1] == found[2]
    for number in range(3):
        assert [f"{number}.{step}" for step in range(20)] == [text for text in found[0] if text[0] == str(number)]


async def test_commands_that_look_at_the_past(clients: list[Client]) -> None:
    """Undo, mark, rewind, clear and clone of one daemon are about what the others wrote a moment ago."""
    one, two, three = clients
    await one.create("demo")
    await two.add("demo", "a")
    await three.mark("demo", "here")
    await one.add("demo", "b")
    await two.undo("demo")
    assert ["a"] == texts(await three.messages("demo"))
    await three.redo("demo")
    assert ["a", "b"] == texts(await one.messages("demo"))
    await one.clone("demo", "copy")
    await two.rewind("demo", "here")
    assert ["a"] == texts(await one.messages("demo"))
    await three.clear("demo")
    assert [] == texts(await two.messages("demo"))
    assert ["a", "b"] == texts(await two.messages("copy"))
    await three.replay("copy")


def thoughts(body: str) -> list[str]:
    """Return the thinking that a request of Anthropic's has."""
    blocks = [block for said in json.loads(body)["messages"] for block in said["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


async def test_thinking_that_is_bound_is_rendered_by_one_and_answered_through_another(clients: list[Client]) -> None:
    """What a request was made of comes back with its answer, and is in the log: no daemon has to remember it."""
    model = "claude-opus-5-5"
    extra = {"model": model, "max_tokens": 9}
    await clients[0].create("demo", system="Be brief.")
    for number, words in enumerate(("one", "two", "unknown", "three")):
        asked, answered = clients[number % 3], clients[(number + 1) % 3]
        await asked.add("demo", f"{words}?")
        prefix = (await asked.render("demo", "anthropic", extra=extra)).prefix
        thought = {"type": "thinking", "thinking": words, "signature": "c2ln"}
        answer = {"role": "assistant", "content": [thought, {"type": "text", "text": words}], "stop_reason": "end_turn"}
        passed = None if words == "unknown" else prefix
        await answered.ingest("demo", "anthropic", answer, model=model, prefix=passed)
    await clients[2].add("demo", "And?")

    found = [(await client.render("demo", "anthropic", extra=extra)) for client in clients]
    assert ["one", "two", "three"] == thoughts(found[0].body)
    assert found[0].body == found[1].body == found[2].body


async def test_names(clients: list[Client]) -> None:
    """A name is taken once, and means on every daemon what it was last made to mean on any."""
    one, two, three = clients
    await one.create("demo")
    await two.add("demo", "a")
    with pytest.raises(Exists):
        await three.create("demo")
    await three.change("demo", name="other")
    with pytest.raises(NotFound):
        await two.add("demo", "b")
    await one.create("demo")
    await two.add("demo", "c")

    assert ["c"] == texts(await three.messages("demo"))
    assert ["a"] == texts(await two.messages("other"))
    await two.kill("other")
    with pytest.raises(ReelError, match="killed"):
        await one.add("other", "d")


@pytest.fixture
async def pair() -> AsyncIterator[tuple[Client, Client]]:
    """A client of a daemon that is not told what others write, and one of another daemon."""
    with own_schema() as url, lossy(url) as between, anyio.fail_after(PATIENCE), short_directory() as directory:
        async with AsyncExitStack() as stack:
            for number, each in enumerate((between.url, url)):
                await stack.enter_async_context(daemon(each, str(Path(directory) / f"s{number}")))
            deaf, other = [
                await stack.enter_async_context(aio.connect(str(Path(directory) / f"s{number}"))) for number in range(2)
            ]
            await deaf.create("demo")
            await deaf.add("demo", "a")
            between.is_deaf = True
            yield deaf, other


async def test_a_write_ahead_finds_what_others_wrote(pair: tuple[Client, Client]) -> None:
    """What is added before its daemon knows of others' commands comes behind these."""
    deaf, other = pair
    await other.add("demo", "b")
    await deaf.mark("demo", "here")
    await other.add("demo", "c")
    await deaf.add("demo", "d")

    assert ["a", "b", "c", "d"] == texts(await other.messages("demo"))
    await other.rewind("demo", "here")
    assert ["a", "b"] == texts(await deaf.messages("demo"))


async def test_a_write_ahead_to_a_name(pair: tuple[Client, Client]) -> None:
    """A name means what others have made it mean, also to a daemon that has not heard of it."""
    deaf, other = pair
    await other.change("demo", name="moved")
    await other.create("demo")
    await deaf.add("demo", "b")
    assert ["b"] == texts(await other.messages("demo"))
    assert ["a"] == texts(await other.messages("moved"))
    await other.change("demo", name="gone")
    with pytest.raises(NotFound):
        await deaf.add("demo", "c")
    await other.kill("moved")
    await other.create("moved")
    await deaf.add("moved", "d")

    assert ["d"] == texts(await other.messages("moved"))


async def test_several_writes_ahead_to_a_name(pair: tuple[Client, Client]) -> None:
    """Those of one connection stay in their order, whatever becomes of the name meanwhile, and it reads them all."""
    deaf, other = pair
    read: list[list[str]] = []

    async def add(text: str) -> None:
        await deaf.add("demo", text)

    async def look() -> None:
        read.append(texts(await deaf.messages("demo")))

    for turn in range(5):
        await other.change("demo", name=f"moved-{turn}")
        await other.create("demo")
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(add, f"{number}")
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(look)

    assert [[f"{number}" for number in range(20)]] * 5 == read


async def test_a_write_ahead_is_refused_for_what_is_true(pair: tuple[Client, Client]) -> None:
    """A command is refused because of what the log says, not because of what its daemon knew before."""
    deaf, other = pair
    head = (await other.add("demo", "b")).head
    await deaf.add("demo", "c", if_seq=head)
    await other.kill("demo")
    with pytest.raises(ReelError, match="killed"):
        await deaf.add("demo", "d")
    agent = (await deaf.agent("demo")).id
    await other.revive("demo")
    await deaf.add(agent, "e")
    with pytest.raises(Conflict):
        await deaf.add("demo", "f", if_seq=head)

    assert ["a", "b", "c", "e"] == texts(await other.messages("demo"))


async def test_conflicts(clients: list[Client]) -> None:
    """A command that expects a head is refused if the agent really moved, and only then."""
    one, two, _ = clients
    await one.create("demo")
    head = (await two.add("demo", "a")).head
    assert head + 1 == (await one.add("demo", "b", if_seq=head)).head
    with pytest.raises(Conflict):
        await two.add("demo", "c", if_seq=head)


async def test_a_key_counts_for_all(clients: list[Client]) -> None:
    """A command is carried out once under its key, whichever daemon it is given to."""
    await clients[0].create("demo")
    replies = [await client.add("demo", "once", key="k") for client in clients]

    assert 1 == len({reply.first for reply in replies})
    assert ["once"] == texts(await clients[0].messages("demo"))


async def test_everybody_is_told(clients: list[Client], caplog: pytest.LogCaptureFixture) -> None:
    """Who follows an agent, or all, at one daemon is told once and in order what is written at any, and never lags."""
    await clients[0].create("demo")
    heard: list[list[int]] = [[], [], []]

    async def follow(number: int, address: str | None, *, task_status: Any) -> None:
        async with clients[number].subscribe(address) as subscription:
            task_status.started()
            async for push in subscription:
                if isinstance(push, EventPush):
                    heard[number].append(push.seq)
                    if push.seq == 31:
                        return

    async with anyio.create_task_group() as tasks:
        for number, address in enumerate(("demo", "demo", None)):
            await tasks.start(follow, number, address)
        for step in range(30):
            await clients[step % 3].add("demo", f"{step}")

    assert [[*range(2, 32)]] * 3 == heard
    assert "cannot catch up" not in caplog.text


async def test_followers_keep_a_copy(clients: list[Client]) -> None:
    """Whatever is done to an agent, its followers at every daemon are pushed the same, and all describe it alike."""
    one, two, three = clients
    await one.create("demo", system="Be brief.")
    seen: list[list[EventPush]] = [[], [], []]

    async def follow(number: int, *, task_status: Any) -> None:
        async with clients[number].subscribe("demo", view="conversation") as subscription:
            task_status.started()
            async for push in subscription:
                if isinstance(push, EventPush):
                    seen[number].append(push)
                    if push.kind == "agent_killed":
                        return

    commands: list[Callable[[], Awaitable[Any]]] = [
        lambda: one.add("demo", "a"),
        lambda: one.mark("demo", "here"),
        lambda: two.add("demo", {"role": "user", "content": "b", "sent": 1_000_000}),
        lambda: one.add("demo", {"kind": "note", "content": "noted"}),
        lambda: one.add("demo", {"role": "assistant", "content": "c"}),
        lambda: one.undo("demo"),
        lambda: one.redo("demo"),
        lambda: one.rewind("demo", "here"),
        lambda: three.add("demo", "d"),
        lambda: one.change("demo", title="A title"),
        lambda: one.clear("demo"),
        lambda: one.add("demo", "e"),
        lambda: two.kill("demo"),
    ]
    described: list[list[Any]] = []
    async with anyio.create_task_group() as tasks:
        for number in range(3):
            await tasks.start(follow, number)
        for command in commands:
            await command()
            described.append([(await client.agent("demo"))._replace(attached=0) for client in clients])

    assert seen[0] == seen[1] == seen[2]
    for alike in described:
        assert alike[0] == alike[1] == alike[2]
    for client in clients:
        assert (await client.replay("demo")).matched


async def test_drafts_are_shown_everywhere(clients: list[Client]) -> None:
    """A text that is typed at one daemon is pushed to followers at all others, also to one that comes later."""
    one, two, three = clients
    await one.create("demo")
    text = "".join(f"{number} words, " for number in range(2000)) + "\0\x01"

    async def until_shown(client: Client, wanted: str, *, task_status: Any = anyio.TASK_STATUS_IGNORED) -> None:
        async with client.subscribe("demo") as subscription:
            task_status.started()
            async for push in subscription:
                if isinstance(push, DraftPush):
                    assert push.connection > 1 << 32
                    if push.text == wanted:
                        return

    async with anyio.create_task_group() as tasks:
        await tasks.start(until_shown, two, text.replace("\0", "\ufffd"))
        for end in range(0, len(text), 1000):
            await one.draft("demo", text[:end])
        await one.draft("demo", text)
    await until_shown(three, text.replace("\0", "\ufffd"))
    async with anyio.create_task_group() as tasks:
        await tasks.start(until_shown, two, "")
        await one.add("demo", "It is finished.")


async def test_followers_are_counted_everywhere(clients: list[Client]) -> None:
    """Who asks any daemon how many follow an agent is told of the followers at all."""
    await clients[0].create("demo")
    async with AsyncExitStack() as stack:
        for client in clients[:2]:
            await stack.enter_async_context(client.subscribe("demo"))
        for client in clients:
            while (await client.agent("demo")).attached != 2:  # noqa: ASYNC110 - no event tells it
                await anyio.sleep(0.01)  # between two looks
    while (await clients[2].agent("demo")).attached:  # noqa: ASYNC110 - no event tells it
        await anyio.sleep(0.01)  # between two looks


async def test_a_wait_ends_with_what_another_wrote(clients: list[Client]) -> None:
    """Who waits at one daemon for an event is answered when another daemon wrote it."""
    one, two, _ = clients
    head = (await one.create("demo")).head
    answers: list[Any] = []

    async def wait() -> None:
        answers.append(await one.wait("demo", since=head))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await two.add("demo", "a")

    assert [["a"]] == [[event["content"] for event in each.events] for each in answers]


async def test_nothing_is_erased_while_others_remember_it(clients: list[Client]) -> None:
    """An erasure is refused while other daemons, which have in memory what it removes, use the database."""
    await clients[0].add("demo", "a secret", create=True)
    with pytest.raises(Storage, match="stop them first"):
        await clients[1].redact("demo", text="secret")

    assert ["a secret"] == texts(await clients[2].messages("demo"))


async def test_one_daemon_alone_erases() -> None:
    """A daemon that no other one shares the database with redacts and purges."""
    with own_schema() as url, anyio.fail_after(PATIENCE), short_directory() as directory:
        path = str(Path(directory) / "s")
        async with daemon(url, path), aio.connect(path) as client:
            await client.add("demo", "a secret", create=True)
            await client.redact("demo", text="secret")
            redacted = texts(await client.messages("demo"))
            await client.purge("demo")
            problems = (await client.verify()).problems
            with pytest.raises(NotFound):
                await client.messages("demo")

    assert "secret" not in redacted[0]
    assert [] == list(problems)


async def fail(store: Store) -> None:
    """Bring a database into a state in which the server refuses every statement until ROLLBACK."""
    await store._database.run(lambda opened: opened.execute("BEGIN").close())
    with pytest.raises(Error):
        await store._database.run(lambda opened: opened.execute("SELECT nothing").fetchall())


async def test_a_server_that_fails_before_an_erasure() -> None:
    """If the server does not say whether other daemons use the database, that is no bug, and nothing is erased."""
    with own_schema() as url, anyio.fail_after(PATIENCE), short_directory() as directory:
        path = str(Path(directory) / "s")
        async with daemon(url, path) as services, aio.connect(path) as client:
            await client.add("demo", "a secret", create=True)
            await fail(services.store)
            with pytest.raises(Storage, match="nothing was erased: current transaction is aborted"):
                await client.redact("demo", text="secret")
            await services.store._database.run(lambda opened: opened.execute("ROLLBACK").close())
            await client.redact("demo", text="secret")
            assert "secret" not in texts(await client.messages("demo"))[0]


async def test_a_server_that_fails_after_an_erasure(caplog: pytest.LogCaptureFixture) -> None:
    """If the server fails when other daemons are let in again, that is logged, and what was erased stays erased."""
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store:
            async with store.eraser.turn():
                await fail(store)
            await store._database.run(lambda opened: opened.execute("ROLLBACK").close())

    assert "other daemons that start may have to wait for the end of this one: current transaction is ab" in caplog.text


async def test_old_agents_at_several_daemons() -> None:
    """While another daemon uses the database no agent is purged for its age, and `stats` says why."""
    rules = Retention(killed_days=30)
    with own_schema() as url, anyio.fail_after(PATIENCE), short_directory() as directory:
        path = str(directory / "s")
        async with daemon(url, path) as services, aio.connect(path) as client:
            retaining, rest = services.retention, Holders(services)
            retaining.rules = rules
            await client.create("old")
            await client.kill("old")
            await services.store.write(lambda opened: opened.execute("UPDATE agents SET killed = 1").close())
            async with open_store(url) as other:
                await other.write(lambda connection: note(connection, Subject.AGENTS, Noted(rules, 1)))
                await retaining.run(services.registry, rest)
                problem = (await client.stats())["retention_problem"]
                kept = (await client.stats())["agents"]
            while retaining.problem is not None:  # until the server has noticed that the other one is gone
                await retaining.run(services.registry, rest)
            alone = await client.stats()

    assert "other daemons use this database" in problem
    assert (1, 0, None) == (kept, alone["agents"], alone["retention_problem"])


async def test_living_agents_at_several_daemons() -> None:
    """While another daemon uses the database nothing is pruned, and `stats` says why; then it is, in the next pass."""
    rules = Retention(history_days=0.0)
    with own_schema() as url, anyio.fail_after(PATIENCE), short_directory() as directory:
        path = str(directory / "s")
        async with daemon(url, path) as services, aio.connect(path) as client:
            pruning, rest = services.pruning_old, Holders(services)
            pruning.rules = rules.of_histories
            await client.add("demo", "a secret", create=True)
            await client.clear("demo")
            await client.add("demo", "left")
            since = Noted(rules.of_histories, 1)
            await services.store.write(lambda connection: note(connection, Subject.HISTORIES, since))
            async with open_store(url):
                await pruning.run(services.registry, rest)
                problem = (await client.stats())["retention_problem"]
                kept = pruning.done
            await pruning.run(services.registry, rest)
            while pruning.problem is not None:  # until the server has noticed that the other one is gone
                await pruning.run(services.registry, rest)
            left = (await client.history("demo")).events
            verified = await client.verify()

    assert "other daemons use this database" in problem
    assert (0, 1, []) == (kept.events, pruning.done.events, verified.problems)
    assert "a secret" not in str(left)


async def test_rules_that_only_one_daemon_has() -> None:
    """A daemon without rules forgets those of the past, as in a file; one that has applied rules goes on with them."""
    rules, asked, found = Retention(killed_days=30), PassOptions(None), []
    with own_schema() as url, anyio.fail_after(PATIENCE), short_directory() as directory:
        async with daemon(url, str(directory / "s")) as services:
            registry, rest, applying = services.registry, Holders(services), Retaining(rules)
            await services.store.write(lambda connection: note(connection, Subject.AGENTS, Noted(rules, 1)))
            for retaining in (applying, Retaining(Retention()), applying):
                await retaining.retain(registry, rest, asked)
                found.append(await services.store.read(noted, Subject.AGENTS))

    assert [Noted(rules, 1), None, Noted(rules, 1)] == found
