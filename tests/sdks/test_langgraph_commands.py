"""How many commands a step of LangGraph takes: what its tasks wrote is part of the next checkpoint's."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any, TypeAlias

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, hanging, until
from tests.patience import PATIENCE

pytest.importorskip("langgraph", reason="langgraph is not installed")

from langgraph.checkpoint.base import empty_checkpoint

from reel.integrations.langgraph import ReelSaver, posts
from reel.integrations.langgraph.logs import Logs

_NUMBERS = count()
WRITES = [("n", 2)]


@pytest.fixture
def saver(daemon: Daemon) -> Iterator[ReelSaver]:
    with closing(ReelSaver(socket=daemon.socket)) as saver:
        yield saver


@pytest.fixture
def thread() -> str:
    """The id of a new thread."""
    return f"commands-{next(_NUMBERS)}"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread waits for the next checkpoint as long as a slow machine needs."""
    monkeypatch.setattr(posts, "_NEXT", PATIENCE)


def checkpoint(thread: str, number: int, after: Any = None) -> tuple[Any, ...]:
    """Return the arguments that put a checkpoint with a number, after another one."""
    config = after or {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    state = empty_checkpoint() | {"channel_values": {"n": number}, "channel_versions": {"n": number}}
    return config, state, {}, {"n": number}


def commands(client: Client, thread: str) -> list[int]:
    """Return the command of each event of a thread."""
    return [event["command"] for event in client.iter_history(f"langgraph/{thread}")]


def is_queued(saver: ReelSaver, thread: str) -> bool:
    return bool(saver._threads.of(thread).posts.all())


def is_adding() -> bool:
    """Whether a thread of this process adds to a log."""
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None and at.f_code is not Logs.add.__code__:
            at = at.f_back
        if at is not None:
            return True
    return False


def following(first: Any, thread: str) -> tuple[tuple[Any, ...], Any]:
    """Return the arguments that put a second checkpoint, and its config."""
    arguments = checkpoint(thread, 2, first)
    return arguments, {"configurable": {**first["configurable"], "checkpoint_id": arguments[1]["id"]}}


@pytest.fixture
def during_the_second(saver: ReelSaver, thread: str, daemon: Daemon) -> tuple[threading.Thread, Any]:
    """Put two checkpoints; while the second one is being added, a task gives what it wrote after it to a thread."""
    arguments, second = following(saver.put(*checkpoint(thread, 1)), thread)
    putting = threading.Thread(target=saver.put, args=arguments)
    writing = threading.Thread(target=saver.put_writes, args=(second, WRITES, "task"))
    with hanging(daemon):
        putting.start()
        until(is_adding)
        writing.start()
        until(lambda: is_queued(saver, thread))
    putting.join(PATIENCE)
    return writing, second


async def awaited_during_the_second(
    saver: ReelSaver, thread: str, daemon: Daemon, *, cancelled: bool = False
) -> tuple[asyncio.Task[None], Any]:
    """Do the same in an event loop; the task may be cancelled meanwhile."""
    arguments, second = following(await saver.aput(*checkpoint(thread, 1)), thread)
    with hanging(daemon):
        putting = asyncio.create_task(saver.aput(*arguments))
        await asyncio.to_thread(until, is_adding)
        writing = asyncio.create_task(saver.aput_writes(second, WRITES, "task"))
        await asyncio.to_thread(until, lambda: is_queued(saver, thread))
        if cancelled:
            writing.cancel()
            await asyncio.sleep(0)
    await putting
    return writing, second


Second: TypeAlias = tuple[threading.Thread, Any]


@pytest.mark.usefixtures("patient")
def test_writes_are_left_to_the_next_checkpoint(
    saver: ReelSaver, client: Client, thread: str, during_the_second: Second
) -> None:
    """What is queued while a checkpoint is added is one command with the next one."""
    writing, second = during_the_second
    saver.put(*checkpoint(thread, 3, second))
    writing.join(PATIENCE)

    assert [1, 1, 3, 4, 4] == commands(client, thread)
    found = saver.get_tuple(second)
    assert found is not None
    assert [("task", "n", 2)] == found.pending_writes


def test_writes_without_a_next_checkpoint(
    saver: ReelSaver, client: Client, thread: str, during_the_second: Second
) -> None:
    """If no other checkpoint comes, what is queued while one is added is added by itself."""
    writing, second = during_the_second
    writing.join(PATIENCE)

    assert [1, 1, 3, 4] == commands(client, thread)
    found = saver.get_tuple(second)
    assert found is not None
    assert [("task", "n", 2)] == found.pending_writes


@pytest.mark.usefixtures("patient")
def test_writes_after_a_checkpoint_are_left_to_the_next(saver: ReelSaver, client: Client, thread: str) -> None:
    """So is what is queued between two checkpoints."""
    first = saver.put(*checkpoint(thread, 1))
    writing = threading.Thread(target=saver.put_writes, args=(first, WRITES, "task"))
    writing.start()
    until(lambda: is_queued(saver, thread))
    saver.put(*checkpoint(thread, 2, first))
    writing.join(PATIENCE)

    assert [1, 1, 3, 3] == commands(client, thread)


@pytest.mark.usefixtures("patient")
def test_writes_before_a_checkpoint_that_fails(
    saver: ReelSaver, client: Client, thread: str, during_the_second: Second
) -> None:
    """What was left to a checkpoint that could not be added is added by itself."""
    writing, second = during_the_second
    config, state, metadata, versions = checkpoint(thread, 3, second)
    with pytest.raises(TypeError):
        saver.put(config, state | {"channel_values": {"n": threading.Lock()}}, metadata, versions)
    writing.join(PATIENCE)

    assert [1, 1, 3, 4] == commands(client, thread)


def test_awaited_writes_are_left_to_the_next_checkpoint(
    saver: ReelSaver, client: Client, thread: str, daemon: Daemon
) -> None:
    """So it is in an event loop."""

    async def step() -> None:
        writing, second = await awaited_during_the_second(saver, thread, daemon)
        await saver.aput(*checkpoint(thread, 3, second))
        await writing

    asyncio.run(step())

    assert [1, 1, 3, 4, 4] == commands(client, thread)


def test_awaited_writes_without_a_next_checkpoint(
    saver: ReelSaver, client: Client, thread: str, daemon: Daemon
) -> None:
    """So it is in an event loop."""

    async def step() -> None:
        writing, _ = await awaited_during_the_second(saver, thread, daemon)
        await writing

    asyncio.run(step())

    assert [1, 1, 3, 4] == commands(client, thread)


def test_cancelled_writes_are_added(saver: ReelSaver, client: Client, thread: str, daemon: Daemon) -> None:
    """What a cancelled task had given to the saver, while a checkpoint was added, is there once the task has ended."""

    async def step() -> Any:
        writing, second = await awaited_during_the_second(saver, thread, daemon, cancelled=True)
        with pytest.raises(asyncio.CancelledError):
            await writing
        return second

    second = asyncio.run(step())

    assert [1, 1, 3, 4] == commands(client, thread)
    found = saver.get_tuple(second)
    assert found is not None
    assert [("task", "n", 2)] == found.pending_writes


def test_writes_for_which_the_event_loop_waits(saver: ReelSaver, client: Client, thread: str, daemon: Daemon) -> None:
    """A graph that is invoked in the thread of an event loop adds its writes while that awaits a checkpoint."""

    async def step() -> None:
        arguments, second = following(await saver.aput(*checkpoint(thread, 1)), thread)
        with hanging(daemon):
            putting = asyncio.create_task(saver.aput(*arguments))
            await asyncio.to_thread(until, is_adding)
            writing = threading.Thread(target=saver.put_writes, args=(second, WRITES, "task"), daemon=True)
            writing.start()
            until(lambda: is_queued(saver, thread))
        writing.join(PATIENCE)
        assert not writing.is_alive()
        await putting

    asyncio.run(step())

    assert [1, 1, 3, 4] == commands(client, thread)
