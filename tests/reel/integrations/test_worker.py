"""Calls of a blocking client, awaited from async programs."""

import asyncio
import gc
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress

import anyio
import pytest
import trio
import trio.testing

from reel import requests
from reel.base.errors import NotFound, NotRunning, Timeout, TooLarge
from reel.daemon.lock_file import lock_holder
from reel.daemon.stop_marker import mark
from reel.integrations.worker import Worker
from reel.replies import Added
from reel.sync.client import Client
from tests import reused_daemon
from tests.daemon import Daemon, hanging, until
from tests.patience import PATIENCE

# Some tests end it, and the next one gets another.
daemon, prepared, reused = reused_daemon.daemon, reused_daemon.prepared, reused_daemon.reused


@pytest.fixture
def worker(daemon: Daemon) -> Iterator[Callable[[], Worker]]:
    """Make workers; they are closed after the test."""
    made: list[Worker] = []

    def make() -> Worker:
        made.append(Worker(daemon.socket, autostart=False, name="test"))
        return made[-1]

    yield make
    for one in made:
        one.close()


def say(client: Client) -> None:
    client.add("deck", "Hello?", create=True)


def said(daemon: Daemon) -> list[str]:
    with daemon.client() as client:
        return [str(message["content"]) for message in client.iter_messages("deck")]


def test_what_needs_no_thread(worker: Callable[[], Worker]) -> None:
    """It is done at once, unless another call is under way, which it would overtake."""
    one, begun, go_on = worker(), threading.Event(), threading.Event()

    def wait(_client: Client) -> None:
        begun.set()
        go_on.wait(PATIENCE)

    async def use() -> None:
        assert await one.at_once(lambda _: 1) is None
        await one.run(lambda _: None)
        assert threading.current_thread() is await one.at_once(lambda _: threading.current_thread())
        waiting = asyncio.ensure_future(one.run(wait))
        await asyncio.to_thread(begun.wait)
        assert await one.at_once(lambda _: 1) is None
        go_on.set()
        await waiting
        with pytest.raises(ValueError, match="no"):
            await one.at_once(lambda _: int("no"))
        assert 1 == await one.at_once(lambda _: 1)

    asyncio.run(use())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_needs_no_thread_gives_way(worker: Callable[[], Worker], backend: str) -> None:
    """Others have a turn each time: a program that polls holds up no event loop, and can be cancelled."""
    one = worker()

    async def poll() -> None:
        for _ in range(1000):
            assert 1 == await one.at_once(lambda _: 1)
        pytest.fail("nobody else had a turn")

    async def use() -> None:
        await one.run(lambda _: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(poll)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()

    anyio.run(use, backend=backend)


@pytest.mark.parametrize("error", [None, ValueError("no")])
def test_a_cancelled_call_settles(error: Exception | None) -> None:
    """The cancellation comes when the call is done, and names the error if there was one."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def work(_client: Client) -> None:
        begun.set()
        go_on.wait()
        done.set()
        if error is not None:
            raise error

    async def cancel() -> None:
        call = asyncio.ensure_future(Worker("/nowhere", autostart=False, name="test").run(work))
        await asyncio.to_thread(begun.wait)
        call.cancel()
        await asyncio.wait([call], timeout=0)
        assert not call.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await call
        assert done.is_set()
        assert error is cancelled.value.__cause__

    asyncio.run(cancel())


def test_a_daemon_that_hangs(daemon: Daemon, worker: Callable[[], Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    """A call ends with an error that says that it may still be carried out, and so do those that need a connection."""
    monkeypatch.setattr("reel.integrations.awaiting.LIMIT", 0.1)
    one, other = worker(), worker()

    def has_connected() -> bool:
        try:
            return one.run_here(Client.ping)
        except Timeout:  # on a busy machine
            return False

    until(has_connected)
    with hanging(daemon):
        with pytest.raises(Timeout, match=r"add took longer than 0.1 s; it may still be carried out"):
            asyncio.run(one.run(say))
        with pytest.raises(Timeout, match=r"did not answer within 0.1 s"):
            trio.run(other.run, say)
    monkeypatch.undo()

    asyncio.run(worker().run(say))

    assert 1 <= len(said(daemon)) <= 2


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_a_call_that_is_cancelled_while_the_daemon_hangs(
    daemon: Daemon, worker: Callable[[], Worker], monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    """The cancellation does not wait for ever: its cause says whether the call may still be carried out."""
    monkeypatch.setattr("reel.integrations.queued_calls.SETTLES_WITHIN", 0.1)
    hung = worker()
    hung.run_here(say)
    begun = threading.Event()
    causes: list[BaseException | None] = []

    def begin(client: Client) -> None:
        begun.set()
        say(client)

    async def cancel() -> None:
        calls = [asyncio.ensure_future(hung.run(begin)) for _ in range(2)]
        await asyncio.to_thread(begun.wait)
        for call in calls:
            call.cancel()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await call
            causes.append(cancelled.value.__cause__)

    async def call() -> None:
        try:
            await hung.run(begin)
        except trio.Cancelled as cancelled:
            causes.append(cancelled.__cause__)
            raise

    async def cancel_both() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await trio.to_thread.run_sync(begun.wait)
            nursery.start_soon(call)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    with hanging(daemon):
        trio.run(cancel_both) if loop == "trio" else asyncio.run(cancel())
    # What was not cancelled in time is carried out before what comes later.
    asyncio.run(hung.run(Client.ping))

    assert all(isinstance(cause, Timeout) for cause in causes)
    assert ["it may still be carried out", "it was not carried out"] == sorted(
        str(cause).split("; ")[1] for cause in causes
    )
    assert 2 == len(said(daemon))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_first_call_during_a_restart(daemon: Daemon, worker: Callable[[], Worker], number: signal.Signals) -> None:
    """It waits for the daemon, whether that was killed or has removed its socket."""
    daemon.process.send_signal(number)
    daemon.process.wait(PATIENCE)

    async def run() -> None:
        saying = asyncio.ensure_future(worker().run(say))
        await asyncio.to_thread(daemon.start)
        await saying

    asyncio.run(run())

    assert 1 == len(said(daemon))


def test_the_first_call_without_a_daemon(daemon: Daemon, worker: Callable[[], Worker]) -> None:
    """It fails at once if no daemon was there, or one that was stopped on purpose."""
    daemon.close()
    assert lock_holder(daemon.socket) is None
    mark(daemon.socket)

    with pytest.raises(NotRunning, match="reel start"):
        asyncio.run(worker().run(say))
    with pytest.raises(NotRunning, match="reel stop"):
        asyncio.run(Worker(daemon.socket, autostart=True, name="test").run(say))
    with pytest.raises(NotRunning, match="/nowhere"):
        asyncio.run(Worker("/nowhere/s.sock", autostart=False, name="test").run(say))


def test_the_thread_ends_with_its_worker() -> None:
    """A program that makes a session for each of its requests does not gather threads."""
    worker = Worker("/nowhere", autostart=False, name="test")
    thread = asyncio.run(worker.run(lambda _client: threading.current_thread()))
    assert thread.is_alive()

    del worker
    gc.collect()

    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_what_a_call_returned_is_not_kept() -> None:
    """Nobody needs the history of a session any more once it was returned."""

    class Large:
        pass

    worker = Worker("/nowhere", autostart=False, name="test")
    returned = weakref.ref(asyncio.run(worker.run(lambda _client: Large())))

    until(lambda: returned() is None)


ADDING = requests.add("deck", "Hello?")


@pytest.fixture
def begun(worker: Callable[[], Worker]) -> Worker:
    """A worker that has said something, and so has a connection and a thread."""
    one = worker()
    asyncio.run(one.run(say))
    return one


def then(_client: Client, added: Added) -> tuple[int, threading.Thread]:
    """Return the seq of what was added, and the thread that learns of it."""
    return added.head, threading.current_thread()


def named(_client: Client, added: Added) -> tuple[int, str]:
    """Return the seq of what was added, and the name of the thread that learns of it."""
    return added.head, threading.current_thread().name


def test_a_request_without_the_thread(daemon: Daemon, begun: Worker) -> None:
    """A loop of asyncio awaits the reply itself; with trio, and without a connection, the thread does."""
    head, thread = asyncio.run(begun.ask(ADDING, then))
    assert (3, threading.current_thread()) == (head, thread)
    head, thread = trio.run(begun.ask, ADDING, then)
    assert (4, "reel") == (head, thread.name)
    begun.close()
    head, thread = asyncio.run(begun.ask(ADDING, then))
    assert (5, "reel") == (head, thread.name)

    assert 4 == len(said(daemon))


def test_a_request_that_is_refused(daemon: Daemon, begun: Worker) -> None:
    """Its error is raised, and the next one is carried out."""

    async def ask() -> None:
        with pytest.raises(NotFound):
            await begun.ask(requests.add("nobody", "x"), then)
        with pytest.raises(TooLarge):
            await begun.ask(requests.add("deck", "x" * (17 << 20)), then)
        with pytest.raises(ZeroDivisionError):
            await begun.ask(ADDING, lambda _, added: added.head // 0)
        assert 4 == (await begun.ask(ADDING, then))[0]
        # Longer than what a socket takes at once: the thread sends the rest, on the same connection.
        server = begun.run_here(lambda client: client.server)
        assert (5, "reel") == await begun.ask(requests.add("deck", "x" * (4 << 20)), named)
        assert begun.run_here(lambda client: client.is_still(server))

    asyncio.run(ask())

    assert 4 == len(said(daemon))


def test_requests_and_calls_are_in_order(daemon: Daemon, begun: Worker) -> None:
    """What is called while a request is under way comes after it, and nothing overtakes it."""
    order: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *_: order.append(name)

    async def use() -> None:
        with hanging(daemon):
            one = asyncio.ensure_future(begun.ask(ADDING, note("one")))
            two = asyncio.ensure_future(begun.run(note("two")))
            three = asyncio.ensure_future(begun.ask(ADDING, note("three")))
            await asyncio.sleep(0)
            assert await begun.at_once(lambda _: 1) is None
            begun.close()
            await asyncio.sleep(0)
            assert [] == order
        await asyncio.gather(one, two, three)

    asyncio.run(use())

    until(lambda: asyncio.run(begun.at_once(lambda _: True)) is True)  # it is closed
    assert ["one", "two", "three"] == order
    assert 3 == len(said(daemon))


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_request_that_is_cancelled(daemon: Daemon, begun: Worker, is_refused: bool) -> None:
    """The cancellation comes when it is done, and what follows the reply is done as well; its error is the cause."""
    noted: list[Added] = []

    async def cancel() -> None:
        with hanging(daemon):
            call = requests.add("nobody", "x") if is_refused else ADDING
            asking = asyncio.ensure_future(begun.ask(call, lambda _, added: noted.append(added)))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking], timeout=0)
            assert not asking.done()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await asking
        assert is_refused == isinstance(cancelled.value.__cause__, NotFound)

    asyncio.run(cancel())

    assert len(noted) + 1 == len(said(daemon))
    assert is_refused == (not noted)


def test_a_request_whose_daemon_is_killed(daemon: Daemon, begun: Worker) -> None:
    """It is sent again to the next daemon, before what was called later, and is carried out once."""
    order: list[int] = []

    async def use() -> None:
        with suppress(ProcessLookupError), hanging(daemon):
            asking = asyncio.ensure_future(begun.ask(ADDING, lambda _, added: order.append(added.head)))
            await asyncio.sleep(0)
            later = asyncio.ensure_future(begun.run(lambda client: order.append(client.add("deck", "later").head)))
            await asyncio.sleep(0)
            daemon.kill()
        await asyncio.to_thread(daemon.start)
        await asyncio.gather(asking, later)

    asyncio.run(use())

    assert [3, 4] == order
    assert 3 == len(said(daemon))


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_request_to_a_daemon_that_hangs(
    daemon: Daemon,
    begun: Worker,
    monkeypatch: pytest.MonkeyPatch,
    is_cancelled: bool,
) -> None:
    """It ends with a time-out, or with a cancellation because of one, and the next one is carried out."""
    monkeypatch.setattr(
        "reel.integrations.queued_calls.SETTLES_WITHIN" if is_cancelled else "reel.integrations.awaiting.LIMIT", 0.05
    )
    begun.run_here(lambda client: setattr(client, "timeout", PATIENCE if is_cancelled else 0.05))

    async def use() -> None:
        with hanging(daemon):
            asking = asyncio.ensure_future(begun.ask(ADDING, then))
            await asyncio.sleep(0)
            if is_cancelled:
                asking.cancel()
            with pytest.raises((asyncio.CancelledError, Timeout)) as late:
                await asking
            timeout = late.value.__cause__ if is_cancelled else late.value
            assert isinstance(timeout, Timeout)
            assert "it may still be carried out" in str(timeout)
        begun.run_here(lambda client: setattr(client, "timeout", PATIENCE))
        await begun.ask(ADDING, then)

    asyncio.run(use())

    assert 2 <= len(said(daemon)) <= 3


def test_a_request_whose_loop_was_left(daemon: Daemon, begun: Worker) -> None:
    """A program that stops its loop and throws it away can go on with another one."""
    loop = asyncio.new_event_loop()
    with hanging(daemon):
        task = loop.create_task(begun.ask(ADDING, then))
        loop.call_soon(loop.stop)
        loop.run_forever()
        task.get_coro().close()  # as the garbage collector does
        task.cancel()
        loop.run_until_complete(asyncio.wait([task]))
        loop.close()

    asyncio.run(begun.ask(ADDING, then))

    assert 2 <= len(said(daemon)) <= 3


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_request_whose_loop_waits_in_its_thread(daemon: Daemon, begun: Worker, is_kept: bool) -> None:
    """What the loop waits for, as in a tool that is no coroutine, may be a later call: the thread takes over."""
    order: list[str] = []

    def use_elsewhere() -> None:
        asyncio.run(begun.ask(ADDING, lambda *_: order.append("later")))
        begun.run_here(Client.ping)

    async def use() -> None:
        asking = asyncio.ensure_future(begun.ask(ADDING, lambda *_: order.append("earlier")))
        await asyncio.sleep(0)
        elsewhere = threading.Thread(target=use_elsewhere, daemon=True)
        elsewhere.start()
        elsewhere.join(PATIENCE)
        assert not elsewhere.is_alive()
        if not is_kept:
            await asking

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    assert ["earlier", "later"] == order
    for task in asyncio.all_tasks(loop):
        loop.run_until_complete(task)
    loop.close()
    assert 3 == len(said(daemon))


def test_a_request_and_a_call_in_the_thread_of_the_loop(daemon: Daemon, begun: Worker) -> None:
    """A call that blocks the loop does not wait for what the loop would have to read."""

    async def use() -> None:
        asking = asyncio.ensure_future(begun.ask(ADDING, then))
        await asyncio.sleep(0)
        begun.run_here(Client.ping)
        await asking

    asyncio.run(use())

    assert 2 == len(said(daemon))


class _Unwatching(asyncio.SelectorEventLoop):
    """A loop that watches no descriptors for others."""

    def add_reader(self, *_: object) -> None:
        raise NotImplementedError


def test_a_loop_that_watches_nothing(daemon: Daemon, begun: Worker) -> None:
    """The thread waits for the reply, on the same connection."""
    server = begun.run_here(lambda client: client.server)

    with asyncio.Runner(loop_factory=_Unwatching) as runner:
        assert (3, "reel") == runner.run(begun.ask(ADDING, named))

    assert begun.run_here(lambda client: client.is_still(server))
    assert 2 == len(said(daemon))
