"""Both clients let a model answer: what is fed is drafted, and added at the end or when the program gives up."""

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from itertools import islice
from typing import Any

import anyio
import pytest

import reel
from reel.wire.pushes import DraftPush
from tests.daemon import Daemon
from tests.reel.both_clients import CLIENTS, Run, runner
from tests.reel.streams.samples.openai_chat import CHAT, chunk
from tests.reel.streams.samples.sample import sse

FORMAT: reel.Format = "openai-chat"
WHOLE = {
    "id": "1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
}
# The first three events: the text is there, the calls are not.
HALF = b"\n\n".join(CHAT.data.split(b"\n\n")[:3]) + b"\n\n"


class Side:
    """One of the clients, with the interface of the async one."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def create(self) -> str:
        """Create an agent that was asked something, and return its name."""
        made = await awaited(self._client.create())
        await awaited(self._client.add(made.name, "What?"))
        return str(made.name)

    async def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method."""
        return await awaited(getattr(self._client, method)(*args, **kwargs))

    @asynccontextmanager
    async def answer(self, *args: Any, **kwargs: Any) -> AsyncIterator["Fed"]:
        """Enter the block of an answer."""
        block = self._client.answer(*args, **kwargs)
        if isinstance(block, AbstractAsyncContextManager):
            async with block as answer:
                yield Fed(answer)
        else:
            assert isinstance(block, AbstractContextManager)
            with block as answer:
                yield Fed(answer)

    async def kinds(self, agent: str) -> list[str]:
        """Return the kinds of the events after the question."""
        page = await self.call("history", agent, since=2)
        return [event["kind"] for event in page.events]


class Fed:
    """An answer with an awaitable ``feed``."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answer, name)

    def __repr__(self) -> str:
        return repr(self._answer)

    async def feed(self, piece: Any) -> None:
        await awaited(self._answer.feed(piece))


async def awaited(value: Any) -> Any:
    """Await what the async client returns; return what the blocking one does."""
    return await value if isinstance(value, Awaitable) else value


@pytest.fixture(params=CLIENTS)
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""
    return runner(request.param, daemon, Side, Side)


def test_an_answer_that_is_streamed(run: Run) -> None:
    """The pieces of a stream become a message, whose calls have their arguments."""

    async def scenario(side: Side) -> Any:
        async with side.answer(await side.create(), FORMAT, {"model": "gpt-5", "stream": True}) as answer:
            assert "What?" == answer.request["messages"][0]["content"]
            for start in range(0, len(CHAT.data), 7):
                await answer.feed(CHAT.data[start : start + 7])
        assert None is not answer.usage
        return answer.text, answer.interrupted, [(call.name, call.arguments) for call in answer.calls]

    assert (CHAT.text, False, [("weather", {"city": "Oslo"}), ("time", {})]) == run(scenario)


def test_the_tokens_of_an_answer(run: Run) -> None:
    """They are known when it was added, whatever its provider calls them; ``None`` if it counted none."""

    async def scenario(side: Side) -> Any:
        found: list[Any] = []
        for counted in ({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, {}):
            async with side.answer(await side.create(), FORMAT) as answer:
                assert None is answer.usage
                await answer.feed({**WHOLE, **counted})
            found.append(answer.usage)
        return found

    assert [(9, 2, 0, 0, 0), None] == run(scenario)


@pytest.mark.parametrize(
    "piece",
    [json.dumps(WHOLE), json.dumps(WHOLE).encode(), WHOLE, {**WHOLE, "usage": {"cost": math.nan, "left": math.inf}}],
)
def test_an_answer_that_is_not_streamed(run: Run, piece: Any) -> None:
    """A whole response is added as text, as bytes or as a map, whatever its numbers are."""

    async def scenario(side: Side) -> Any:
        async with side.answer(await side.create(), FORMAT) as answer:
            await answer.feed(piece)
        return answer.text, answer.added.first, answer.problem

    assert ("Hi.", 3, None) == run(scenario)


def test_a_whole_response_that_is_cut_anywhere(run: Run) -> None:
    """The pieces may be cut inside a character; blanks and a byte order mark before it do not matter."""
    words = {**WHOLE, "choices": [{"index": 0, "message": {"role": "assistant", "content": "é😀"}}]}
    data = "\ufeff \n".encode() + json.dumps(words, ensure_ascii=False).encode()

    async def scenario(side: Side) -> Any:
        async with side.answer(await side.create(), FORMAT) as answer:
            for byte in data:
                await answer.feed(bytes([byte]))
        return answer.text

    assert "é😀" == run(scenario)


def test_a_tool_that_was_sent_under_another_name(run: Run) -> None:
    """A call has the tool's own name, whatever the provider allows."""
    tools = [{"name": "look.up", "input_schema": {"type": "object"}}]

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        async with side.answer(agent, "anthropic", {"model": "m", "max_tokens": 9, "tools": tools}) as answer:
            used = {"type": "tool_use", "id": "c1", "name": answer.request["tools"][0]["name"], "input": {"a": 1}}
            await answer.feed({"type": "message", "role": "assistant", "content": [used], "stop_reason": "tool_use"})
        return used["name"] != "look.up", [(call.name, call.arguments) for call in answer.calls]

    assert (True, [("look.up", {"a": 1})]) == run(scenario)


def test_an_answer_of_parsed_events(run: Run) -> None:
    """Events that an SDK has parsed are taken as well."""

    async def scenario(side: Side) -> Any:
        async with side.answer(await side.create(), FORMAT) as answer:
            await answer.feed(chunk({"content": "Hi"}))
            await answer.feed(chunk({"content": "."}, "stop"))
        return answer.text, answer.interrupted

    assert ("Hi.", False) == run(scenario)


def test_an_answer_that_breaks_off(run: Run) -> None:
    """If the stream ends too early, what came is added and marked, and its calls are not offered."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        async with side.answer(agent, FORMAT) as answer:
            await answer.feed(HALF)
        return answer.interrupted, answer.problem, answer.calls, await side.kinds(agent)

    assert (True, "it broke off", [], ["assistant", "interrupted"]) == run(scenario)


def test_an_error_during_an_answer(run: Run) -> None:
    """An exception leaves the block unchanged, and what came before it is added and marked."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()

        async def fail() -> None:
            async with side.answer(agent, FORMAT) as answer:
                await answer.feed(HALF)
                raise OSError("cable")

        with pytest.raises(OSError, match="cable") as raised:
            await fail()
        return getattr(raised.value, "__notes__", []), await side.kinds(agent)

    assert ([], ["assistant", "interrupted"]) == run(scenario)


def test_a_provider_that_refuses(run: Run) -> None:
    """The provider's error is raised, streamed or not, and nothing is added."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        for refusal in ('{"error": {"message": "No key"}}', 'data: {"error": {"message": "No key"}}\n\n'):
            with pytest.raises(reel.InvalidMessage, match="No key"):
                async with side.answer(agent, FORMAT) as answer:
                    await answer.feed(refusal)
        return await side.kinds(agent)

    assert [] == run(scenario)


def test_an_answer_to_which_nothing_is_fed(run: Run) -> None:
    """If nothing was fed, nothing is added; ``ready`` says whether there is anything to answer."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        async with side.answer(agent, FORMAT) as first:
            pass
        await side.call("add", agent, reel.text("assistant", "That."))
        async with side.answer(agent, FORMAT) as second:
            pass
        return first.ready, first.added, second.ready, await side.kinds(agent)

    assert (True, None, False, ["assistant"]) == run(scenario)


@pytest.mark.parametrize(
    ("event", "late"),
    [
        (lambda other, agent: other.change(agent, title="T", tags={"a": "b"}), 0),
        (lambda other, agent: other.change(agent, name=f"{agent}-renamed"), 0),
        (lambda other, agent: other.mark(agent, "here"), 0),
        (lambda other, agent: other.add(agent, reel.state("step", 1)), 0),
        (lambda other, agent: other.add(agent, ["Wait!", "And?"]), 2),
    ],
    ids=["a title", "another name", "a mark", "a value", "messages"],
)
def test_what_happens_during_an_answer(run: Run, daemon: Daemon, event: Callable[[Any, str], Any], late: int) -> None:
    """The answer is added, whole or in part, and says how many messages came meanwhile."""

    async def scenario(side: Side) -> Any:
        found = []
        for stream in (CHAT.data, HALF):
            agent = await side.create()
            with daemon.client() as other:
                async with side.answer(agent, FORMAT) as answer:
                    await answer.feed(stream)
                    event(other, agent)
            found.append((answer.late, answer.message["role"], answer.interrupted))
        return found

    assert [(late, "assistant", False), (late, "assistant", True)] == run(scenario)


@pytest.mark.parametrize(
    "event",
    [
        lambda other, agent: other.clear(agent),
        lambda other, agent: other.undo(agent),
        lambda other, agent: other.add(agent, reel.text("system", "Be brief.")),
    ],
    ids=["a clear", "an undo", "a prompt"],
)
def test_an_answer_to_what_is_gone(run: Run, daemon: Daemon, event: Callable[[Any, str], Any]) -> None:
    """The conflict says where the log keeps the answer; the draft is removed, and the response is at hand."""
    responses: list[Any] = []

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        with daemon.client() as other, other.subscribe(agent) as pushes:

            async def interrupt() -> str:
                async with side.answer(agent, FORMAT) as answer:
                    responses.append(answer)
                    await answer.feed(CHAT.data)
                    event(other, agent)
                return "added"

            with pytest.raises(reel.Conflict) as raised:
                await interrupt()
            note = other.history(agent, last=1).events[0]
            assert ("note", raised.value.data["kept"]) == (note["kind"], note["seq"])
            assert f"--kept {note['seq']}" in raised.value.message
            drafts = islice((push.text for push in pushes if isinstance(push, DraftPush)), 2)
            return CHAT.text.startswith(next(drafts)), next(drafts), json.loads(responses[0].response)["model"]

    assert (True, "", "gpt-5.2-2026-01-01") == run(scenario)


def test_what_cannot_be_fed(run: Run) -> None:
    """A piece of the wrong type is an error that says what was given."""

    async def scenario(side: Side) -> Any:
        with pytest.raises(reel.InvalidParams, match="got a int"):
            async with side.answer(await side.create(), FORMAT) as answer:
                await answer.feed(5)

    run(scenario)


def test_the_repr_of_an_answer(run: Run) -> None:
    """An answer shows whose it is, how far it has come, and the beginning of its text."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        async with side.answer(agent, FORMAT) as answer:
            reprs = [repr(answer)]
            await answer.feed(sse([chunk({"content": "Hi."}, "stop")], done=True))
            reprs.append(repr(answer))
        return [each.replace(agent, "A") for each in (*reprs, repr(answer))]

    assert [
        "<Answer of A to #2: nothing came yet>",
        "<Answer of A to #2: 3 characters, 'Hi.'>",
        "<Answer of A to #2: added #3, 'Hi.'>",
    ] == run(scenario)


def test_open_calls_with_their_arguments(run: Run) -> None:
    """The calls without a result have their arguments, wherever in the conversation they are."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        calls = [
            reel.tool_call("a", "ls", {"path": "/"}),
            reel.tool_call("b", "cat", "{}"),
            reel.tool_call("c", "w", ""),
        ]
        await side.call("add", agent, calls)
        (first, _, third) = await side.call("open_calls", agent)
        await side.call("add", agent, [first.result("bin"), third.result("nobody", is_error=True)])
        left = await side.call("open_calls", agent)
        return first.name, first.arguments, third.arguments, [(call.id, call.seq) for call in left]

    assert ("ls", {"path": "/"}, {}, [("b", 4)]) == run(scenario)


@pytest.mark.parametrize("arguments", ["[]", '{"a":', "[" * 100_000])
def test_arguments_that_are_not_an_object(arguments: str) -> None:
    """Reading them is an error that names the call; the others can be read."""
    call = reel.ToolCall("call_1", "ls", arguments, 3)

    with pytest.raises(reel.InvalidMessage, match=r"the arguments of ls \(call_1\) are invalid"):
        _ = call.arguments


def test_create_of_an_agent_that_exists(run: Run) -> None:
    """With exist_ok the existing agent is returned unchanged; without it, it is an error."""

    async def scenario(side: Side) -> Any:
        agent = await side.create()
        again = await side.call("create", agent, "a prompt", exist_ok=True)
        new = await side.call("create", f"{agent}-2", "a prompt", exist_ok=True)
        with pytest.raises(reel.Exists):
            await side.call("create", agent)
        return again.name == agent, again.system, new.system

    assert (True, None, "a prompt") == run(scenario)


def kinds_after_cancellation(daemon: Daemon, backend: str, piece: bytes, *, waiting: bool) -> list[str]:
    """Cancel a program after it fed a piece, while it waits or as it leaves the block; return what was added."""

    async def program() -> str:
        with anyio.CancelScope() as scope:
            async with reel.aio.connect(daemon.socket) as client:
                agent = (await client.create()).name
                await client.add(agent, "What?")
                async with client.answer(agent, FORMAT) as answer:
                    await answer.feed(piece)
                    scope.cancel()
                    if waiting:
                        await anyio.sleep_forever()
        return agent

    agent = anyio.run(program, backend=backend)
    with daemon.client() as client:
        return [event["kind"] for event in client.history(agent, since=2).events]


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_an_answer_that_is_cancelled(daemon: Daemon, backend: str) -> None:
    """If the program is cancelled, also around the connection, what came is added before it ends."""
    assert ["assistant", "interrupted"] == kinds_after_cancellation(daemon, backend, HALF, waiting=True)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_cancellation_at_the_end_of_an_answer(daemon: Daemon, backend: str) -> None:
    """A complete answer is added, even if the program is cancelled before it could be."""
    assert ["assistant", "usage"] == kinds_after_cancellation(daemon, backend, CHAT.data, waiting=False)
