"""Replies for a Neovim that keeps its calls on a stack, on a virtual clock.

pytest-trio runs a test by the clock that it asks for, so each asks for it.
"""
# ruff: noqa: ARG001 - see above

from collections.abc import AsyncIterator
from typing import NamedTuple

import anyio
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from reeld.serving.neovim import GAP, LifoReplies


class Call(NamedTuple):
    """A call, as far as the order of its reply is concerned."""

    name: str


class Stack:
    """The calls of a peer, and the time of each reply."""

    def __init__(self) -> None:
        self.replied: list[tuple[str, float]] = []
        self.calls: dict[str, Call] = {}
        self.replies = LifoReplies(self._post, self._flushed)
        self.flushing = 0.0
        self._start = trio.current_time()

    def _post(self, data: bytes) -> None:
        self.replied.append((data.decode(), round(trio.current_time() - self._start, 3)))

    async def _flushed(self) -> None:
        await anyio.sleep(self.flushing)

    def begin(self, names: str) -> None:
        for name in names:
            self.calls[name] = Call(name)
            self.replies.begin(self.calls[name])

    def reply(self, names: str) -> None:
        for name in names:
            self.replies.reply(self.calls[name], name.encode())

    @property
    def order(self) -> str:
        return "".join(name for name, _ in self.replied)


@pytest.fixture
async def stack() -> AsyncIterator[Stack]:
    """A peer without calls."""
    stack = Stack()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stack.replies.run)
        yield stack
        tasks.cancel_scope.cancel()


async def test_one_call_is_replied_to_at_once(autojump_clock: MockClock, stack: Stack) -> None:
    """A call that is not nested is replied to at once."""
    for name in "abc":
        stack.begin(name)
        stack.reply(name)
        await wait_all_tasks_blocked()

    assert [("a", 0), ("b", 0), ("c", 0)] == stack.replied
    assert 0 == stack.replies.held


@pytest.mark.parametrize("ready", ["abc", "cba", "bac"])
async def test_newest_first(autojump_clock: MockClock, stack: Stack, ready: str) -> None:
    """Whichever is ready first, replies go out from the newest call back, each some time after the one before."""
    stack.begin("abc")
    stack.reply(ready)
    await anyio.sleep(1)

    assert [("c", 0), ("b", GAP), ("a", 2 * GAP)] == stack.replied
    assert 0 == stack.replies.held


async def test_an_older_reply_waits(autojump_clock: MockClock, stack: Stack) -> None:
    """A reply is held, however long, while a newer call is open."""
    stack.begin("ab")
    stack.reply("a")
    await anyio.sleep(100)
    assert ("", 1) == (stack.order, stack.replies.held)

    stack.reply("b")
    await anyio.sleep(1)
    assert "ba" == stack.order


async def test_a_call_in_the_gap(autojump_clock: MockClock, stack: Stack) -> None:
    """A call that comes between two replies is the newest, and is replied to first."""
    stack.begin("ab")
    stack.reply("ab")
    await anyio.sleep(GAP / 2)
    stack.begin("c")
    await anyio.sleep(1)
    assert "b" == stack.order

    stack.reply("c")
    await anyio.sleep(1)
    assert "bca" == stack.order


async def test_the_gap_begins_when_a_reply_has_been_sent(autojump_clock: MockClock, stack: Stack) -> None:
    """After a long reply the gap before the next one starts when it has been sent."""
    stack.flushing = 5.0
    stack.begin("ab")
    stack.reply("ab")
    await anyio.sleep(10)

    assert [("b", 0), ("a", 5 + GAP)] == stack.replied


async def test_only_calls_that_wait_are_ordered(autojump_clock: MockClock, stack: Stack) -> None:
    """Only a call that waits for its reply is kept in order."""
    stack.begin("a")
    assert stack.calls["a"] in stack.replies
    assert Call("b") not in stack.replies

    stack.reply("a")
    await wait_all_tasks_blocked()
    assert stack.calls["a"] not in stack.replies
