"""A plugin for the suite of the Claude Agent SDK: our store in the place of its in-memory one, with its helpers."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import claude_agent_sdk
from claude_agent_sdk._internal import session_store

from reel.integrations.claude_agent_sdk import ReelSessionStore
from reel.sync.client import Client

_NUMBERS = count()


class Store(ReelSessionStore):
    """A store that nothing else is in."""

    def __init__(self) -> None:
        self._alone = f"t{os.getpid()}-{next(_NUMBERS)}/"
        super().__init__(prefix=self._alone)
        # Tests set the times of some sessions.
        self._mtimes: dict[str, int] = {}

    async def list_sessions(self, project_key: str) -> list[Any]:
        return [
            {**found, "mtime": self._mtimes.get(f"{project_key}/{found['session_id']}", found["mtime"])}
            for found in await super().list_sessions(project_key)
        ]

    def get_entries(self, key: Any) -> list[Any]:
        """Return the entries, also while an event loop runs."""
        other = ReelSessionStore(prefix=self._alone)
        loading = other.load(key)
        try:
            return _finish(loading) or []
        finally:
            other.close()

    @property
    def size(self) -> int:
        """How many sessions there are."""
        with Client() as client:
            return sum("subpath" not in row.tags for row in client.iter_agents(self._alone))

    def clear(self) -> None:
        """Remove all sessions."""
        with Client() as client:
            for row in client.iter_agents(self._alone):
                client.purge(row.id)


def _finish(loading: Any) -> Any:
    """Return what a coroutine returns, in a thread of its own: the caller's event loop may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, loading).result()


for module in (claude_agent_sdk, session_store):
    module.InMemorySessionStore = Store
