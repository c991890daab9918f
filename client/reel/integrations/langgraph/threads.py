"""The threads of a saver that are in memory."""

from __future__ import annotations

import os

from reel.integrations.langgraph.thread import Thread
from reel.integrations.naming import named
from reel.integrations.newest import Newest

# The maximum number of threads in memory.
_THREADS = 64


class Threads:
    """The most recently used threads.

    Args:
        prefix: the prefix of their agents' names.

    Raises:
        InvalidParams: the prefix is not valid in a name.
    """

    def __init__(self, prefix: str) -> None:
        named(prefix, "")
        self.prefix = prefix
        self._threads = Newest[str, Thread](_THREADS)
        self._process = os.getpid()

    def of(self, thread_id: str | int) -> Thread:
        """Return the thread with an id; the framework's own savers take numbers as well."""
        given = str(thread_id) if isinstance(thread_id, int) else thread_id
        thread = self.named(*named(self.prefix, given))
        thread.thread_id = given
        return thread

    def named(self, name: str, tags: dict[str, str]) -> Thread:
        """Return the thread whose agent has a name.

        Args:
            name: the name.
            tags: the tags that the agent is created with.
        """
        if self._process != os.getpid():  # after a fork: the holder of a lock is in the parent
            self._threads, self._process = Newest(_THREADS), os.getpid()
        thread = self._threads.pop(name, None) or Thread(name, tags)
        self._threads[name] = thread
        return thread
