"""The index that a process fills beside the daemon, and what becomes of that process."""

import errno
import json
import logging
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from operator import methodcaller
from pathlib import Path
from typing import Any

import anyio
import pytest

from reel.base.errors import Storage
from reel.touches.describing import Described, described
from reeld.search import filler, filling, index, index_file, trigrams
from reeld.search.attached_log import LogError
from reeld.search.criteria import Criteria
from reeld.search.finding import Look
from reeld.search.hit_pages import HitPages
from reeld.search.index import Outdated
from reeld.search.query import parse_query
from reeld.search.service import Search
from reeld.store.connection_thread import Job
from reeld.store.room import NoRoomError
from reeld.store.store import Store, open_store
from reeld.store.wal import own_processes
from tests.engines import engine, path  # noqa: F401 - fixtures
from tests.patience import PATIENCE
from tests.reeld.store.making import event, made, said, write

_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
# The same while it writes.
_ENDLESS_WRITE = (
    "INSERT INTO progress SELECT progress.* FROM progress, "
    "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n) WHERE i < 0"
)
# A daemon whose process is stopped while it writes to the index of a log, and that is then killed.
_KILLED_DAEMON = """
import os, pickle, signal, sqlite3, subprocess, sys
from operator import methodcaller
from reel.touches.describing import Described
from reeld.search import filling

index, log, statement = sys.argv[1:]
command = [sys.executable, "-P", "-m", "reeld.search", str(os.getpid())]
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdin.write(pickle.dumps(filling.Opening(index, log, Described())))
process.stdin.flush()
# Both files are open then: stopped while it opens one, it might keep others from opening it too.
(size,) = filling.HEADER.unpack(process.stdout.read(filling.HEADER.size))
assert pickle.loads(process.stdout.read(size)) is None
process.stdin.write(pickle.dumps(methodcaller("execute", statement)))
process.stdin.flush()
connection = sqlite3.connect(index, timeout=0, isolation_level=None)
try:
    while True:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
except sqlite3.OperationalError:
    os.kill(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
_TOOLS = described({"save": {"wrote": "where", "after": "what"}})
# What is in an index; of how the words are stored, only what a query sees.
_TABLES = (
    "progress",
    "totals",
    "facts",
    "volumes",
    "lengths WHERE block >= 0",
    "settled",
    "touched",
    "touches",
    "groups",
    "bits",
    "terms_1",
    "vocabulary",
)


@pytest.fixture(autouse=True)
def _a_few_are_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start a process for ten events, and let it live on."""
    monkeypatch.setattr(filler, "_MUCH", 10)
    monkeypatch.setattr(filler, "_REST", PATIENCE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@asynccontextmanager
async def filled(database: str, events: int = 20) -> AsyncIterator[tuple[Store, Search]]:
    """Write events to a new log, and fill its index."""
    async with open_store(database) as store:
        await write(store, made(1, *map(_event, range(2, 2 + events))))
        async with anyio.create_task_group() as tasks:
            search = Search(store, _TOOLS)
            tasks.start_soon(search.run)
            await complete(search)
            yield store, search
            tasks.cancel_scope.cancel()


def _event(seq: int) -> Any:
    if seq % 3:
        return event(seq, content=f"the getUserName of tape {seq % 7}")
    arguments = json.dumps({"where": f"a{seq}.py", "what": "x"})
    block = {"type": "tool_call", "id": f"c{seq}", "name": "save", "arguments": arguments}
    return event(seq, "assistant", "", data_json=json.dumps({"blocks": [block]}))


async def complete(search: Search) -> None:
    """Wait until all is in the index."""
    with anyio.fail_after(PATIENCE):
        while search.behind or search.touches_behind or not search.indexed:
            await search.catch_up(PATIENCE)
            await anyio.lowlevel.checkpoint()


def process_of(search: Search) -> int:
    """Return the id of the process that fills an index."""
    assert search._filler._process is not None
    return search._filler._process.pid


def lives(process: int) -> bool:
    """Return whether there is a process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def _refuse_thread(*_: object, **__: object) -> None:
    raise RuntimeError("can't start new thread")


def oom_score_of(process: int) -> int:
    """Return how soon the system ends a process if memory runs out: 1000 is first."""
    return int(Path(f"/proc/{process}/oom_score_adj").read_text())


def content(index_path: str) -> dict[str, list[Any]]:
    """Return what is in an index."""
    with closing(sqlite3.connect(index_path)) as connection:
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLES}


def rows(query: str) -> Job[list[Any]]:
    """Return a job that returns the rows of a query."""
    return lambda connection: connection.execute(query).fetchall()


async def test_the_process_fills_it_as_the_thread_does(path: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """All tables have the same rows; the process has read the log, also one on a server, and knows a user's tools."""
    async with filled(path, 200) as (_, search):
        by_process, index_path = search._filler.has_process, search.path
    ours = content(index_path)
    index_file.remove(index_path)
    monkeypatch.setattr(filler, "_MUCH", 1 << 60)
    async with open_store(path) as store, anyio.create_task_group() as tasks:
        again = Search(store, _TOOLS)
        tasks.start_soon(again.run)
        await complete(again)
        by_thread = not again._filler.has_process
        tasks.cancel_scope.cancel()

    assert by_process
    assert by_thread
    assert ours == content(index_path)
    assert 66 <= len(ours["touches"])


@pytest.mark.slow
async def test_a_volume_that_the_process_begins(tmp_path: Path) -> None:
    """The daemon's own connections, which know an older schema, find and index what is in the new volume."""
    async with filled(str(tmp_path / "reel.db"), 33_000) as (store, search):
        async with search._turn:
            assert search._filler.has_process
            await search._filler.end()
        await write(store, said(1, event(33_002, content="afterwards")))
        await complete(search)
        found = await search.read(rows("SELECT rowid FROM volume_2 WHERE volume_2 MATCH 'afterwards'"))

    assert [(33_002,)] == found


async def test_a_process_that_is_killed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The thread goes on with the work, and the log says so once, with the reason."""
    async with filled(str(tmp_path / "reel.db")) as (store, search):
        killed = process_of(search)
        os.kill(killed, signal.SIGKILL)
        for first in (22, 42):
            await write(store, said(1, *map(_event, range(first, first + 20))))
            await complete(search)

        assert not search._filler.has_process
        assert not lives(killed)
    assert ["its process was ended by SIGKILL"] == [
        record.getMessage().partition(": ")[2] for record in caplog.records if record.name == filler.__name__
    ]


async def test_a_process_that_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not answer any more is ended, and the thread goes on with the work."""
    async with filled(str(tmp_path / "reel.db")) as (store, search):
        async with search._turn:
            monkeypatch.setattr(filler, "_LIMIT", 0.1)  # however fast the machine is, it never answers
            stopped = process_of(search)
            os.kill(stopped, signal.SIGSTOP)
        await write(store, said(1, *map(_event, range(22, 42))))
        await complete(search)

        assert not lives(stopped)


@pytest.mark.parametrize("why", ["is missing", "is one too many", "fails", "is of another version"])
async def test_a_process_that_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    """The thread does the work if no process can be started, and the log says why."""
    said = {
        "is missing": f"/missing/python: {os.strerror(errno.ENOENT)}",
        "is one too many": f"{sys.executable}: can't start new thread",
        "fails": "its process exited with status 1",
        "is of another version": "the program was replaced since the daemon started; restart the daemon",
    }
    if why == "is missing":
        monkeypatch.setattr(sys, "executable", "/missing/python")
    elif why == "is one too many":  # the system allows no more, of processes or of the thread that starts one
        monkeypatch.setattr(anyio, "open_process", _refuse_thread)
    elif why == "fails":
        monkeypatch.setattr(sys, "executable", "/bin/false")
    else:
        monkeypatch.setattr(filling.Opening.__new__, "__defaults__", (("0.0.0", 1, 1),))
    async with filled(str(tmp_path / "reel.db")) as (_, search):
        assert not search._filler.has_process
    assert [said[why]] == [
        record.getMessage().partition(": ")[2] for record in caplog.records if record.name == filler.__name__
    ]


def test_a_daemon_that_wants_no_outcome_any_more(tmp_path: Path) -> None:
    """The process of a daemon that was killed ends without a word, also if it was about to answer."""
    command, place = [sys.executable, "-P", "-m", "reeld.search"], tmp_path / "search.db"
    place.touch()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(pickle.dumps(filling.Opening(str(place), "", Described(), ())))
        process.stdin.flush()

        assert b"" == process.stderr.read()


async def test_signals_that_are_for_all(tmp_path: Path) -> None:
    """The process leaves them to the daemon, which ends it; and nobody else is told of it."""
    async with filled(str(tmp_path / "reel.db")) as (store, search):
        process = process_of(search)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(process, number)
        await write(store, said(1, *map(_event, range(22, 42))))
        await complete(search)

        assert process == process_of(search)
        assert {process} == own_processes
    assert set() == own_processes


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="processes are looked for in /proc")
async def test_the_daemon_comes_first(tmp_path: Path) -> None:
    """The process has a lower priority than the daemon, and is the one that ends if memory runs out."""
    async with filled(str(tmp_path / "reel.db")) as (_, search):
        process = process_of(search)

        assert min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10) == os.getpriority(os.PRIO_PROCESS, process)
        assert 1000 == oom_score_of(process)


async def test_a_process_without_much_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends, and the thread does what is little."""
    async with filled(str(tmp_path / "reel.db")) as (store, search):
        ended = process_of(search)
        monkeypatch.setattr(search._filler, "_ends", 0.0)
        await write(store, said(1, _event(22)))
        await complete(search)

        assert not search._filler.has_process
        assert not lives(ended)


async def test_groups_for_many_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process makes the groups of trigrams that an index lacks; few wait for more."""
    database = str(tmp_path / "reel.db")
    async with filled(database) as (_, search):
        path = search.path
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DELETE FROM groups; DELETE FROM bits")

    for waiting, has_process in ((100, False), (0, True)):
        monkeypatch.setattr(trigrams, "MOST_WAITING", waiting)
        async with open_store(database) as store, anyio.create_task_group() as tasks:
            search = Search(store, _TOOLS)
            tasks.start_soon(search.run)
            with anyio.fail_after(PATIENCE):
                while not search.indexed or search._filler.has_process < has_process:
                    await search.catch_up(PATIENCE)
                    await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            assert search._filler.has_process == has_process
            tasks.cancel_scope.cancel()


async def test_a_process_without_anything_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends by itself, although nothing is written."""
    monkeypatch.setattr(filler, "_REST", 0.5)  # on a slow machine it ends before all is filled
    with anyio.fail_after(PATIENCE):
        async with filled(str(tmp_path / "reel.db")) as (_, search):
            while search._filler.has_process:
                await anyio.lowlevel.checkpoint()
            assert not search.behind


async def test_a_job_that_is_cancelled(tmp_path: Path) -> None:
    """The process is ended in the middle of it, before anybody else may write the index."""
    async with filled(str(tmp_path / "reel.db")) as (_, search):
        busy = process_of(search)
        async with search._turn:
            with anyio.move_on_after(0.01) as cancelled:  # it never ends
                await search._filler.run(methodcaller("execute", _ENDLESS))

            assert cancelled.cancelled_caught
            assert not lives(busy)


async def test_an_erasure_ends_the_process(tmp_path: Path) -> None:
    """Nothing of what is erased is left in its memory; afterwards the thread has the index."""
    async with filled(str(tmp_path / "reel.db")) as (_, search):
        had_it = process_of(search)
        async with search.without([2], {}):
            alive = lives(had_it)
        found = await search.read(rows("SELECT * FROM facts WHERE event = 2"))

    assert not alive
    assert [] == found


@pytest.mark.parametrize("how", ["without", "begin_again"])
async def test_who_erases_does_not_wait_for_a_stopped_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """The process is ended before it has answered, and that is no failure: another one may take its place at once."""
    async with filled(str(tmp_path / "reel.db")) as (store, search):
        async with search._turn:
            stopped = process_of(search)
            os.kill(stopped, signal.SIGSTOP)
        await write(store, said(1, *map(_event, range(22, 42))))
        with anyio.fail_after(PATIENCE):
            while not search._turn.locked():  # for as long as it does not answer
                await anyio.lowlevel.checkpoint()
        with anyio.fail_after(filler._LIMIT / 4):
            if how == "without":
                async with search.without([2], {}):
                    assert not lives(stopped)
            else:
                await search.begin_again()
        await complete(search)

        assert search._filler.has_process
    assert [] == [record for record in caplog.records if record.name == filler.__name__]


async def test_an_end_that_is_awaited_twice(tmp_path: Path) -> None:
    """Whoever ends the process goes on when it has ended, also if somebody else is ending it."""
    async with filled(str(tmp_path / "reel.db")) as (_, search), search._turn, anyio.create_task_group() as tasks:
        ended = process_of(search)
        tasks.start_soon(search._filler.end)
        await anyio.lowlevel.checkpoint()
        await search._filler.end()

        assert not lives(ended)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux lists locks")
async def test_a_stopped_process_of_a_daemon_that_was_killed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The next daemon ends it, and can write to the index; its own process stays."""
    database = str(tmp_path / "reel.db")
    async with filled(database) as (_, search):
        index_path = search.path
    command = [sys.executable, "-c", _KILLED_DAEMON, index_path, database, _ENDLESS_WRITE]
    stopped = int((await anyio.run_process(command, stderr=None, check=False)).stdout)
    assert lives(stopped)
    async with filled(database, 0) as (store, search):
        await write(store, said(1, *map(_event, range(22, 42))))
        await complete(search)
        own = process_of(search)
        filler.end_orphans(index_path)

        assert lives(own)
    assert [f"process {stopped}, which filled the search index for a daemon that is gone, was ended"] == [
        record.getMessage() for record in caplog.records if record.name == filler.__name__
    ]


async def test_an_index_that_is_built_again(tmp_path: Path) -> None:
    """The process ends before it is removed: it has had what the log no longer has."""
    async with filled(str(tmp_path / "reel.db")) as (_, search):
        had_it = process_of(search)
        await search.begin_again()

        assert not lives(had_it)


@pytest.mark.parametrize("has_process", [False, True])
@pytest.mark.parametrize("how", ["removed", "removed alone", "replaced"])
async def test_an_index_that_others_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str, *, has_process: bool
) -> None:
    """It is built again with the next event; nothing goes into a file that no longer has its name."""
    async with filled(str(tmp_path / "reel.db")) as (store, search):
        async with search._turn:
            before = search._filler.has_process
            if not has_process:
                await search._filler.end()
            os.rename(search.path, tmp_path / "old.db")
            if how == "removed":
                os.unlink(f"{search.path}-wal")
                os.unlink(f"{search.path}-shm")
            elif how == "replaced":
                os.close(os.open(search.path, os.O_CREAT, 0o600))
        old = (tmp_path / "old.db").read_bytes()
        await write(store, said(1, *map(_event, range(22, 42))))
        await complete(search)
        page = await HitPages(search).newest(Criteria(parse_query("tape")), 2, None, Look())

        assert before
        assert [41, 40] == [hit["seq"] for hit in page.hits]
        assert not (await search.opened()).is_displaced
    assert old == (tmp_path / "old.db").read_bytes()
    assert [f"the search index {search.path} was removed or replaced; it is opened again"] == [
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    ]


async def test_an_error_in_the_process(tmp_path: Path) -> None:
    """It is raised as it would be by the thread, and the process goes on."""
    async with filled(str(tmp_path / "reel.db")) as (_, search), search._turn:
        with pytest.raises(sqlite3.OperationalError, match="no such table") as raised:
            await search._filler.run(methodcaller("execute", "SELECT * FROM missing"))
        lacking = await search._filler.run(trigrams.lacking)

        assert sqlite3.SQLITE_ERROR == raised.value.sqlite_errorcode
        assert 0 < lacking
        assert search._filler.has_process


@pytest.mark.parametrize(
    "error",
    [
        Outdated("is damaged"),
        LogError("the log cannot be read"),
        NoRoomError("no room", needed=1),
        Storage("a disk", data=2),
        MemoryError(),
        OSError(errno.EIO, os.strerror(errno.EIO), "x.db"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_on_their_way(error: Exception) -> None:
    """An error arrives as it was raised."""
    arrived = pickle.loads(pickle.dumps(error))

    assert (type(error), error.args, vars(error)) == (type(arrived), arrived.args, vars(arrived))


@pytest.mark.parametrize("tools", [Described(), _TOOLS], ids=["known", "described"])
def test_tools_on_their_way(tools: Described) -> None:
    """The process knows the tools that the daemon knows."""
    arrived = pickle.loads(pickle.dumps(tools))

    assert (tools.digest, tools.tools.keys()) == (arrived.digest, arrived.tools.keys())


def test_jobs_on_their_way() -> None:
    """Every job that is run in the process can be sent there."""
    jobs = (index.fill, index.fill_touches, index.make_groups, trigrams.lacking)

    assert jobs == pickle.loads(pickle.dumps(jobs))
