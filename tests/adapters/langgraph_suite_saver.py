"""A plugin for the suite of LangGraph: our saver in the place of its SQLite savers, and no other databases.

It is loaded by its name alone, because the suite is a package ``tests`` as well.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from reel.integrations.langgraph import ReelSaver

os.environ["NO_DOCKER"] = "true"


class _Server(ModuleType):
    """A module of a server that is not there, with any class in it."""

    def __getattr__(self, name: str) -> type:
        return type(name, (), {})


for absent in (
    *("redis", "psycopg", "psycopg_pool", "langgraph.cache.redis", "langgraph.store.postgres"),
    *("langgraph.checkpoint.postgres", "langgraph.checkpoint.postgres.aio"),
):
    sys.modules[absent] = _Server(absent)


@contextmanager
def saver(**options: Any) -> Iterator[ReelSaver]:
    """A saver whose threads are its own."""
    # Not uuid4, which tests of the suite count.
    made = ReelSaver(prefix=f"suite/{os.urandom(8).hex()}/", **options)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def encrypting_saver() -> Iterator[ReelSaver]:
    with saver(serde=EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456")) as made:
        yield made


@asynccontextmanager
async def async_saver() -> Any:
    with saver() as made:
        yield made


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run what uses a SQLite saver, with ours."""
    suite: Any = sys.modules["tests.conftest"]
    suite._checkpointer_sqlite = saver
    suite._checkpointer_sqlite_aes = encrypting_saver
    suite._checkpointer_sqlite_aio = async_saver
    others = [item for item in items if not _uses_sqlite(item)]
    items[:] = [item for item in items if _uses_sqlite(item)]
    config.hook.pytest_deselected(items=others)


def _uses_sqlite(item: Any) -> bool:
    found = item.callspec.params if hasattr(item, "callspec") else {}
    return any(str(found.get(f"{color}_checkpointer", "")).startswith("sqlite") for color in ("sync", "async"))
