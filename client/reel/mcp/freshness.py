"""Keeps what is read fresh: while calls come, what tools have written is brought in, in the background.

A call waits a moment for it, and then says what is not read in yet: an answer a little out of date is better than none.
"""

import threading
from collections.abc import Callable, Mapping

import anyio

from reel.base.errors import ReelError
from reel.base.light_typing import NamedTuple
from reel.importing.adding.masking import Masking
from reel.importing.refreshing import Caller, Refresher, Stopped

# Seconds between the beginnings of two imports, and those that a call waits for one.
_INTERVAL = 5.0
_PATIENCE = 0.2


class Settled(NamedTuple):
    """What a call can count on.

    Args:
        is_newest: whether all is read in that was written before it.
        is_reading: whether something is still being read in.
        at: the conversation that is being read in, if that is known.
        problem: why what was written is not read in; empty if nothing went wrong.
    """

    is_newest: bool
    is_reading: bool = False
    at: str = ""
    problem: str = ""


class Freshness:
    """Imports in the background.

    Args:
        socket: the path of the daemon's socket.
        environment: says where the tools keep their histories.
        new_masking: makes what is done with keys and passwords.
        interval: the seconds between the beginnings of two imports.
    """

    def __init__(
        self,
        socket: str,
        environment: Mapping[str, str],
        new_masking: Callable[[], Masking] = Masking,
        interval: float = _INTERVAL,
    ) -> None:
        self._interval = interval
        self._stopped = threading.Event()
        self._refresher = Refresher(socket, environment, self._stopped.is_set, new_masking)
        self._tasks: anyio.abc.TaskGroup | None = None
        self._done = anyio.Event()
        self._is_running = False
        self._next = 0.0
        self._problem = ""

    async def run(self) -> None:
        """Import when calls ask for it, until cancelled; then an import that is not done ends where it is."""
        try:
            async with anyio.create_task_group() as self._tasks:
                await anyio.sleep_forever()
        finally:
            self._stopped.set()

    async def settle(self, caller: Caller) -> Settled:
        """Wait a moment for an import, and return what came of it."""
        now = anyio.current_time()
        begins = False
        if self._tasks is not None and not self._is_running and now >= self._next:
            begins = True
            self._next, self._is_running, self._done = now + self._interval, True, anyio.Event()
            self._tasks.start_soon(self._import, caller)
        if self._is_running:
            with anyio.move_on_after(_PATIENCE):
                await self._done.wait()
        if self._is_running:
            return Settled(is_newest=False, is_reading=True, at=self._refresher.at)
        # An import that began before the call may have missed what was written since.
        return Settled(begins and not self._problem, problem=self._problem)

    async def _import(self, caller: Caller) -> None:
        began = anyio.current_time()
        try:
            has_own = await anyio.to_thread.run_sync(self._refresher.run, caller, abandon_on_cancel=True)
            self._problem = ""
            if not has_own:  # its tool may be about to write it; half of the time is enough for looking
                now = anyio.current_time()
                self._next = min(self._next, now + (now - began))
        except Stopped:
            pass
        except (ReelError, OSError) as error:
            self._problem = str(error)
        except Exception as error:  # of a file that nobody thought of: what is known can still be read
            self._problem = f"{type(error).__name__}: {error}"
        finally:
            self._is_running = False
            self._done.set()
