"""Handlers that are imported when they are first called.

They need modules that the rest of the daemon does not: the formats of the providers, and the checks of a database.
Importing these takes a fifth of the start-up time. The formats take longest, about 70 ms: a thread imports them, so
that the daemon goes on serving.
"""
# ruff: noqa: PLC0415 - that is what it is for

from collections.abc import Awaitable, Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import anyio

from reeld.agents.exclusive import Addition
from reeld.serving.call import Deferred, Detached, Result, Work

_PACKAGE = "reeld.serving.handlers"
# What has been imported; what is only in ``sys.modules`` may not be complete yet.
_imported: dict[str, ModuleType] = {}


def add_items(*given: Any, **more: Any) -> Work:
    """Add items to an agent, or to one that is created for them."""
    if "items" in _imported:
        work: Work = _imported["items"].Items(*given, **more).add()
        return work
    return _after_import("items", lambda handlers: handlers.Items(*given, **more).add_apart())


async def read_items(*given: Any) -> Addition:
    """Return what items are to write behind some open calls."""
    added: Addition = await (await _import("items")).read_items(*given)
    return added


def render(*given: Any) -> Deferred:
    """Render a conversation."""
    return _after_import("render", lambda handlers: handlers.render(*given).run())


def ingest(*given: Any) -> Deferred:
    """Add what a provider answered, and its token usage."""
    return _after_import("ingest", lambda handlers: handlers.ingest(*given).run())


def load(*given: Any) -> Deferred:
    """Add the history of a whole request."""
    return _after_import("ingest", lambda handlers: handlers.load(*given).run())


def _after_import(name: str, run: Callable[[ModuleType], Awaitable[Result | bytes]]) -> Deferred:
    async def import_and_run() -> Result | bytes:
        return await run(await _import(name))

    return Deferred(import_and_run)


async def _import(name: str) -> ModuleType:
    if name not in _imported:
        _imported[name] = await anyio.to_thread.run_sync(import_module, f"{_PACKAGE}.{name}")
    return _imported[name]


def verify(*given: Any) -> Detached:
    """Check the database, the logs and the live states."""
    from reeld.serving.handlers import database

    return database.verify(*given)


def backup(*given: Any) -> Detached:
    """Write a copy of everything that was committed, and check it."""
    from reeld.serving.handlers import database

    return database.backup(*given)
