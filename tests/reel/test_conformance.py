"""Both clients have the same requests, replies and errors, on every event loop."""

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
from tests.patience import PATIENCE

Scenario: TypeAlias = Callable[[Any], Awaitable[Any]]
Run: TypeAlias = Callable[[Scenario], Any]


class _Awaited:
    """The blocking client with the async client's interface."""

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
        with anyio.fail_after(PATIENCE):
            async with reel.aio.connect(daemon.socket) as client:
                return await scenario(client)

    kind = request.param
    return lambda scenario: anyio.run(
        blocking if kind == "blocking" else concurrent, scenario, backend="trio" if kind == "blocking" else kind
    )


@pytest.mark.parametrize("name", [*(name for name in requests.__all__ if name in vars(Client)), "answer"])
def test_both_clients_have_every_request(name: str) -> None:
    """Each request is a method of both clients, with the same parameters and documentation."""
    blocking, concurrent = getattr(Client, name), getattr(aio.Client, name)

    assert inspect.signature(blocking).parameters == inspect.signature(concurrent).parameters
    assert blocking.__doc__ == concurrent.__doc__


def test_the_async_client_lacks_no_method() -> None:
    """The async client lacks only what ``reel.aio.connect`` does for it."""
    public = {name for name in vars(Client) if not name.startswith("_")}

    assert {"connect"} == public - set(vars(aio.Client))


def test_both_clients_create_an_agent(run: Run) -> None:
    """A new agent has its prompt and its tags."""

    async def scenario(client: Any) -> Any:
        made = await client.create(system="be brief", tags={"a": "b"})
        return made.head, made.system, made.tags

    assert (2, "be brief", {"a": "b"}) == run(scenario)


def test_both_clients_measure_a_message_that_is_too_large(run: Run) -> None:
    """A message over the limit is refused with its size, and the client goes on."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        with pytest.raises(reel.TooLarge, match="may have 16777216 bytes, this one has 17825"):
            await client.add(made.name, "x" * (17 << 20))
        return (await client.agent(made.name)).messages

    assert 0 == run(scenario)


def test_both_clients_add_messages(run: Run) -> None:
    """The reply to added messages has the head and the open calls."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        added = await client.add(made.name, ["hi", reel.tool_call("c", "ls", "{}")])
        return added.first, added.head, [call.name for call in added.open_calls]

    assert (2, 3, ["ls"]) == run(scenario)


def test_both_clients_rewind_to_a_mark(run: Run) -> None:
    """Rewinding to a label drops what was added after the mark."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        marked = await client.mark(name, "here")
        await client.add(name, ["one", "two"])
        rewound = await client.rewind(name, "here")
        return marked.label, marked.seq == rewound.target, rewound.dropped

    assert ("here", True, 2) == run(scenario)


def test_both_clients_undo_and_redo(run: Run) -> None:
    """The same command is undone and redone."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        added = await client.add(name, "hi")
        undone, redone = await client.undo(name), await client.redo(name)
        return undone.undone == added.command, redone.redone == added.command

    assert (True, True) == run(scenario)


def test_both_clients_clear_and_restore(run: Run) -> None:
    """A cleared conversation can be restored to the head that it had."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        added = await client.add(name, ["one", "two"])
        cleared = await client.clear(name)
        await client.restore(name, cleared.was)
        return cleared.was == added.head, (await client.agent(name)).messages

    assert (True, 2) == run(scenario)


def test_both_clients_clone(run: Run) -> None:
    """A clone has the source and the messages of the original."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        added = await client.add(made.name, "hi")
        twin = await client.clone(made.name)
        return twin.source == (made.id, added.head), twin.messages

    assert (True, 1) == run(scenario)


def test_both_clients_change_a_title(run: Run) -> None:
    """A title can be changed."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        return (await client.change(name, title="A title")).title

    assert "A title" == run(scenario)


def test_both_clients_kill_and_revive(run: Run) -> None:
    """A killed agent is named in the reply, and alive after it was revived."""

    async def scenario(client: Any) -> Any:
        made = await client.create()
        killed = await client.kill(made.name)
        return killed.killed == [made.id], (await client.revive(made.name)).alive

    assert (True, True) == run(scenario)


def test_both_clients_read_a_conversation(run: Run) -> None:
    """Clients can read messages, records with the prompt, and events."""

    async def scenario(client: Any) -> Any:
        made = await client.create(system="be brief")
        await client.add(made.name, ["one", "two"])
        listed = await client.agents(prefix=made.name)
        detailed = await client.agents(prefix=made.name, order="updated", details=True)
        return {
            "agents": [row.id for row in listed.agents] == [made.id],
            "details": [(row.messages, row.first_words, row.turn, row.drafts) for row in detailed.agents],
            "messages": len((await client.messages(made.name)).messages),
            "records": len((await client.conversation(made.name)).conversation),
            "events": len((await client.history(made.name)).events),
        }

    details: list[Any] = [(2, "one", "assistant", [])]
    assert {"agents": True, "details": details, "messages": 2, "records": 3, "events": 4} == run(scenario)


def test_both_clients_replay_and_verify(run: Run) -> None:
    """The state read from the log matches, and there is no damage."""

    async def scenario(client: Any) -> Any:
        name = (await client.create()).name
        await client.add(name, "hi")
        replayed = await client.replay(name)
        return replayed.matched, await client.verify(name), (await client.verify()).problems

    assert (True, Verified(1, 2, [], 0), []) == run(scenario)


def test_both_clients_ask_about_the_daemon(run: Run, tmp_path: Path) -> None:
    """The daemon answers, lists its methods, counts its agents and copies its database."""

    async def scenario(client: Any) -> Any:
        await client.create()
        copy = await client.backup(f"{tmp_path}/copy.db")
        return (
            await client.ping(),
            (await client.methods())[0].name,
            (await client.stats())["agents"] > 0,
            copy.path == f"{tmp_path}/copy.db",
        )

    assert (True, "hello", True, True) == run(scenario)


def test_both_clients_speak_the_formats_of_providers(run: Run) -> None:
    """A history is loaded, rendered, answered, and rendered for another provider."""
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


def test_both_clients_add_a_single_message(run: Run) -> None:
    """A single message counts as a list of one."""

    async def scenario(client: Any) -> list[Any]:
        name = (await client.create()).name
        await client.add(name, {"role": "assistant", "content": "hi"})
        page = await client.messages(name)
        await client.add(name, page.messages[0])
        return [(message["role"], message["content"][0]["text"]) for message in (await client.messages(name)).messages]

    assert [("assistant", "hi")] * 2 == run(scenario)


def test_both_clients_report_a_key_of_another_agent(run: Run) -> None:
    """A key belongs to a command of one agent: a retry gets the reply, the same key for another agent is a conflict."""

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
def test_both_clients_raise_the_same_errors(run: Run, daemon: Daemon, call: Any, error: type[reel.ReelError]) -> None:
    """Both clients raise the same exception for a refusal."""
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


def test_both_clients_read_every_page(run: Run) -> None:
    """The iterators return everything, over several pages."""

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


def test_both_clients_reconnect_after_a_restart(run: Run, daemon: Daemon) -> None:
    """A client reconnects by itself, and finds what was acknowledged before."""

    async def scenario(client: Any) -> int:
        made = await client.create()
        await client.add(made.id, "one")
        daemon.kill()
        daemon.start()
        await client.add(made.id, "two")
        return len((await client.messages(made.id)).messages)

    assert 2 == run(scenario)


def test_both_clients_report_that_no_daemon_answers(run: Run, tmp_path: Any) -> None:
    """If no daemon answers, both clients raise the same error, with the remedy."""

    async def scenario(_: Any) -> str:
        with pytest.raises(reel.NotRunning, match="reel start") as caught:
            async with reel.aio.connect(str(tmp_path / "s")):
                pass
        with pytest.raises(reel.NotRunning) as expected:
            reel.connect(str(tmp_path / "s"))
        return "same" if str(caught.value) == str(expected.value) else "different"

    assert "same" == run(scenario)


# A daemon that answers one connection, and no longer listens then.
_BRIEF_DAEMON = """
import os, socket, sys
from tests.patience import PATIENCE
path = sys.argv[sys.argv.index("--socket") + 1]
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen()
    connection, _ = listener.accept()
os.unlink(path)
connection.sendall(b"x")
"""


@pytest.fixture
def brief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The socket of a daemon that ends as soon as it has replied."""
    (tmp_path / "reeld").mkdir()
    (tmp_path / "reeld" / "__init__.py").touch()
    (tmp_path / "reeld" / "__main__.py").write_text(_BRIEF_DAEMON)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return str(tmp_path / "s")


def test_autostart_of_a_daemon_that_ends_at_once(brief: str) -> None:
    """The blocking client fails if the daemon that it started is gone when it connects."""
    with pytest.raises(reel.NotRunning):
        reel.connect(brief, autostart=True)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_async_autostart_of_a_daemon_that_ends_at_once(brief: str, backend: str) -> None:
    """The async client fails if the daemon that it started is gone when it connects."""

    async def concurrent() -> None:
        async with reel.aio.connect(brief, autostart=True):
            pass

    with pytest.raises(reel.NotRunning):
        anyio.run(concurrent, backend=backend)
