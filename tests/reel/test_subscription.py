"""Both clients' subscriptions, against a real daemon: what they bring, and how they come back.

One scenario runs over the blocking client and over the async one on each loop; waiting in a thread lets the
daemon be ended and started meanwhile.
"""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream

import reel
from reel import requests
from reel.aio.subscription import Subscription as AsyncSubscription
from reel.aio.time_limit import TimeLimit
from reel.machines.subscription_state import SubscriptionState
from reel.sync.client import Client
from reel.sync.subscription import Subscription
from reel.wire.pushes import DraftPush, EventPush
from tests import reused_daemon
from tests.daemon import Daemon, full_listener
from tests.patience import PATIENCE
from tests.reel.both_clients import CLIENTS, Run, runner
from tests.running import end

pytestmark = pytest.mark.slow


class _Awaited:
    """The blocking subscription with the async one's interface."""

    def __init__(self, subscribe: Callable[[], Any]) -> None:
        self._subscribe = subscribe

    async def __aenter__(self) -> Self:
        self._subscription = await anyio.to_thread.run_sync(self._subscribe)
        self.head = self._subscription.head
        return self

    async def __aexit__(self, *_: object) -> None:
        self._subscription.close()

    async def __anext__(self) -> Any:
        found = await anyio.to_thread.run_sync(next, self._subscription, None)
        if found is None:
            raise StopAsyncIteration
        return found


class _Blocking:
    """A blocking client that makes such subscriptions."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def subscribe(self, *args: Any, **kwargs: Any) -> _Awaited:
        return _Awaited(lambda: self._client.subscribe(*args, **kwargs))

    async def ping(self) -> bool:
        return await anyio.to_thread.run_sync(self._client.ping)


prepared, reused = reused_daemon.prepared, reused_daemon.reused


@pytest.fixture
def daemon(prepared: Daemon) -> Daemon:
    """A daemon that has an agent ``demo``."""
    with prepared.client() as client:
        client.create("demo")
    return prepared


@pytest.fixture(params=CLIENTS)
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Run a scenario with one of the clients."""
    return runner(request.param, daemon, _Blocking)


async def seqs(subscription: Any, last: int) -> list[int]:
    """Return the seqs of events up to one."""
    found: list[int] = []
    while not found or found[-1] < last:
        push = await anext(subscription)
        assert isinstance(push, EventPush)
        found.append(push.seq)
    return found


def test_what_a_subscription_yields(run: Run, daemon: Daemon) -> None:
    """Return events with their effects on the view, from a position on or from now on."""

    async def scenario(client: Any) -> list[Any]:
        async with client.subscribe("demo", since=0) as past, client.subscribe("demo", view="conversation") as live:
            with daemon.client() as other:
                added = other.add("demo", "hi")
            events = [await anext(past), await anext(past), await anext(live)]
        return [past.head, *[(push.seq, push.kind, push.keep, push.count) for push in events], events, added]

    head, *shapes, events, added = run(scenario)
    assert (1, [(1, "created", 0, 0), (2, "user", 0, 1), (2, "user", 0, 1)]) == (head, shapes)
    assert "hi" == events[1].message["content"][0]["text"]
    assert {"seq": 2, "kind": "user", "content": "hi", "data_json": None, "time": added.time} == events[2].record
    assert ("demo", 2, added.agent, None) == (events[2].name, events[2].command, events[2].agent, events[2].message)


def test_a_place_that_nothing_can_have(run: Run) -> None:
    """An integer that no wire can carry is refused with the protocol's text, as in every other request."""

    async def scenario(client: Any) -> None:
        async with client.subscribe("demo", since=2**70):
            pass

    with pytest.raises(reel.InvalidParams, match="beyond"):
        run(scenario)


def test_a_subscription_to_all_agents(run: Run, daemon: Daemon) -> None:
    """Without an agent all events of all agents arrive, in the order of the ids."""

    async def scenario(client: Any) -> list[Any]:
        async with client.subscribe(kinds=["created", "user"]) as every:
            with daemon.client() as other:
                other.add("new", "hi", create=True)
                other.mark("new")
                other.add("demo", "ho")
            return [await anext(every) for _ in range(3)]

    pushes = run(scenario)
    first = pushes[0].id
    assert [("new", first), ("new", first + 1), ("demo", first + 3)] == [(push.name, push.id) for push in pushes]


def test_a_subscription_continues_after_a_restart(run: Run, daemon: Daemon) -> None:
    """After a restart of the daemon each event still arrives once and in order, even if the agent was renamed."""

    async def scenario(client: Any) -> list[int]:
        found: list[int] = []
        async with client.subscribe("demo", since=0) as subscription:
            for number, end in enumerate([signal.SIGKILL, signal.SIGTERM]):
                with daemon.client() as other:
                    other.add("demo" if number == 0 else f"name-{number}", ["x", "y"])
                    other.change("demo" if number == 0 else f"name-{number}", name=f"name-{number + 1}")
                found += await seqs(subscription, found[-1] + 2 if found else 2)
                await anyio.to_thread.run_sync(daemon.end, end)
                await anyio.to_thread.run_sync(daemon.start)
            found += await seqs(subscription, 7)
        return found

    assert [*range(1, 8)] == run(scenario)


def test_a_subscription_that_lagged_reads_the_log(run: Run, daemon: Daemon) -> None:
    """A subscriber that does not read for long misses nothing: events come from the log later."""

    async def scenario(client: Any) -> tuple[list[int], int]:
        async with client.subscribe("demo") as subscription:
            with daemon.client() as other:
                for _ in range(100):
                    other.add("demo", "x" * 100_000)
                found = await seqs(subscription, 101)
                other.mark("demo")
                return found + await seqs(subscription, 102), other.agent("demo").attached

    assert ([*range(2, 103)], 1) == run(scenario)


def test_a_subscription_shows_drafts(run: Run, daemon: Daemon) -> None:
    """Drafts of others arrive, and end when the daemon restarts."""

    async def scenario(client: Any) -> list[str]:
        async with client.subscribe("demo") as subscription:
            with daemon.client() as other:
                other.draft("demo", "so far")
                texts = [await anext(subscription)]
                await anyio.to_thread.run_sync(daemon.kill)
                await anyio.to_thread.run_sync(daemon.start)
                texts.append(await anext(subscription))
                other.draft("demo", "again")
                texts.append(await anext(subscription))
                other.add("demo", "done")
                texts.append(await anext(subscription))
        assert all(isinstance(push, DraftPush) for push in texts)
        return [push.text for push in texts]

    assert ["so far", "", "again", ""] == run(scenario)


def test_a_subscription_gives_up_reconnecting(run: Run, daemon: Daemon) -> None:
    """If the daemon does not come back, the subscription says so; it continues when a daemon comes back later."""

    async def scenario(client: Any) -> list[int]:
        async with client.subscribe("demo") as subscription:
            await anyio.to_thread.run_sync(daemon.kill)
            for _ in range(2):
                with pytest.raises(reel.NotRunning, match="the daemon went away"):
                    await anext(subscription)
            await anyio.to_thread.run_sync(daemon.start)
            with daemon.client() as other:
                other.mark("demo")
            return await seqs(subscription, 2)

    assert [2] == run(scenario, patience=0.3)  # it is reached


@contextmanager
def mute_listener(path: str) -> Iterator[None]:
    """Listen on a socket, and answer nobody."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        yield


@contextmanager
def taken_over(daemon: Daemon, listening: Callable[[str], AbstractContextManager[None]]) -> Iterator[None]:
    """Kill a daemon, let something else listen on its socket, and start the daemon again."""
    daemon.kill()
    Path(daemon.socket).unlink()
    with listening(daemon.socket):
        yield
    Path(daemon.socket).unlink()
    daemon.start()


@contextmanager
def attempts_of(seconds: float) -> Iterator[None]:
    """Set how long an attempt to connect may take."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("sync.client", "sync.subscription", "aio.client", "aio.subscription"):
            patch.setattr(f"reel.{module}.ATTEMPT", seconds)
        yield


@pytest.fixture
def _patient() -> Iterator[None]:
    """Let an attempt to connect to a running daemon take as long as it does."""
    with attempts_of(PATIENCE):
        yield


@pytest.mark.usefixtures("_patient")
def test_a_listener_that_never_answers(run: Run, daemon: Daemon) -> None:
    """A subscription and a call give up if something comes back that accepts and does not answer; then they go on."""

    async def scenario(client: Any) -> list[int]:
        async with client.subscribe("demo") as subscription:
            await client.ping()
            with taken_over(daemon, mute_listener), attempts_of(0.1):
                with pytest.raises(reel.NotRunning, match="the daemon went away"):
                    await anext(subscription)
                with pytest.raises(reel.NotRunning):
                    await client.ping()
            with daemon.client() as other:
                other.mark("demo")
            assert await client.ping()
            return await seqs(subscription, 2)

    assert [2] == run(scenario, patience=0.1)  # it is reached


@pytest.mark.usefixtures("_patient")
def test_a_listener_that_accepts_nothing(daemon: Daemon) -> None:
    """A blocking subscription and a call do not wait for a place in the queue without end."""
    patience = 0.1  # it is reached
    with Client(daemon.socket, patience=patience) as client, client.subscribe("demo") as subscription:
        client.ping()
        with taken_over(daemon, full_listener), attempts_of(0.1):
            with pytest.raises(reel.NotRunning, match="does not answer"):
                next(subscription)
            with pytest.raises(reel.NotRunning, match="does not answer"):
                client.ping()

        assert client.ping()


def test_refused_at_once(run: Run, daemon: Daemon) -> None:
    """An invalid subscription raises an error when it begins."""

    async def scenario(client: Any) -> None:
        with pytest.raises(reel.NotFound):
            async with client.subscribe("nobody"):
                pass
        with pytest.raises(reel.InvalidParams):
            async with client.subscribe("demo", since=-1):
                pass
        with daemon.client() as other:
            assert 0 == other.agent("demo").attached

    run(scenario)


def test_a_daemon_that_is_not_there(run: Run, daemon: Daemon) -> None:
    """If no daemon answers, or it hangs up, a new subscription raises at once, with the remedy."""

    async def scenario(client: Any) -> None:
        await anyio.to_thread.run_sync(daemon.kill)
        with pytest.raises(reel.NotRunning, match="reel start"):
            async with client.subscribe("demo"):
                pass
        await anyio.Path(daemon.socket).unlink()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(daemon.socket)
            listener.listen()
            rude = threading.Thread(target=_hang_up_on_one, args=(listener,))
            rude.start()
            with pytest.raises(reel.NotRunning, match="hung up"):
                async with client.subscribe("demo"):
                    pass
            await anyio.to_thread.run_sync(rude.join)

    run(scenario)


def _hang_up_on_one(listener: socket.socket) -> None:
    listener.accept()[0].close()


def test_a_subscription_after_its_end(run: Run, daemon: Daemon) -> None:
    """A closed subscription delivers nothing more and does not reconnect."""

    async def scenario(client: Any) -> None:
        async with client.subscribe("demo", since=0) as subscription:
            await anext(subscription)
        with pytest.raises(StopAsyncIteration):
            await anext(subscription)
        with daemon.client() as other:
            assert 0 == other.agent("demo").attached

    run(scenario)


def test_it_can_be_ended_while_it_waits(run: Run) -> None:
    """A wait for the next push ends when the subscription is closed."""

    async def scenario(client: Any) -> list[str]:
        ended: list[str] = []

        async def wait() -> None:
            with pytest.raises(StopAsyncIteration):
                await anext(subscription)
            ended.append("ended")

        async with anyio.create_task_group() as tasks, client.subscribe("demo") as subscription:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
        return ended

    assert ["ended"] == run(scenario)


def test_a_blocking_subscription_is_an_iterator(daemon: Daemon) -> None:
    """A subscription can be iterated, and closing it in the loop ends the loop."""
    with daemon.client() as client, client.subscribe("demo", since=0) as subscription:
        client.mark("demo")
        found = []
        for push in subscription:
            assert isinstance(push, EventPush)
            found.append(push.seq)
            if push.seq == 2:
                subscription.close()

    assert [1, 2] == found


async def test_a_cancelled_wait_loses_nothing(daemon: Daemon) -> None:
    """A cancelled wait, connected or not, can be repeated, and misses nothing."""
    with anyio.fail_after(PATIENCE):
        async with reel.aio.connect(daemon.socket) as client, client.subscribe("demo") as subscription:
            for number in range(50):
                if number == 25:
                    await anyio.to_thread.run_sync(daemon.kill)
                    await anyio.to_thread.run_sync(daemon.start)
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await anext(subscription)
                assert scope.cancelled_caught
                with anyio.move_on_after(0.001 * (number % 5)):
                    await anext(subscription)
            await client.add("demo", ["x"] * 5)

            assert [2, 3, 4, 5, 6] == await seqs(subscription, 6)


def test_a_subscription_starts_a_daemon(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With autostart, a subscription whose daemon is gone starts another one, and continues."""
    monkeypatch.setenv("REEL_DATABASE", daemon.database)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with (
        Client(daemon.socket, autostart=True) as client,
        client.subscribe("demo") as subscription,
        daemon.client() as other,
    ):
        daemon.kill()
        push = threading.Thread(target=other.mark, args=("demo",))
        push.start()
        found = next(subscription)
        push.join()
    end(daemon.socket)

    assert isinstance(found, EventPush)
    assert 2 == found.seq


def test_closed_while_it_comes_back(daemon: Daemon) -> None:
    """A subscription that another thread closes while it reconnects ends at once, and leaves no connection."""
    near, far = socket.socketpair()
    dialled: list[Any] = []

    def dial(_: float | None) -> Any:
        if not dialled:
            dialled.append(client.dial(None))
        else:
            dialled.append(near)
            subscription.close()
        return dialled[-1]

    with far, Client(daemon.socket) as client:
        subscription = Subscription(SubscriptionState(requests.subscribe("demo"), "test"), dial, 20.0)
        daemon.kill()

        assert [] == list(subscription)
        assert b"" == far.recv(1), "it asks for nothing more"
    assert -1 == near.fileno()


async def test_ended_while_it_comes_back(daemon: Daemon) -> None:
    """An async subscription that another task closes leaves no connection."""
    dialled: list[SocketStream] = []

    async def dial() -> SocketStream:
        if dialled:
            await anyio.to_thread.run_sync(daemon.start)
            await subscription.__aexit__(None, None, None)
        dialled.append(await anyio.connect_unix(daemon.socket))
        return dialled[-1]

    with anyio.fail_after(PATIENCE):
        state = SubscriptionState(requests.subscribe("demo"), "test")
        subscription = AsyncSubscription(state, dial, 20.0, TimeLimit(None))
        await subscription.__aenter__()
        await anyio.to_thread.run_sync(daemon.kill)

        assert [] == [push async for push in subscription]
        with pytest.raises(anyio.ClosedResourceError):
            await dialled[-1].receive()
