"""Handlers that are imported when they are first called.

They need modules that the rest of the daemon does not: the formats of the providers, and the checks of a database.
Importing these takes a fifth of the start-up time.
"""
# ruff: noqa: PLC0415 - that is what it is for

from typing import Any

from reeld.agents.exclusive import Addition
from reeld.serving.call import Deferred, Detached, Work


def add_items(*given: Any, **more: Any) -> Work:
    """Add items to an agent, or to one that is created for them."""
    from reeld.serving.handlers import items

    return items.add_items(*given, **more)


async def read_items(*given: Any) -> Addition:
    """Return what items are to write behind some open calls."""
    from reeld.serving.handlers import items

    return await items.read_items(*given)


def render(*given: Any) -> Deferred:
    """Render a conversation."""
    from reeld.serving.handlers import render as handlers

    return handlers.render(*given)


def ingest(*given: Any) -> Deferred:
    """Add what a provider answered, and its token usage."""
    from reeld.serving.handlers import ingest as handlers

    return handlers.ingest(*given)


def load(*given: Any) -> Deferred:
    """Add the history of a whole request."""
    from reeld.serving.handlers import ingest as handlers

    return handlers.load(*given)


def verify(*given: Any) -> Detached:
    """Check the database, the logs and the live states."""
    from reeld.serving.handlers import database

    return database.verify(*given)


def backup(*given: Any) -> Detached:
    """Write a copy of everything that was committed, and check it."""
    from reeld.serving.handlers import database

    return database.backup(*given)
