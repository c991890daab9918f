"""Handlers that need the formats of the providers, which are imported when one of them is first called.

That takes about 70 ms: a thread does it, so that the daemon goes on serving.
"""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from types import ModuleType

import anyio

from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions
from reeld.core.open_calls import OpenCall
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services, Work

_PACKAGE = "reeld.serving.handlers"
# What has been imported; what is only in ``sys.modules`` may not be complete yet.
_imported: dict[str, ModuleType] = {}


def add_items(services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Add) -> Work:
    """Add items to an agent, or to one that is created for them."""
    given = services, call, target, options, asked
    if "items" in _imported:
        work: Work = _imported["items"].Items(*given).add()
        return work
    return _after_import("items", lambda handlers: handlers.Items(*given).add_apart())


def items_alone(call: Call, asked: params.Add) -> Addition | None:
    """Return what few items are to write; ``None`` if that depends on open calls, or would take long."""
    if "items" not in _imported:
        return None
    added: Addition | None = _imported["items"].items_alone(call, asked)
    return added


async def read_items(services: Services, call: Call, asked: params.Add, open_calls: Iterable[OpenCall]) -> Addition:
    """Return what items are to write behind some open calls."""
    added: Addition = await (await _import("items")).read_items(services, call, asked, open_calls)
    return added


def render(services: Services, call: Call, agent: Agent, asked: params.Render) -> Deferred:
    """Render a conversation."""
    return _after_import("render", lambda handlers: handlers.render(services, call, agent, asked).run())


def ingest(
    services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Ingest
) -> Deferred:
    """Add what a provider answered, and its token usage."""
    return _after_import("ingest", lambda handlers: handlers.ingest(services, call, target, options, asked).run())


def parse(services: Services, _call: Call, asked: params.Parse) -> Deferred:
    """Read what a provider answered, and add nothing."""
    return _after_import("ingest", lambda handlers: handlers.parse(services, asked).run())


def load(services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Load) -> Deferred:
    """Add the history of a whole request."""
    return _after_import("ingest", lambda handlers: handlers.load(services, call, target, options, asked).run())


def _after_import(name: str, run: Callable[[ModuleType], Awaitable[Result | bytes]]) -> Deferred:
    async def import_and_run() -> Result | bytes:
        return await run(await _import(name))

    return Deferred(import_and_run)


async def _import(name: str) -> ModuleType:
    if name not in _imported:
        _imported[name] = await anyio.to_thread.run_sync(import_module, f"{_PACKAGE}.{name}")
    return _imported[name]
