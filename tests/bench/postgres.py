"""Rows about a database on a PostgreSQL server, beside SQLite and beside others that keep conversations on a server.

The server runs for the row alone, with durable settings, on the disk that is measured.
"""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from reel.said.messages import NewMessage
from reel.wire.frames import Notification
from tests.bench.adds import adds_a_second
from tests.bench.followers import delays, subscribed
from tests.bench.reads import fill
from tests.bench.setting import TEXT, Daemon, Setting, running
from tests.bench.table import Line, in_turns, median, percentile, timed

_DURABLE = ("fsync=on", "synchronous_commit=on")
_MESSAGE: NewMessage = {"role": "user", "content": TEXT}
_CLIENTS = 64
_ADDS = 6_000
_SESSIONS = 16
_OF_A_SESSION = 30
_SHORT, _LONG = 1_000, 10_000
_PAGE = 50
_numbers = count(1)


@contextmanager
def _server(setting: Setting) -> Iterator[str | None]:
    """Start a server; yield its URL, or ``None`` if there is none to start."""
    if not setting.has("PostgreSQL", "psycopg", "pytest", install="psycopg pytest"):
        yield None
        return
    from tests.postgres import Server, programs  # noqa: PLC0415 - it needs what may not be there

    if programs() is None:
        setting.left_out["PostgreSQL"] = "there is no server: apt install postgresql"
        yield None
        return
    # Not in the directory of the bench, which other users may not enter: the server does not run as root.
    directory = Path(tempfile.mkdtemp(prefix="reel-pg-", dir=setting.directory.parent))
    try:
        server = Server(directory, *_DURABLE)
        server.start()
        try:
            yield server.url
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def adds(setting: Setting) -> Iterator[Line]:
    """Measure adds with one, two and three daemons on a server, one after the other and by many clients at once."""
    with _server(setting) as url, ExitStack() as stack:
        if url is None:
            return
        daemons: list[Daemon] = []
        for number in (1, 2, 3):
            daemons.append(stack.enter_context(running(setting.new_directory(), database=url)))
            yield from _lone(setting, daemons)
            rate, beside = in_turns(
                3,
                partial(_rate, [daemon.socket for daemon in daemons]),
                partial(_rate, [setting.daemon.socket]),
            )
            assert rate is not None
            assert beside is not None
            what = f"{_CLIENTS} clients, {_daemons(number)}"
            yield Line(what, f"{rate:,.0f} /s", f"as fast as over SQLite ({beside:,.0f} /s)", rate / beside)
            if number == 1:  # the others, if they are there, read what this one writes
                yield from _peers(setting, url, daemons[0].socket)


def _lone(setting: Setting, daemons: list[Daemon]) -> Iterator[Line]:
    """Measure one add after another at the first of some daemons, and over SQLite."""
    times: list[list[float]] = []
    for daemon in (daemons[0], setting.daemon):
        client, name, taken = daemon.client(), f"lone-{next(_numbers)}", list[float]()
        client.create(name)
        times.append(taken)
        for _ in range(200):
            taken.append(timed(partial(client.add, name, _MESSAGE)))
    server, file = ([percentile(taken, percent) * 1e3 for percent in (50, 99)] for taken in times)
    beside = f"the time over SQLite (p50 {file[0]:.2f}, p99 {file[1]:.2f})"
    what = f"a lone add, {_daemons(len(daemons))}"
    yield Line(what, f"{server[0]:.2f} ms", f"{beside}; p99 {server[1]:.2f} ms", server[0] / file[0])


def _rate(sockets: list[str]) -> float:
    return adds_a_second(sockets, _CLIENTS, 1, _ADDS, f"load-{next(_numbers)}")


def _daemons(number: int) -> str:
    return "1 daemon" if number == 1 else f"{number} daemons"


def _peers(setting: Setting, url: str, path: str) -> Iterator[Line]:
    """Measure other programs on the same server, each with this many conversations at once."""
    for name, package, modules, make in (
        ("AsyncPostgresSaver", "langgraph-checkpoint-postgres", _LANGGRAPH, _checkpoints),
        ("SQLAlchemySession", "openai-agents 'sqlalchemy[asyncio]' asyncpg", _AGENTS, _sessions),
    ):
        if not setting.has(name, *modules, install=package):
            continue
        run = setting.loop.run_until_complete
        add, close = run(make(url))
        try:
            ours, theirs = in_turns(3, partial(_rate, [path]), partial(_added, setting.loop, add))
        finally:
            run(close())
        assert ours is not None
        assert theirs is not None
        beside = f"as fast as {_SESSIONS} of {name} ({theirs:,.0f} /s)"
        yield Line(f"{_CLIENTS} clients, 1 daemon", f"{ours:,.0f} /s", beside, ours / theirs, ">= 5")


_LANGGRAPH = ("langgraph", "langgraph.checkpoint.postgres", "psycopg_pool")
_AGENTS = ("agents", "sqlalchemy", "greenlet", "asyncpg")
# Adds a message to the conversation of a number, and closes what it was added with.
_Add = Callable[[int], Awaitable[Any]]
_Close = Callable[[], Awaitable[Any]]


def _added(loop: asyncio.AbstractEventLoop, add: _Add) -> float:
    """Add messages to conversations at once; return the rate per second."""

    async def fill_one(number: int) -> None:
        for _ in range(_OF_A_SESSION):
            await add(number)

    async def fill_all() -> None:
        first = next(_numbers) * _SESSIONS  # new conversations: a checkpoint is as large as what it holds
        await asyncio.gather(*map(fill_one, range(first, first + _SESSIONS)))

    return _OF_A_SESSION * _SESSIONS / timed(lambda: loop.run_until_complete(fill_all()))


async def _checkpoints(url: str) -> tuple[_Add, _Close]:
    """Return what puts a checkpoint with one more message."""
    from langchain_core.messages import HumanMessage  # noqa: PLC0415 - they are large, and may not be there
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415
    from psycopg_pool import AsyncConnectionPool  # noqa: PLC0415

    settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool: Any = AsyncConnectionPool(url, kwargs=settings, min_size=_SESSIONS, max_size=_SESSIONS, open=False)
    await pool.open(wait=True)
    # One makes one call at a time, also with a pool.
    savers = [AsyncPostgresSaver(pool) for _ in range(_SESSIONS)]
    await savers[0].setup()
    messages: dict[int, list[Any]] = {}

    async def add(number: int) -> None:
        saver, said = savers[number % _SESSIONS], messages.setdefault(number, [])
        said.append(HumanMessage(TEXT, id=f"m{len(said)}"))
        state = empty_checkpoint()
        state["channel_values"] = {"messages": said}
        state["channel_versions"] = versions = {"messages": f"{len(said):032}.0"}
        config: Any = {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}}
        await saver.aput(config, state, {"source": "loop", "step": len(said), "parents": {}}, versions)

    return add, pool.close


async def _sessions(url: str) -> tuple[_Add, _Close]:
    """Return what adds a message to a session of OpenAI's Agents SDK."""
    from agents.extensions.memory.sqlalchemy_session import SQLAlchemySession  # noqa: PLC0415 - as above
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

    engine = create_async_engine(url.replace("postgresql", "postgresql+asyncpg", 1), pool_size=_SESSIONS)
    sessions: dict[int, Any] = {}
    await SQLAlchemySession("tables", engine=engine, create_tables=True).add_items([_MESSAGE])

    async def add(number: int) -> None:
        if number not in sessions:
            sessions[number] = SQLAlchemySession(str(number), engine=engine)
        await sessions[number].add_items([_MESSAGE])

    return add, engine.dispose


def lock(setting: Setting) -> Iterator[Line]:
    """Measure what it costs that commits of all daemons take ids in one order: a commit with the lock and without."""
    with _server(setting) as url:
        if url is None:
            return
        import psycopg  # noqa: PLC0415 - it may not be there

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE log (newest bigint)")
            connection.execute("INSERT INTO log VALUES (0)")
            connection.execute("CREATE TABLE rows (id bigint PRIMARY KEY, text text)")
            ids = count(1)
            advance = "WITH advanced AS (UPDATE log SET newest = %s RETURNING newest)"

            def write(before: str, source: str) -> float:
                return timed(partial(connection.execute, f"{before} INSERT INTO rows {source}", (next(ids),)))

            locked, free = in_turns(
                500,
                partial(write, advance, f"SELECT newest, '{TEXT}' FROM advanced"),
                partial(write, "", f"VALUES (%s, '{TEXT}')"),
            )
        assert locked is not None
        assert free is not None
        beside = f"the time of one without the row that all commits lock ({free * 1e3:.2f} ms)"
        yield Line("a commit of one row", f"{locked * 1e3:.2f} ms", beside, locked / free)


def pushes(setting: Setting) -> Iterator[Line]:
    """Measure when a push comes to a follower at the same daemon, and at another one on the same server."""
    with _server(setting) as url, ExitStack() as stack:
        if url is None:
            return
        one, two = (stack.enter_context(running(setting.new_directory(), database=url)) for _ in range(2))
        one.client().create("followed")
        for what, follower, goal in (("the same daemon", one, ""), ("another daemon", two, "p50 <= 10 ms")):
            lone = _lone_pushes(one, follower)
            yield Line(f"a push to {what}, p50", *_both(lone, "adds one by one"), None, goal)
            pushed, _ = delays(one.socket, follower.socket, "followed", 100, 2)
            yield Line("", *_both(pushed, "at 100 adds a second"))


def _lone_pushes(writer: Daemon, follower: Daemon) -> list[float]:
    """Add one message after the other; return the seconds until each was pushed."""
    connection, heard = subscribed(follower.socket, "followed")
    client, times = writer.client(), []
    with connection:
        for _ in range(100):
            began = time.perf_counter()
            client.add("followed", TEXT)
            while not any(isinstance(frame, Notification) for frame in heard.feed(connection.recv(1 << 18))):
                pass
            times.append(time.perf_counter() - began)
    return times


def _both(times: list[float], how: str) -> tuple[str, str]:
    return f"{statistics.median(times) * 1e3:.2f} ms", f"{how}; p99 {percentile(times, 99) * 1e3:.2f} ms"


def lengths(setting: Setting) -> Iterator[Line]:
    """Measure a clone, an undo and a cold load of a long conversation on a server, beside those of a short one."""
    with _server(setting) as url:
        if url is None:
            return
        names = {"long": _LONG, "short": _SHORT}
        cold = {}
        with running(setting.new_directory(), database=url) as daemon:
            client = daemon.client()
            for name, messages in names.items():
                fill(client, name, messages)
                client.add(name, TEXT)

            def undone(name: str) -> float:
                took = timed(partial(client.undo, name))
                client.redo(name)
                return took

            for what, action in (
                ("a clone", lambda name: median(partial(client.clone, name), 3)),
                ("an undo", undone),
            ):
                long, short = in_turns(10, partial(action, "long"), partial(action, "short"))
                assert long is not None
                assert short is not None
                yield _of(what, long, short, "1.0")
        for name, messages in names.items():
            with running(setting.new_directory(), database=url) as daemon:
                client = daemon.client()
                client.ping()
                page = timed(partial(client.messages, name, last=_PAGE))
                cold[name] = page, timed(partial(client.messages, name, limit=messages))
        yield _of(f"the newest {_PAGE}, cold,", cold["long"][0], cold["short"][0], "1.0")
        yield _of("then all", cold["long"][1], cold["short"][1])


def _of(what: str, long: float, short: float, goal: str = "") -> Line:
    beside = f"the time of {_SHORT:,} ({short * 1e3:.1f} ms)"
    return Line(f"{what} of {_LONG:,} messages", f"{long * 1e3:.1f} ms", beside, long / short, goal)
