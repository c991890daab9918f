"""Both clients are one: the same requests, replies and errors, on every loop."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

import reel
from reel import aio, requests
from reel.replies import Verified
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory

Scenario: TypeAlias = Callable[[Any], Awaitable[Any]]
Run: TypeAlias = Callable[[Scenario], Any]
_LIMIT = 30


class _Awaited:
    """The blocking client in the async one's clothes."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name.startswith("iter_"):
            return lambda *args, **kwargs: _each(method(*args, **kwargs))

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


async def _each(items: Iterator[Any]) -> Any:
    for item in items:
        yield item


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that runs for the whole module."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        yield daemon
        daemon.close()


@pytest.fixture(params=["blocking", "trio", "asyncio"])
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""

    async def blocking(scenario: Scenario) -> Any:
        with daemon.client() as client:
            return await scenario(_Awaited(client))

    async def concurrent(scenario: Scenario) -> Any:
        with anyio.fail_after(_LIMIT):
            async with reel.aio.connect(daemon.socket) as client:
                return await scenario(client)

    kind = request.param
    return lambda scenario: anyio.run(
        blocking if kind == "blocking" else concurrent, scenario, backend="trio" if kind == "blocking" else kind
    )


@pytest.mark.parametrize("name", [name for name in requests.__all__ if name in vars(Client)])
def test_both_clients_have_every_request(name: str) -> None:
    """Each request is a method of both clients, with the same parameters and documentation."""
    blocking, concurrent = getattr(Client, name), getattr(aio.Client, name)

    assert inspect.signature(blocking).parameters == inspect.signature(concurrent).parameters
    assert blocking.__doc__ == concurrent.__doc__


def test_the_async_client_lacks_no_method() -> None:
    """Only what a context manager does for it is missing from the async client."""
    public = {name for name in vars(Client) if not name.startswith("_")}

    assert {"connect", "close"} == public - set(vars(aio.Client))


def test_a_conversation(run: Run, tmp_path: Path) -> None:
    """Every command and every question, with typed replies."""

    async def scenario(client: Any) -> list[Any]:
        made = await client.create(system="be brief", tags={"a": "b"})
        name = made.name
        added = await client.add(name, ["hi", reel.tool_call("c", "ls", "{}")])
        marked = await client.mark(name, "here")
        await client.add(name, [reel.tool_result("c", "out")])
        rewound = await client.rewind(name, "here")
        undone, redone = await client.undo(name), await client.redo(name)
        cleared = await client.clear(name)
        restored = await client.restore(name, cleared.was)
        twin = await client.clone(name)
        changed = await client.change(name, title="A title")
        killed = await client.kill(twin.name)
        revived = await client.revive(twin.name)
        info, page = await client.agent(name), await client.messages(name)
        records, log = await client.conversation(name), await client.history(name)
        replayed, stats = await client.replay(name), await client.stats()
        listed = await client.agents(prefix=name)
        checked, copied = await client.verify(name), f"{tmp_path}/copy.db"
        return [
            (made.head, made.system, added.head, added.open_calls[0].name, marked.label, rewound.dropped),
            (undone.undone, redone.redone, restored.was, twin.source.at, changed.title, revived.alive),
            (killed.killed == [twin.id], info.messages, len(page.messages), len(records.conversation)),
            (len(log.events), replayed.matched, stats["agents"] > 0, [row.id for row in listed.agents] == [made.id]),
            (await client.ping(), (await client.methods())[0].name),
            (checked, (await client.verify()).problems),
            (await client.backup(copied)).path == copied,
        ]

    assert [
        (2, "be brief", 4, "ls", "here", 1),
        (7, 7, 11, 12, "A title", True),
        (True, 2, 2, 3),
        (13, True, True, True),
        (True, "hello"),
        (Verified(1, 13, [], 0), []),
        True,
    ] == run(scenario)


def test_a_provider(run: Run) -> None:
    """The words of providers go in and out: a history, a request, its answer, another provider's request."""
    request = {"messages": [{"role": "user", "content": "What?"}], "temperature": 0}
    answer = {"content": [{"type": "text", "text": "That."}], "stop_reason": "end_turn", "usage": {"output_tokens": 2}}

    async def scenario(client: Any) -> list[Any]:
        name = (await client.create()).name
        loaded = await client.load(name, "openai-chat", json.dumps(request))
        first = await client.render(name, "anthropic", extra={"model": "claude-opus-5", "max_tokens": 9})
        added = await client.ingest(name, "anthropic", json.dumps(answer), if_seq=loaded.head)
        await client.add(name, "Why?")
        second = await client.render(name, "anthropic", extra='{"max_tokens": 9}', after=first.prefix)
        third = await client.render(name, "gemini")
        return [
            (loaded.first, [change.action for change in loaded.report], added.first, added.head),
            (first.ready, [message["role"] for message in json.loads(first.body)["messages"]]),
            (second.extends, [message["role"] for message in json.loads(second.body)["messages"]]),
            [content["role"] for content in json.loads(third.body)["contents"]],
        ]

    assert [
        (2, ["dropped"], 3, 4),
        (True, ["user"]),
        (True, ["user", "assistant", "user"]),
        ["user", "model", "user"],
    ] == run(scenario)


def test_a_single_message(run: Run) -> None:
    """A message that stands alone is one message."""

    async def scenario(client: Any) -> list[Any]:
        name = (await client.create()).name
        await client.add(name, {"role": "assistant", "content": "hi"})
        page = await client.messages(name)
        await client.add(name, page.messages[0])
        return [(message["role"], message["content"][0]["text"]) for message in (await client.messages(name)).messages]

    assert [("assistant", "hi")] * 2 == run(scenario)


def test_a_key_of_another_agent(run: Run) -> None:
    """A key stands for a command of one agent: a retry is answered, the same for another agent is a conflict."""

    async def scenario(client: Any) -> list[Any]:
        one, other = await client.create(), await client.create()
        first = await client.add(one.name, "hi", key=one.id)
        again = await client.add(one.id, "hi", key=one.id)
        with pytest.raises(reel.Conflict, match=f"was used for the agent {one.name}; ") as refused:
            await client.add(other.name, "hi", key=one.id)
        cloned = await client.clone(one.name, key=other.id)
        with pytest.raises(reel.Conflict, match=f"was used for the agent {one.name}; "):
            await client.clone(other.name, key=other.id)
        return [
            (first.head, again.head, first.repeated, again.repeated),
            refused.value.data["agent"] == one.id,
            (await client.clone(one.name, key=other.id)).id == cloned.id,
            len((await client.messages(other.id)).messages),
        ]

    assert [(2, 2, False, True), True, True, 0] == run(scenario)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda client: client.agent("nobody"), reel.NotFound),
        (lambda client: client.create("taken"), reel.Exists),
        (lambda client: client.rewind("taken", "x"), reel.NoSuchMark),
        (lambda client: client.add("taken", []), reel.InvalidParams),
        (lambda client: client.add("taken", 5), reel.InvalidParams),
        (lambda client: client.add("taken", [7]), reel.InvalidMessage),
        (lambda client: client.add("taken", "hi", if_seq=99), reel.Conflict),
        (lambda client: client.messages("taken", since=1 << 80), reel.InvalidParams),
        (lambda client: client.undo("taken"), reel.NothingToUndo),
        (lambda client: client.render("taken", "cohere"), reel.InvalidParams),
        (lambda client: client.ingest("taken", "gemini", "x"), reel.InvalidMessage),
        (lambda client: client.load("taken", "gemini", "{}"), reel.InvalidMessage),
    ],
)
def test_errors(run: Run, daemon: Daemon, call: Any, error: type[reel.ReelError]) -> None:
    """What the daemon refuses is the same exception."""
    with daemon.client() as client:
        client.add("taken", "x", create=True)
        client.kill("taken")
        client.create("taken")
        with pytest.raises(error) as expected:
            call(client)

    async def scenario(client: Any) -> reel.ReelError:
        with pytest.raises(error) as caught:
            await call(client)
        return caught.value

    found = run(scenario)
    assert (str(expected.value), expected.value.data) == (str(found), found.data)


def test_every_page(run: Run) -> None:
    """The iterators give everything, over page after page."""

    async def scenario(client: Any) -> list[int]:
        made = await client.create()
        for _ in range(3):
            await client.add(made.id, ["x"] * 1000)
        return [
            len([1 async for _ in client.iter_messages(made.id)]),
            len([1 async for _ in client.iter_conversation(made.id)]),
            len([1 async for _ in client.iter_history(made.id)]),
            len([1 async for row in client.iter_agents() if row.id == made.id]),
        ]

    assert [3000, 3000, 3001, 1] == run(scenario)


def test_a_restart(run: Run, daemon: Daemon) -> None:
    """A client comes back by itself, and what it was told is there."""

    async def scenario(client: Any) -> int:
        made = await client.create()
        await client.add(made.id, "one")
        daemon.kill()
        daemon.start()
        await client.add(made.id, "two")
        return len((await client.messages(made.id)).messages)

    assert 2 == run(scenario)


def test_nobody_there(run: Run, tmp_path: Any) -> None:
    """A socket on which nobody answers is said to be one, with the remedy."""

    async def scenario(_: Any) -> str:
        with pytest.raises(reel.NotRunning, match="reel start") as caught:
            async with reel.aio.connect(str(tmp_path / "s")):
                pass
        with pytest.raises(reel.NotRunning) as expected:
            reel.connect(str(tmp_path / "s"))
        return "same" if str(caught.value) == str(expected.value) else "different"

    assert "same" == run(scenario)


def test_a_daemon_that_went_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was started and is gone by the time that one connects is not there."""
    monkeypatch.setattr("reel.process.start", lambda _: True)
    path = str(tmp_path / "s")

    async def concurrent() -> None:
        async with reel.aio.connect(path, autostart=True):
            pass

    with pytest.raises(reel.NotRunning):
        reel.connect(path, autostart=True)
    for backend in ("trio", "asyncio"):
        with pytest.raises(reel.NotRunning):
            anyio.run(concurrent, backend=backend)
