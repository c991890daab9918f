"""The daemon as a whole: its tasks, their owners, and the order in which they end.

The tree of the tasks, and what the failure of each means, are in docs/architecture.md. It ends from the outside in:
connections get their replies, agents finish, the writer commits, the database closes.
"""

import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, TypeAlias

import anyio
import trio
from anyio.abc import TaskStatus

from reel.base.errors import Storage
from reel.daemon import stop_marker
from reel.daemon.address import fallback_directory
from reel.daemon.database_url import is_url, printable
from reel.version import PROTOCOL, __version__
from reeld import logs, memory
from reeld.agents.asking import drain
from reeld.agents.clock import now
from reeld.agents.pruning_old import PruningOld
from reeld.agents.registry import Registry
from reeld.agents.retaining import Retaining
from reeld.backups import remains
from reeld.backups.scheduled import ScheduledBackups
from reeld.backups.service import Backups
from reeld.config import Config
from reeld.locks import keep_fresh, lock_database, lock_socket, socket_beside
from reeld.memory_budget import described, most, smallest_limit
from reeld.metrics_file import Metrics, keep_written
from reeld.notify import Supervisor, find_supervisor, inherited_socket, path_of
from reeld.place import require_place
from reeld.search.service import Search
from reeld.serving.call import Services
from reeld.serving.drafts import Drafts
from reeld.serving.erasing_chores import keep_complete, keep_retention
from reeld.serving.listener import Listener, PathListener, keep_in_place, open_listener, require_path, take_over
from reeld.serving.long_work import LongWork
from reeld.serving.neighbours import keep_in_touch
from reeld.serving.renderings import RenderCache, UnansweredRenderings
from reeld.serving.server import Server
from reeld.serving.stats import collect
from reeld.signals import STOP_SIGNALS, on_terminal
from reeld.startup import OK, NotNow, StartupError, raise_file_limit
from reeld.store.connection_thread import SQLITE
from reeld.store.presence import Held
from reeld.store.store import Store, open_store
from reeld.store.unavailable import Unavailable

log = logging.getLogger(__name__)

_Listening: TypeAlias = AbstractAsyncContextManager[Listener]

# The interpreter's switch interval in seconds. With Python's default of 5 ms, an `add` waits up to 5 ms at each
# handover between threads while another thread parses a request.
_TURN = 0.001
# Seconds between two attempts to start.
_START_AGAIN = 2.0
# Seconds between two rounds of maintenance.
_MAINTENANCE_EVERY = 60.0
# Seconds between two checks of the database's files while nobody writes.
_WATCH_EVERY = 1.0


def main(config: Config) -> int:
    """Run until stopped; return the exit status."""
    logs.set_up(config.log_level)
    for ignored in config.ignored:
        log.error("%s", ignored)
    memory.use_one_heap()
    os.umask(0o077)
    config = config.absolute()
    memory.collect_rarely()
    gc.enable()
    sys.setswitchinterval(_TURN)
    os.chdir("/")  # so that the current file system can be unmounted
    supervisor = find_supervisor(os.environ)
    try:
        max_open = raise_file_limit(config.connection.max_open)
        config = config._replace(connection=config.connection._replace(max_open=max_open))
        with inherited_socket(os.environ) or nullcontext() as inherited:
            _serve_when_possible(config, supervisor, inherited)
    except StartupError as error:
        logs.print_fatal(str(error))
        supervisor.notify(f"STATUS={error}")
        return error.status
    return OK


def _serve_when_possible(config: Config, supervisor: Supervisor, inherited: socket.socket | None) -> None:
    """Serve; under a supervisor, wait for what may pass, such as a server that is starting.

    If the daemon ended instead, systemd would give up after five failed starts in ten seconds. Without a supervisor, a
    person has started it, and is told of the problem at once.
    """
    told = None
    while True:
        try:
            _lock_and_serve(config, supervisor, inherited)
        except (StartupError, BaseExceptionGroup) as error:
            cause = _only(error)
            if not isinstance(cause, StartupError):
                raise
            if not isinstance(cause, NotNow) or not supervisor.is_there:
                raise cause from None
            if str(cause) != told:
                told = str(cause)
                log.warning("cannot start yet, and tries again every %g s: %s", _START_AGAIN, told)
            supervisor.ask_for_time(f"waits: {told}")
            time.sleep(_START_AGAIN)
        else:
            return


def _lock_and_serve(config: Config, supervisor: Supervisor, inherited: socket.socket | None) -> None:
    require_place(config)
    with ExitStack() as stack:
        if inherited is None:
            require_path(config.socket, fallback_directory())
            listening: _Listening = open_listener(config.socket, stack.enter_context(lock_socket(config.socket)))
            if config.unless_stopped and stop_marker.is_marked(config.socket):
                raise StartupError(stop_marker.STOPPED)
        else:  # the supervisor has made it, and locks its path in its own way
            config = config._replace(socket=path_of(inherited))
            listening = take_over(inherited)
        held = None
        if not is_url(config.database):  # a server coordinates its writers itself
            held = stack.enter_context(lock_database(config.database, config.socket))
            _clear_away(config.database)
        anyio.run(serve, config, supervisor, listening, held, backend="trio")


def _clear_away(database: str) -> None:
    """Remove the files that a killed restore left behind."""
    try:
        remains.clear_away(database)
    except OSError as error:
        log.warning("what is left of a restore cannot be removed: %s: %s", error.filename, error.strerror)


def _only(error: BaseException) -> BaseException:
    """Return the error inside the groups that task groups wrapped around it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def serve(config: Config, supervisor: Supervisor, listening: _Listening, held: Held | None) -> None:
    """Open the store, listen, and serve until a signal or ``shutdown``.

    Args:
        config: the settings.
        supervisor: is notified when the daemon is ready, alive and stopping.
        listening: the socket.
        held: the locks of the database, if that is a file.
    """
    began, started = time.monotonic(), time.time_ns() // 1_000_000
    stop = anyio.Event()
    async with AsyncExitStack() as stack:
        opened = anyio.Event()
        starting = await stack.enter_async_context(anyio.create_task_group())
        starting.start_soon(supervisor.extend_start, opened)
        store = await _open(stack, config, held)
        opened.set()
        agents = await stack.enter_async_context(anyio.create_task_group())
        registry = Registry(store, agents, *config.agents)
        server = Server(config.connection)
        counters = partial(_counters, config, began, started, server)
        backups = Backups(store)
        services = Services(
            registry,
            store,
            Drafts(registry.bus),
            stop.set,
            counters,
            LongWork(),
            RenderCache(),
            UnansweredRenderings(),
            Search(store, config.tools),
            server.describe_connections,
            backups,
            ScheduledBackups(backups, config.backup, config.database, now),
            Retaining(config.retention, config.ignored),
            PruningOld(config.retention),
        )
        async with anyio.create_task_group() as tasks:
            reloads = not on_terminal()  # closing a terminal ends what runs in it
            stop_signals = STOP_SIGNALS if reloads else (*STOP_SIGNALS, signal.SIGHUP)
            # First, so that a daemon that can be found can be stopped.
            await tasks.start(_stop_on_signal, stop, stop_signals)
            _unmark(config.socket)
            async with listening as listener, _listening_beside(config) as beside:
                in_place = [each for each in (listener, *beside) if isinstance(each, PathListener)]
                tasks.start_soon(services.drafts.run)
                tasks.start_soon(keep_in_touch, store.channel, registry.bus, services.drafts)
                for what, chore in _chores(services, config, server, held, in_place).items():
                    tasks.start_soon(partial(store.housekeeping.keep_going, what, chore))
                await tasks.start(server.run, [listener, *beside], services)
                tasks.start_soon(supervisor.watchdog_loop, store.writer.heartbeat)
                if reloads:
                    await tasks.start(_reload_on_signal, in_place, supervisor)
                where = f"{config.socket} with {printable(config.database)}"
                _say_how_much_memory(config)  # not before, so that why a start fails is the first thing that is read
                log.info("ready in %d ms on %s", (time.monotonic() - began) * 1e3, where)
                supervisor.notify("READY=1", f"STATUS=listens on {where}")
                await stop.wait()
                log.info("stopping")
                supervisor.notify("STOPPING=1", "STATUS=finishes what is in flight")
                await server.close()
            tasks.cancel_scope.cancel()
        for number in stop_signals:  # a second signal must not cut the end short
            signal.signal(number, signal.SIG_IGN)
        await drain(registry)
        agents.cancel_scope.cancel()
    log.info("stopped")


async def _open(stack: AsyncExitStack, config: Config, held: Held | None) -> Store:
    """Open the store until the stack ends."""
    try:
        return await stack.enter_async_context(open_store(config.database, config.durability, held))
    except Unavailable as error:
        raise NotNow(error.message) from error
    except Storage as error:
        raise StartupError(error.message) from error


@asynccontextmanager
async def _listening_beside(config: Config) -> AsyncIterator[list[PathListener]]:
    """Listen beside the database as well, where clients find the daemon by its lock; a server has no such place.

    If that is not possible, as on some network file systems, clients find the daemon on its own socket only.
    """
    async with AsyncExitStack() as stack:
        listeners: list[PathListener] = []
        if not is_url(config.database) and (path := socket_beside(config.database)) != config.socket:
            try:
                listeners.append(await stack.enter_async_context(open_listener(path)))
            except StartupError as error:
                log.warning("cannot listen beside the database as well: %s", error)
        yield listeners


def _say_how_much_memory(config: Config) -> None:
    about, fits = described(config.memory, smallest_limit())
    log.log(logging.INFO if fits else logging.WARNING, "%s", about)


def _chores(
    services: Services, config: Config, server: Server, held: Held | None, listeners: Sequence[PathListener]
) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return the tasks without which the daemon serves as well; they end at once if they have nothing to do."""
    return {
        "maintenance": partial(_maintain, services.store, services.registry, server, held),
        "sockets": partial(keep_in_place, listeners),
        "files": partial(_watch, services.store),
        "search": services.search.run,
        "retention": partial(keep_retention, services),
        "erasures": partial(keep_complete, services),
        "backups": services.scheduled_backups.run,
        "metrics": partial(_keep_metrics, services, config.metrics),
    }


async def _keep_metrics(services: Services, metrics: Metrics) -> None:
    if metrics.file is not None:
        await keep_written(metrics.file, metrics.every, partial(collect, services), services.store.housekeeping)


def _counters(config: Config, began: float, started: int, server: Server) -> dict[str, Any]:
    """Return what the process as a whole counts, and what identifies it."""
    limit = smallest_limit()
    return {
        "memory_most_kb": most(config.memory) // 1024,
        "memory_limit_kb": None if limit is None else limit.bytes // 1024,
        "uptime": int((time.monotonic() - began) * 1000),
        "started": started,
        "version": __version__,
        "protocol": PROTOCOL,
        "sqlite": SQLITE,
        "socket": config.socket,
        "database": printable(config.database),
        "log": logs.destination(),
        **server.counters(),
        "cpu_us": time.process_time_ns() // 1000,
        "tasks": trio.lowlevel.current_statistics().tasks_living,  # anyio would describe each: 12 ms for 10,000
    }


def _unmark(path: str) -> None:
    """Allow clients to autostart the daemon again: somebody has started it explicitly.

    This happens before anybody can connect, because `reel stop` writes its marker first and then asks for the shutdown.
    """
    try:
        stop_marker.unmark(path)
    except OSError as error:
        log.warning("%s: clients do not start a daemon by themselves: %s", error.filename, error.strerror)


async def _stop_on_signal(
    stop: anyio.Event, numbers: Sequence[signal.Signals], *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(*numbers) as signals:
        task_status.started()
        async for number in signals:
            log.info("got %s", signal.Signals(number).name)
            stop.set()


async def _reload_on_signal(
    listeners: Sequence[PathListener],
    supervisor: Supervisor,
    *,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    log_file = logs.find_file()
    with anyio.open_signal_receiver(signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            # The time is what systemd asks for with Type=notify-reload (sd_notify(3)).
            supervisor.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            if log_file is not None:
                try:
                    logs.reopen(log_file)
                except OSError as error:
                    log.warning("the log cannot be opened again: %s: %s", log_file, error.strerror)
            log.info("got SIGHUP")
            for listener in listeners:
                await listener.renew()
            log.info("reloaded")
            supervisor.notify("READY=1")


async def _maintain(store: Store, registry: Registry, server: Server, held: Held | None) -> None:
    attempting, free_memory = store.housekeeping.attempting, memory.FreeMemory()
    while True:
        await anyio.sleep(_MAINTENANCE_EVERY)
        with attempting("evicting idle agents"):
            registry.residency.evict_idle()
        with attempting("reporting warnings"):
            server.report_warnings()
        with attempting("tidying the database"):
            await store.tidy()
        with attempting("giving back memory"):
            free_memory.give_back_if_much()
        if held is not None:
            with attempting("touching the lock"):
                keep_fresh(held)


async def _watch(store: Store) -> None:
    while True:
        await anyio.sleep(_WATCH_EVERY)
        await store.displacement.watch()
