"""The order of one connection's calls: each begins when those before it have begun, and none of them has to be awaited.

If several daemons share a database, a call begins once everything is known that others had committed when it arrived.
One look serves all calls that arrived together.

Others may write to its agent after that. Then the call is *overtaken*: it begins again from its address, which may be
another agent's by now, in its old place, and so do the later calls to the same agent. Only here is that met. Until it
is known which calls are overtaken, none begins that awaits something: it would take effect before them.

Calls begin without a task being woken. Only what a call awaits is done in a task, the *worker*.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

import anyio.lowlevel
from anyio.abc import TaskGroup

from reel.base.errors import ReelError
from reel.base.light_typing import NamedTuple
from reel.base.wakeup import Signal
from reeld.agents.registry import Registry
from reeld.serving.call import Call
from reeld.serving.flow import do_nothing

# The part of a call that awaits something; it answers the call itself, or raises.
Rest: TypeAlias = Callable[[], Awaitable[None]]


class _Work(NamedTuple):
    """What the worker does."""

    call: Call
    rest: Rest


class Turns:
    """The turns of one connection's calls.

    Args:
        registry: has the agents and the store.
        begin: runs the handler of a call; returns the part that is left to await. A call whose turn has not come after
            all begins again, so a handler changes nothing itself: what it returns does.
        finish: awaits the rest of a call; an error is its answer.
        fail: answers a call with an error.
        needs_look: returns whether a call depends on what other daemons write.
    """

    def __init__(
        self,
        registry: Registry,
        begin: Callable[[Call], Rest | None],
        finish: Callable[[Call, Rest], Awaitable[None]],
        fail: Callable[[Call, Exception], None],
        needs_look: Callable[[Call], bool],
    ) -> None:
        self._registry = registry
        self._store = registry.store
        self._is_shared = registry.store.is_shared
        self._batch = registry.store.poller.batch
        self._begin = begin
        self._finish = finish
        self._fail = fail
        self._needs_look = needs_look
        # The calls that have not begun, in their order; and what is awaited before they begin.
        self._pending: deque[Call] = deque()
        self._work: _Work | None = None
        # How many calls arrived, how many of them did so before it was known what other daemons had committed, and
        # whether that is being found out.
        self._arrived = self._current = 0
        self._is_looking = False
        # How many calls that have become jobs may still be overtaken.
        self._posted = 0
        self._wake = Signal()
        self._has_worker = False
        self._tasks: TaskGroup | None = None

    @property
    def are_free(self) -> bool:
        """Whether a call may begin at once, and is not overtaken."""
        return not (self._pending or self._work or self._is_shared)

    def open(self, tasks: TaskGroup) -> None:
        """Run the worker in a task of this group.

        It starts with the first call that awaits something: a task takes 5 KB, and many connections only add.
        """
        self._tasks = tasks

    def close(self) -> None:
        """Drop the calls that nobody waits for any more, and the references to their connection."""
        self._pending.clear()
        self._posted = 0
        self._tasks = None
        self._begin = self._fail = do_nothing
        self._finish = _finished

    def take(self, call: Call) -> None:
        """Begin a call that has arrived, now or when its turn comes."""
        self._arrived += 1
        call.place = self._arrived
        self._pending.append(call)
        self._go_on()

    def again(self, call: Call) -> None:
        """Begin a call again that was overtaken; not at once, because others may be told of the same news after it."""
        later = (number for number, each in enumerate(self._pending) if each.place > call.place)
        self._pending.insert(next(later, len(self._pending)), call)
        self._wake_worker()

    def note_posted(self, call: Call) -> None:
        """Take note that a call has become a job, which may be overtaken."""
        if self._is_shared:
            call.is_posted = True
            self._posted += 1

    def note_outcome(self, call: Call) -> None:
        """Take note that a call that had become a job is over; others may wait for that."""
        call.is_posted = False
        self._posted -= 1
        if self._pending and not self._posted:
            self._wake_worker()

    def _go_on(self) -> None:
        """Begin calls in their order, until one has to wait."""
        while self._pending and self._work is None:
            call = self._pending[0]
            if self._is_shared and not self._is_current(call):
                self._look()
                return
            self._pending.popleft()
            rest = self._begin(call)
            if rest is None:
                continue
            if self._posted:
                self._pending.appendleft(call)
                return
            self._work = _Work(call, rest)
            self._wake_worker()

    def _is_current(self, call: Call) -> bool:
        """Whether everything that any daemon committed before a call arrived is known, if the call depends on that."""
        return call.place <= self._current or not self._needs_look(call)

    def _look(self) -> None:
        """Learn what other daemons have committed, for all calls that have arrived at the end of the batch."""
        if not self._is_looking:
            self._is_looking = True
            if not self._batch.note(self._ask):
                self._ask()

    def _ask(self) -> None:
        self._store.looks.ask(partial(self._on_look, self._arrived))

    def _on_look(self, arrived: int, error: ReelError | None) -> None:
        """Go on with the calls that had arrived before a look, or refuse them if it failed."""
        self._is_looking = False
        self._current = arrived
        if error is not None:
            for call in [each for each in self._pending if each.place <= arrived and self._needs_look(each)]:
                self._pending.remove(call)
                self._fail(call, error)
        self._go_on()

    def _wake_worker(self) -> None:
        if not self._has_worker and self._tasks is not None:
            self._has_worker = True
            self._tasks.start_soon(self._run)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            if self._work is None:
                self._resume()
            while self._work is not None:
                await self._finish(*self._work)
                self._work = None
                if self._pending:  # it need not have awaited anything
                    await anyio.lowlevel.checkpoint()
                self._resume()

    def _resume(self) -> None:
        with self._batch:
            self._go_on()
            self._registry.pump()


async def _finished(_call: Call, _rest: Rest) -> None:
    """Await nothing: nobody waits for the answer."""
