"""Large requests: what takes long is done in a thread, while others are served."""

import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from trio.testing import wait_all_tasks_blocked

from reel.base.errors import InvalidMessage
from reeld.agents import many_rows
from reeld.serving.call import Services
from reeld.serving.handlers import items, rows
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Asked, Connect

TURN = [
    {"role": "user", "content": "What?"},
    {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "look", "arguments": "{}"}]},
    {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c", "content": "that"}]},
    {"role": "assistant", "content": "That."},
]
REQUEST = json.dumps({"messages": [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]})
# Requests about an existing agent, by its name, or about a new one.
LARGE: dict[str, Callable[[str], Asked]] = {
    "messages": lambda name: ("add", name, TURN),
    "messages for a new agent": lambda name: ("add", f"new-{name}", TURN, {"create": True}),
    "messages in place of others": lambda name: ("add", name, TURN, {"from": 2}),
    "a request": lambda name: ("load", name, "openai-chat", REQUEST),
    "a request for a new agent": lambda name: ("load", f"new-{name}", "openai-chat", REQUEST, {"create": True}),
    "parts": lambda name: ("commit", [{"method": "add", "agent": name, "messages": TURN}]),
}
ITEMS = {"items": [{"role": "user", "content": "x"}], "format": "openai-chat"}


def read_in_thread(services: Services) -> Callable[..., Any]:
    """Return what runs a function in the thread in which requests are read."""
    return services.long_work.in_thread


def staged_in_thread(_: Services) -> Callable[..., Any]:
    """Return what runs a function in the only thread in which rows can be staged."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = 1
    return anyio.to_thread.run_sync


@asynccontextmanager
async def busy(run: Callable[..., Any]) -> AsyncIterator[None]:
    """Keep a thread busy until the block ends."""
    over = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, partial(over.wait, PATIENCE))
        await wait_all_tasks_blocked()
        try:
            yield
        finally:
            over.set()


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every request count as large, and every number of rows as many."""
    monkeypatch.setattr(rows, "_LARGE", 1)
    monkeypatch.setattr(rows, "_LARGE_BODY", 1)
    monkeypatch.setattr(items, "_SMALL", 1)
    monkeypatch.setattr(many_rows, "_MANY", 1)


@pytest.mark.parametrize("where", [read_in_thread, staged_in_thread])
@pytest.mark.parametrize("asked", LARGE.values(), ids=LARGE)
async def test_others_are_served_meanwhile(
    connect: Connect,
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    asked: Callable[[str], Asked],
    where: Callable[[Services], Callable[..., Any]],
) -> None:
    """While a large request is read, or its rows are staged, others read and write."""
    peer, other = connect(), connect()
    await peer.call("add", "demo", ["one", "two"], {"create": True})
    await other.call("create", "other")
    shrink(monkeypatch)
    newest = services.store.writer.newest
    with anyio.fail_after(PATIENCE):
        async with busy(where(services)):
            await peer.send(peer.encoded(asked("demo")))
            await wait_all_tasks_blocked()
            assert 2 == (await other.call("mark", "other"))["head"]
            assert newest + 1 == services.store.writer.newest
        assert isinstance(await peer.answer(peer._sent), dict)

    assert newest + 4 <= services.store.writer.newest


@pytest.mark.parametrize(
    "asked", [*LARGE.values(), lambda name: ("add", {"agent": name, **ITEMS})], ids=[*LARGE, "items"]
)
async def test_only_a_few_at_once(
    connect: Connect, services: Services, monkeypatch: pytest.MonkeyPatch, asked: Callable[[str], Asked]
) -> None:
    """While as many large requests are carried out as may be at once, another one waits, and others do not."""
    peer, other = connect(), connect()
    await peer.call("add", "demo", ["one", "two"], {"create": True})
    await other.call("create", "other")
    for with_imports in (("load", "demo", "openai-chat", REQUEST), ("add", {"agent": "demo", **ITEMS})):
        await peer.call(*with_imports)  # so that the one that waits does not wait for these
    shrink(monkeypatch)
    newest, limiter = services.store.writer.newest, services.long_work.many_rows
    with anyio.fail_after(PATIENCE):
        others = [object() for _ in range(int(limiter.total_tokens))]
        for each in others:
            limiter.acquire_on_behalf_of_nowait(each)
        await peer.send(peer.encoded(asked("demo")))
        await wait_all_tasks_blocked()
        for _ in range(5):  # it would be read, staged and written meanwhile
            await services.long_work.in_thread(int)
            await anyio.to_thread.run_sync(int)
            await other.call("mark", "other")
        assert newest + 5 == services.store.writer.newest
        for each in others:
            limiter.release_on_behalf_of(each)
        assert isinstance(await peer.answer(peer._sent), dict)

    assert 0 == limiter.borrowed_tokens


@pytest.mark.parametrize("asked", LARGE.values(), ids=LARGE)
async def test_the_same_is_written(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, asked: Callable[[str], Asked]
) -> None:
    """What a large request writes, and its reply, are those of a small one."""
    peer = connect()
    found = []
    for name in ("small", "large"):
        await peer.call("add", name, ["one", "two"], {"create": True})
        if name == "large":
            shrink(monkeypatch)
        reply = await peer.call(*asked(name))
        listed = [each["name"] for each in (await peer.call("agents"))["agents"]]
        (written,) = [each for each in listed if each == f"new-{name}"] or [name]
        events = (await peer.call("history", written))["events"]
        found.append((await peer.call("messages", written), events, reply))

    small, large = (re.sub(r"'(agent|id|time)': ('[^']*'|[0-9]+)|small|large", "", str(each)) for each in found)
    assert small == large


async def test_a_large_request_that_is_refused(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a large request is that of a small one, and nothing is written."""
    peer = connect()
    shrink(monkeypatch)
    await peer.call("create", "demo")
    await peer.call("hello", {"errors": "map"})
    wrong = ["fine", {"role": "nobody", "content": "x"}]
    with pytest.raises(InvalidMessage) as alone:
        await peer.call("add", "demo", wrong)
    with pytest.raises(InvalidMessage) as part:
        await peer.call("commit", [{"method": "add", "agent": "demo", "messages": wrong}])

    assert [(1, None), (1, 0)] == [(error.value.data["index"], error.value.data.get("part")) for error in (alone, part)]
    assert 1 == (await peer.call("agent", "demo"))["head"]
