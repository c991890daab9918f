"""The tasks of a connection, which end with its peer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup


class PeerTasks:
    """The tasks of a connection that are cancelled when the peer is gone."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Run tasks until the block ends; then cancel them."""
        async with anyio.create_task_group() as self._group:
            try:
                yield
            finally:
                self.cancel()

    def start_soon(self, function: Any, *args: Any) -> bool:
        """Start a task, unless the tasks have ended; return whether it was started."""
        if self._group is None:
            return False
        self._group.start_soon(function, *args)
        return True

    def cancel(self) -> None:
        """Cancel every task, and start no more."""
        if self._group is not None:
            self._group.cancel_scope.cancel()
            self._group = None
