"""The dispatcher: the order of calls, detached calls, and the one way from an outcome to its reply."""

import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import anyio
import pytest
from anyio.abc import TaskGroup

from reel.base import installation
from reel.base.errors import Busy, Internal, InvalidParams, MethodNotFound, NotFound, ReelError, Storage
from reel.version import __version__
from reeld.protocol.signature import Signature
from reeld.serving.call import Call, Deferred, Detached, Result, Services, Work
from reeld.serving.dispatcher import Dispatcher
from reeld.serving.flow import Limits, Traffic
from reeld.serving.methods import METHODS, Method
from reeld.store.commit_faults import OvertakenError
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Outcome
from tests.reeld.verify.damage import damage


class Caller:
    """A peer that submits calls to its dispatcher, and records the outcomes in the order of the replies.

    Args:
        services: what handlers work with.
        tasks: the tasks of the peer.
    """

    number = 1
    client = None

    def __init__(self, services: Services, tasks: TaskGroup) -> None:
        self.replies: list[tuple[int, Outcome]] = []
        self._tasks = tasks
        self._registry = services.registry
        self._replied = anyio.Event()
        self._sent = 0
        self._peer = cast(Any, self)  # the methods here use a peer's number and client only
        none: list[Any] = []  # no connection has read several requests
        self.dispatcher = Dispatcher(
            *(services, Traffic(), Limits(), self._reply),
            reply_all=lambda *_: none.pop(),
            order_is_free=lambda: True,
            start_soon=self._start_soon,
            on_settled=lambda: None,
        )

    def end_draft(self, row: int) -> None:
        """Ignore it: no draft is written here."""

    def submit(self, method: str, *params: Any) -> None:
        """Submit a call in a batch of its own; calls are numbered from 1."""
        self._sent += 1
        self.dispatcher.submit(Call(self._peer, self.dispatcher.settle, self._sent, method, 10), list(params))
        self._registry.pump()

    async def wait(self, count: int) -> list[tuple[int, Outcome]]:
        """Wait for so many replies, and return them."""
        while len(self.replies) < count:
            await self._replied.wait()
        return self.replies

    def _reply(self, call: Call, outcome: Any) -> None:
        assert isinstance(call.number, int)
        self.replies.append((call.number, outcome))
        self._replied.set()
        self._replied = anyio.Event()

    def _start_soon(self, function: Callable[..., Any], *args: Any) -> bool:
        self._tasks.start_soon(function, *args)
        return True


@pytest.fixture
async def caller(services: Services) -> AsyncIterator[Caller]:
    """A caller whose dispatcher runs."""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            caller = Caller(services, tasks)
            caller.dispatcher.open(tasks)
            yield caller
            tasks.cancel_scope.cancel()


class Methods:
    """Methods that record when they begin and end, and end when the test releases them."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.released = anyio.Event()

    def deferred(self, _services: Services, call: Call, _: Any) -> Deferred:
        return Deferred(lambda: self._run(f"deferred {call.number}"))

    def detached(self, _services: Services, call: Call, _: Any) -> Detached:
        return Detached(lambda: self._run(f"detached {call.number}"))

    async def _run(self, name: str) -> Result:
        self.log.append(f"{name} begins")
        await self.released.wait()
        await anyio.lowlevel.checkpoint()
        self.log.append(f"{name} ends")
        return {}


def _fails(*_: Any) -> Result:
    raise RuntimeError("a bug")


def _cannot_be_loaded(*_: Any) -> Result:
    raise ImportError("cannot import name 'x' from 'y'")


async def _fails_later() -> Result:
    raise RuntimeError("a bug")


@pytest.fixture
def methods(monkeypatch: pytest.MonkeyPatch) -> Methods:
    """Methods of the tests' own, added to the table."""
    methods = Methods()
    handlers: dict[str, Callable[..., Work]] = {
        "deferred": methods.deferred,
        "detached": methods.detached,
        "bug": _fails,
        "updated": _cannot_be_loaded,
        "deferred_bug": lambda *_: Deferred(_fails_later),
        "detached_bug": lambda *_: Detached(_fails_later),
    }
    for name, handler in handlers.items():
        monkeypatch.setitem(METHODS, name, Method(name, Signature(()), "A test's own", handler))
    return methods


async def test_deferred_calls_run_one_after_the_other(caller: Caller, methods: Methods) -> None:
    """A deferred call begins when the one before has ended, and calls behind it wait for their turn."""
    for method in ("deferred", "ping", "deferred", "ping"):
        caller.submit(method)
    methods.released.set()
    replies = await caller.wait(4)

    assert [1, 2, 3, 4] == [number for number, _ in replies]
    assert ["deferred 1 begins", "deferred 1 ends", "deferred 3 begins", "deferred 3 ends"] == methods.log


async def test_calls_that_await_nothing_give_others_a_turn(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the calls of one connection others run, even if none of them has to wait for anything."""
    log: list[str] = []

    async def at_once() -> Result:
        log.append("call")
        return {}

    async def other() -> None:
        for _ in range(10):
            log.append("other")
            await anyio.lowlevel.checkpoint()

    method = Method("at_once", Signature(()), "A test's own", lambda *_: Deferred(at_once))
    monkeypatch.setitem(METHODS, "at_once", method)
    caller._tasks.start_soon(other)
    for _ in range(3):
        caller.submit("at_once")
    await caller.wait(3)
    first, last = log.index("call"), len(log) - log[::-1].index("call")

    assert "other" in log[first:last]


@pytest.mark.parametrize("kind", [Deferred, Detached])
async def test_a_call_that_is_overtaken_again_and_again(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, kind: Callable[..., Work]
) -> None:
    """It begins again a hundred times; then it is refused, with what to do, and nothing counts as in flight."""
    begun: list[None] = []

    async def overtaken() -> Result:
        begun.append(None)
        raise OvertakenError

    monkeypatch.setitem(METHODS, "late", Method("late", Signature(()), "A test's own", lambda *_: kind(overtaken)))
    caller.submit("late")
    ((_, refused),) = await caller.wait(1)
    await anyio.wait_all_tasks_blocked()

    assert isinstance(refused, Busy)
    assert "nothing was done: 100 times another daemon wrote to the agent first; retry when it writes less" == (
        refused.message
    )
    assert (101, 0) == (len(begun), caller.dispatcher.in_flight)


async def test_a_detached_call_blocks_no_other(caller: Caller, methods: Methods) -> None:
    """Calls after a detached one are answered before it ends, deferred ones included."""
    caller.submit("detached")
    caller.submit("ping")
    caller.submit("create", "demo")
    assert [2, 3] == [number for number, _ in await caller.wait(2)]
    assert caller.dispatcher.busy
    methods.released.set()

    assert (1, {}) == (await caller.wait(3))[-1]


@pytest.mark.usefixtures("methods")
@pytest.mark.parametrize("method", ["bug", "deferred_bug", "detached_bug"])
async def test_a_bug_wherever_it_is_raised(caller: Caller, method: str, caplog: pytest.LogCaptureFixture) -> None:
    """A bug in a handler, or in the work that it returns, is logged once and answered as ``internal``."""
    caller.submit(method)
    ((_, error),) = await caller.wait(1)

    assert isinstance(error, Internal)
    assert [f"connection=1 method={method} failed"] == [
        record.getMessage() for record in caplog.records if record.levelno == logging.ERROR
    ]


@pytest.mark.usefixtures("methods", "caplog")
@pytest.mark.parametrize(("method", "running"), [("updated", __version__), ("bug", "0.0.1")])
async def test_an_update_below_a_daemon_that_runs(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, method: str, running: str
) -> None:
    """If a handler's modules do not fit those that are loaded, the answer says to restart the daemon."""
    monkeypatch.setattr(installation, "__version__", running)
    caller.submit(method)
    ((_, error),) = await caller.wait(1)

    assert isinstance(error, Internal)
    assert "reeld was updated while it was running; restart it with: reel stop; reel start" == error.message


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (("nonsense",), MethodNotFound),
        (("ping", 1), InvalidParams),
        (("agent", "nobody"), NotFound),
        (("add", "nobody", "hi", {"key": "k"}), NotFound),
    ],
)
async def test_a_refusal_wherever_it_is_raised(caller: Caller, call: tuple[Any, ...], error: type[ReelError]) -> None:
    """A refusal is answered once as it is, whether it is raised at once or later, with a key or without."""
    caller.submit(*call)
    caller.submit("ping")
    replies = await caller.wait(2)

    assert {1: error, 2: dict} == {number: type(outcome) for number, outcome in replies}


async def test_a_refused_command_that_was_applied_before(caller: Caller) -> None:
    """A refused command is answered with its first reply if its key was used for it."""
    for _ in range(2):
        caller.submit("add", "demo", "hi", {"create": True, "if_seq": 0, "key": "k"})
        await caller.wait(1)
    (_, first), (_, second) = await caller.wait(2)

    assert isinstance(first, dict)
    assert {**first, "repeated": True} == second


async def test_a_key_is_looked_up_once(caller: Caller, services: Services) -> None:
    """The error of a failed look-up is the reply; it is not looked up in turn."""
    damage(services.store.path, "DROP TABLE keys")
    caller.submit("add", "nobody", "hi", {"key": "k"})
    caller.submit("ping")
    replies = await caller.wait(2)

    assert {1: Storage, 2: dict} == {number: type(outcome) for number, outcome in replies}
