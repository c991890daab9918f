"""A registry over a store on a real file."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from reeld.agents.asking import drain
from reeld.agents.registry import Registry
from reeld.store.store import open_store
from tests.empty_database import empty_database
from tests.patience import PATIENCE
from tests.reeld.agents.direct_client import DirectClient

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[DirectClient]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of an empty database."""
    return empty_database(tmp_path / "reel.db")


@pytest.fixture
def opened(path: str) -> Open:
    """Open the store and a registry as a starting daemon does; each use has a time limit."""

    @asynccontextmanager
    async def open_client(
        max_live: int = 1000, idle: float = 600.0, memory: int = 256 << 20
    ) -> AsyncIterator[DirectClient]:
        with anyio.fail_after(PATIENCE):
            async with open_store(path) as store, anyio.create_task_group() as tasks:
                client = DirectClient(Registry(store, tasks, max_live, idle, memory=memory), tasks)
                yield client
                await drain(client.registry)
                tasks.cancel_scope.cancel()

    return open_client


@pytest.fixture
async def client(opened: Open) -> AsyncIterator[DirectClient]:
    """A client of a new daemon, with a time limit."""
    async with opened() as found:
        yield found
