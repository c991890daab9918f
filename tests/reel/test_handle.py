"""A handle of one conversation: the methods of a client without the name, blocking and async."""

import inspect
from collections.abc import Awaitable
from typing import Any

import pytest

import reel
from reel.aio.answer import Answer as AsyncAnswer
from reel.aio.handle import Handle as AsyncHandle
from reel.aio.methods import Methods as AsyncMethods
from reel.sync.answer import Answer
from reel.sync.handle import Handle
from reel.sync.methods import Methods
from tests.daemon import Daemon
from tests.reel.both_clients import CLIENTS, Run, runner


@pytest.fixture(params=CLIENTS)
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""
    return runner(request.param, daemon, lambda client: client)


async def awaited(value: Any) -> Any:
    """Await what the async client returns; return what the blocking one does."""
    return await value if isinstance(value, Awaitable) else value


def test_a_handle(run: Run) -> None:
    """It works on its conversation, which need not exist when it is made."""

    async def scenario(client: Any) -> Any:
        made = await awaited(client.create())
        deck = client.handle(f"{made.name}-deck")
        await awaited(deck.add("Hi?", create=True, tags={"a": "b"}))
        await awaited(deck.mark("here"))
        await awaited(deck.add({"role": "assistant", "content": "Yes."}))
        await awaited(deck.rewind("here"))
        info = await awaited(deck.agent())
        said = (await awaited(deck.messages(last=5))).messages
        other = (await awaited(client.messages(made.name))).messages
        return (
            info.tags,
            [message["content"][0]["text"] for message in said],
            other,
            repr(deck) == f"<reel.Handle of {deck.name}>",
        )

    assert ({"a": "b"}, ["Hi?"], [], True) == run(scenario)


@pytest.mark.parametrize(("handle", "methods"), [(Handle, Methods), (AsyncHandle, AsyncMethods)])
def test_it_has_every_method_about_a_conversation(handle: Any, methods: Any) -> None:
    """A method whose first parameter is a conversation is one of the handle's, without that parameter."""
    expected = {}
    for name, method in inspect.getmembers(methods, inspect.isfunction):
        own = list(inspect.signature(method).parameters)
        if own[1:2] == ["agent"] and not name.startswith("_"):
            expected[name] = [own[0], *own[2:]]
    found = {name: getattr(handle, name) for name in dir(handle) if not name.startswith("_")}

    assert len(expected) > 30
    assert expected == {name: list(inspect.signature(method).parameters) for name, method in found.items()}
    for name, method in found.items():
        assert name == method.__name__
        assert "\n        agent: " not in method.__doc__, name


@pytest.mark.parametrize("answer", [Answer, AsyncAnswer])
def test_an_answer_shows_facts_only(answer: type) -> None:
    """What a program sees of an answer are facts, and one method that feeds it; no step of how it is made."""
    shown = {name: getattr(answer, name) for name in dir(answer) if not name.startswith("_")}

    assert ["feed"] == [name for name, value in shown.items() if not isinstance(value, property)]
    assert {"text", "calls", "usage", "message", "added", "late", "problem", "request", "body", "ready"} <= shown.keys()


def test_types() -> None:
    """A reader of the signature sees the types of the client's method."""
    assert "int | None" in str(inspect.signature(Handle.messages).parameters["since"])
    assert reel.Client.handle.__doc__
