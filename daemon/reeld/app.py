"""The daemon as a whole: what runs, who owns it, and in which order it ends."""

import gc
import logging
import os
import signal
import socket
import time
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import anyio
from anyio.abc import TaskStatus

from reel.errors import Storage
from reeld import descriptors, logs
from reeld.agents.creation import AgentFactory
from reeld.agents.registry import Registry
from reeld.config import Config
from reeld.errors import OK, Refused
from reeld.locks import lock
from reeld.notify import Supervisor, find_supervisor, given_socket, path_of
from reeld.serving.call import Services
from reeld.serving.drafts import Drafts
from reeld.serving.listener import Server, open_listener, require_path, take_over
from reeld.serving.render_cache import RenderCache
from reeld.store.database import SQLITE
from reeld.store.store import Store, open_store

log = logging.getLogger(__name__)

# Allocations before a young collection, and such before an older one; Python's own is (700, 10, 10).
_GC = (50_000, 20, 100)
_STOPS = (signal.SIGTERM, signal.SIGINT)
# How often idle agents retire and the WAL is copied into the file, in seconds.
_TIDY_EVERY = 60.0
# How often the files of the database are looked at while nobody writes, in seconds.
_WATCH_EVERY = 1.0


def main(config: Config) -> int:
    """Run until told to stop; give the exit status."""
    logs.set_up(config.log_level)
    os.umask(0o077)
    config = config._replace(socket=os.path.abspath(config.socket), database=os.path.abspath(config.database))  # noqa: PTH100 - a symlink stays one
    # What is kept for long is a list of entries without cycles: looking for some in it, over and over, is in vain.
    gc.freeze()
    gc.set_threshold(*_GC)
    os.chdir("/")  # keep no file system from being unmounted
    supervisor = find_supervisor(os.environ)
    try:
        _lock_and_serve(config, supervisor)
    except (Refused, BaseExceptionGroup) as error:
        refused = _only(error)
        if not isinstance(refused, Refused):
            raise
        logs.last_word(str(refused))
        supervisor.tell(f"STATUS={refused}")
        return refused.status
    return OK


def _lock_and_serve(config: Config, supervisor: Supervisor) -> None:
    with ExitStack() as stack:
        given = given_socket(os.environ)
        if given is None:
            require_path(config.socket)
            stack.enter_context(lock(config.socket, "the socket"))
        else:  # its path is the supervisor's affair
            config = config._replace(socket=path_of(stack.enter_context(given)))
        held = stack.enter_context(lock(config.database, "the database"))
        anyio.run(serve, config, supervisor, given, held, backend="trio")


def _only(error: BaseException) -> BaseException:
    """Take an error out of the groups that tasks wrapped around it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def serve(config: Config, supervisor: Supervisor, given: socket.socket | None, held: int) -> None:
    """Open the store, listen, and serve until a signal or ``shutdown``.

    What ends first is what stands on the others: connections get their answers, agents finish, the writer
    commits, the database closes.

    Args:
        config: what the daemon was told.
        supervisor: who is told when it is ready, alive and stopping.
        given: a socket to listen on in place of one of our own.
        held: the descriptor of the file that locks the database.
    """
    began = time.monotonic()
    stop = anyio.Event()
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(open_store(config.database, config.durability, held))
        except Storage as error:
            raise Refused(error.message) from error
        agents = await stack.enter_async_context(anyio.create_task_group())
        registry = Registry(store, agents, *config.agents)
        most = descriptors.make_room(config.connection.max_open)
        server = Server(config.connection._replace(max_open=most))

        def counters() -> dict[str, Any]:
            uptime = int((time.monotonic() - began) * 1000)
            where = {"socket": config.socket, "database": config.database}
            return {"uptime": uptime, "sqlite": SQLITE, **where, **server.counters()}

        drafts = Drafts(registry.bus)
        services = Services(registry, store, AgentFactory(registry), drafts, stop.set, counters, RenderCache())
        async with anyio.create_task_group() as tasks:
            await tasks.start(_obey_signals, stop)  # before anybody can know that there is somebody to stop
            async with open_listener(config.socket) if given is None else take_over(given) as listener:
                tasks.start_soon(_tidy, store, registry)
                tasks.start_soon(_watch, store)
                tasks.start_soon(drafts.run)
                await tasks.start(server.run, listener, services)
                tasks.start_soon(supervisor.reassure, store.writer.prove)
                where = f"{config.socket} with {config.database}"
                log.info("ready in %d ms on %s", (time.monotonic() - began) * 1e3, where)
                supervisor.tell("READY=1", f"STATUS=listens on {where}")
                await stop.wait()
                log.info("stopping")
                supervisor.tell("STOPPING=1", "STATUS=finishes what is in flight")
                await server.close()
            tasks.cancel_scope.cancel()
        for number in _STOPS:  # it is stopping, and who says so twice must not cut that short
            signal.signal(number, signal.SIG_IGN)
        await registry.drain()
        agents.cancel_scope.cancel()
    log.info("stopped")


async def _obey_signals(stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    with anyio.open_signal_receiver(*_STOPS) as signals:
        task_status.started()
        async for number in signals:
            log.info("got %s", signal.Signals(number).name)
            stop.set()


async def _tidy(store: Store, registry: Registry) -> None:
    while True:
        await anyio.sleep(_TIDY_EVERY)
        registry.evict()
        await store.tidy()


async def _watch(store: Store) -> None:
    while True:
        await anyio.sleep(_WATCH_EVERY)
        await store.watch()
