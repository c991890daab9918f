"""The poller: what other threads ask for, and sockets that can be read."""

import os
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from tempfile import TemporaryFile
from threading import Event, Thread

import anyio
import pytest

from reeld.poller import Poller, open_poller
from tests.patience import PATIENCE


@pytest.fixture
async def poller() -> AsyncIterator[Poller]:
    """An open poller, with a time limit."""
    with anyio.fail_after(PATIENCE):
        async with open_poller() as opened:
            yield opened


async def test_calls_of_a_thread_come_in_order(poller: Poller) -> None:
    """Each call of another thread is made once, in the order in which it was asked for."""
    called: list[int] = []
    done = anyio.Event()

    def ask() -> None:
        for number in range(1000):
            poller.call_soon(called.append, number)
        poller.call_soon(lambda _: done.set(), None)

    thread = Thread(target=ask)
    thread.start()
    await done.wait()
    thread.join()

    assert list(range(1000)) == called


async def test_calls_of_one_turn_are_a_batch(poller: Poller) -> None:
    """What is noted in a turn is done at its end, after all of its calls."""
    done: list[str] = []
    over = anyio.Event()

    def call(name: str) -> None:
        done.append(name)
        poller.batch.note(lambda: done.append(f"noted by {name}"))

    def finish(_: None) -> None:
        poller.batch.note(over.set)

    for name in ("one", "two"):
        poller.call_soon(call, name)
    poller.call_soon(finish, None)
    await over.wait()

    assert ["one", "two", "noted by one", "noted by two"] == done


async def test_a_socket_is_read_whenever_it_can_be(poller: Poller) -> None:
    """The function of a socket is called for each arrival, and for the end of the stream, until the block ends."""
    ours, theirs = socket.socketpair()
    heard: list[bytes] = []
    arrived = anyio.Event()

    def read() -> None:
        nonlocal arrived
        heard.append(ours.recv(10))
        if not heard[-1]:
            poller.forget(ours)
        arrived.set()

    with ours, theirs, poller.reading(ours, read):
        for data in (b"one", b"two", b""):
            theirs.sendall(data) if data else theirs.shutdown(socket.SHUT_WR)
            await arrived.wait()
            arrived = anyio.Event()

    assert [b"one", b"two", b""] == heard


async def test_a_call_after_the_end_is_not_made() -> None:
    """A thread that outlives the poller may ask, and does no harm."""
    async with open_poller() as poller:
        pass
    poller.call_soon(pytest.fail, "it was called")

    await anyio.lowlevel.checkpoint()


async def test_a_call_while_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is about to wake the poller when that is closed writes into no file that was opened since."""
    asked, closed, write = Event(), Event(), os.write

    def write_late(descriptor: int, data: bytes) -> int:
        asked.set()
        assert closed.wait(PATIENCE)
        return write(descriptor, data)

    with ThreadPoolExecutor() as threads, ExitStack() as stack:
        async with open_poller() as poller:
            monkeypatch.setattr(os, "write", write_late)
            call = threads.submit(poller.call_soon, pytest.fail, "it was called")
            assert asked.wait(PATIENCE)
        # They take the descriptors that the poller had.
        files = [stack.enter_context(TemporaryFile()) for _ in range(5)]
        closed.set()
        call.result()
        sizes = [file.seek(0, os.SEEK_END) for file in files]

    assert [0] * 5 == sizes


async def test_a_closed_poller_keeps_no_descriptor() -> None:
    """Once nobody can use it any more, its last descriptor is closed."""
    poller = Poller()
    descriptor = poller._write_end
    poller.close()
    os.fstat(descriptor)
    del poller

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


async def test_a_failure_ends_the_block() -> None:
    """A function that fails is a bug, and whoever opened the poller learns of it."""

    def fail(_: None) -> None:
        raise ValueError("a bug")

    with anyio.fail_after(PATIENCE), pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="a bug")):
        async with open_poller() as poller:
            poller.call_soon(fail, None)
            await anyio.sleep_forever()


async def test_an_error_of_the_block_is_in_no_group() -> None:
    """Who opens a database learns what is wrong with it, and not that a group of tasks has failed."""
    with pytest.raises(OSError, match="full"):
        async with open_poller():
            raise OSError("full")


async def test_a_cancelled_block_still_gets_its_answers() -> None:
    """What is cleaned up after a cancellation can wait for a thread."""
    cleaned = False
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks, open_poller() as poller:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                answered = anyio.Event()
                Thread(target=poller.call_soon, args=(lambda _: answered.set(), None)).start()
                await answered.wait()
                cleaned = True

    assert cleaned
