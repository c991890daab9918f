"""The tasks of a connection, which end with its peer."""

from types import TracebackType
from typing import Any

import anyio


class PeerTasks:
    """Runs tasks until its block ends, or the peer is gone; then it cancels them.

    A generator would be shorter. From Python 3.12 on, a cancellation that went through it would be in a cycle with its
    frame, and would keep the connection in memory until the garbage collector runs.
    """

    def __init__(self) -> None:
        self._group = anyio.create_task_group()
        self._is_open = False

    async def __aenter__(self) -> None:
        """Let tasks be started."""
        await self._group.__aenter__()
        self._is_open = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Cancel the tasks, and wait for their end."""
        self.cancel()
        return await self._group.__aexit__(kind, error, traceback)

    def start_soon(self, function: Any, *args: Any) -> bool:
        """Start a task, unless the tasks have ended; return whether it was started."""
        if self._is_open:
            self._group.start_soon(function, *args)
        return self._is_open

    def cancel(self) -> None:
        """Cancel every task, and start no more."""
        if self._is_open:
            self._is_open = False
            self._group.cancel_scope.cancel()
