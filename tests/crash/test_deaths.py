"""Kill a real daemon under load, at random and at every crash point; acknowledged commands survive, once, in order."""

import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reel import requests
from reel.sync.client import Client
from reeld.search import index_file
from tests.crash import stats
from tests.crash.crash_points import CALLS, INDEXING, MIGRATIONS, STATEMENTS, VOLUME
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.workload import LONG, Workload
from tests.daemon import Daemon, until_indexed

_OPENING = [point for point in STATEMENTS if point.startswith("opening")]
_STOPPING = [point for point in CALLS if point.startswith("stopping")]
_WORKING = [point for point in (*STATEMENTS, *CALLS) if point not in {*_OPENING, *_STOPPING}]
_FIRST = [point for point in MIGRATIONS if " fourth " not in point and " later " not in point]
_FOURTH = [point for point in MIGRATIONS if " fourth " in point]
_LATER = [point for point in MIGRATIONS if " later " in point]


def kill_under_load(workload: Workload) -> None:
    """Run the clients for a moment, and kill the daemon."""
    with workload.load():
        time.sleep(workload.random.uniform(0.02, 0.3))  # the moment of death, not a wait for something
        workload.daemon.kill()
    stats.count("deaths")


@contextmanager
def death_at(crashing: CrashingDaemon, point: str) -> Iterator[None]:
    """Expect the daemon to die at a point that it reaches because of the block; then disable the point."""
    crashing.crash_at(point)
    yield
    assert point == crashing.wait_for_death()
    crashing.crash_at("")
    stats.count("fault points hit")


def test_ready_again(directory: Path) -> None:
    """The installed daemon starts again after kill -9 under load; the time is printed, and fails nothing."""
    daemon = Daemon(directory)
    workload = Workload(daemon, seed=0)
    daemon.start()
    for _ in range(10 if LONG else 2):
        kill_under_load(workload)
        began = time.monotonic()
        daemon.start()
        stats.record_time("ready after a death", time.monotonic() - began)
        workload.verify_in_between()
    workload.verify()
    daemon.close()


@pytest.mark.parametrize("seed", range(1, 33 if LONG else 2))
def test_deaths_at_random(crashing: CrashingDaemon, seed: int) -> None:
    """After kill -9 at any moment, the history is one that an uninterrupted daemon could produce."""
    workload = Workload(crashing, seed)
    crashing.start()
    for _ in range(12 if LONG else 4):
        kill_under_load(workload)
        crashing.start()
        workload.verify_in_between()
    workload.verify()


def test_death_at_every_point(crashing: CrashingDaemon) -> None:
    """After a death at any crash point, under load, no command is lost, doubled or torn."""
    workload = Workload(crashing, seed=100)
    crashing.start()
    for point in _WORKING:
        with workload.load(), death_at(crashing, point):
            pass
        crashing.start()
        workload.verify_in_between()
    workload.verify()


@pytest.mark.parametrize("point", _STOPPING)
def test_death_while_it_stops(crashing: CrashingDaemon, point: str) -> None:
    """After a death during shutdown, under load, no command is lost."""
    workload = Workload(crashing, seed=101)
    crashing.start()
    with workload.load(), death_at(crashing, point):
        crashing.process.send_signal(signal.SIGTERM)
    crashing.start()
    workload.verify()


def test_death_while_it_opens(crashing: CrashingDaemon) -> None:
    """After a death while it opens a crashed database, the next daemon opens it."""
    workload = Workload(crashing, seed=102)
    crashing.start()
    for point in _OPENING:
        kill_under_load(workload)
        with death_at(crashing, point):
            crashing.launch()
        crashing.start()
        workload.verify_in_between()
    workload.verify()


def test_death_while_the_index_is_filled(crashing: CrashingDaemon) -> None:
    """After a death at any step of filling the search index, all that is found in a new one is found."""
    workload = Workload(crashing, seed=104)
    crashing.start()
    with workload.load():
        workload.wait_for_commands(2 * VOLUME)  # with jumps among them
        crashing.kill()
    for point in INDEXING:
        index_file.remove(index_file.path_of(crashing.database))
        with death_at(crashing, point):
            crashing.launch()
        crashing.start()
        kill_under_load(workload)
    crashing.start()
    found = everything_in_the_index(crashing)
    crashing.kill()
    index_file.remove(index_file.path_of(crashing.database))
    crashing.start()

    assert found
    assert everything_in_the_index(crashing) == found


def everything_in_the_index(daemon: Daemon) -> list[tuple[int, str]]:
    """Return all hits, once everything is in the index."""
    with Client(daemon.socket) as client:
        until_indexed(client)
        pages = client.pages(requests.search("", limit=1000))
        return [(hit.id, hit.snippet) for page in pages for hit in page.hits]


def test_death_in_a_migration(crashing: CrashingDaemon) -> None:
    """After a death while a new or an older database is migrated, the next daemon finishes the migration."""
    workload = Workload(crashing, seed=103)
    for point in _FIRST:
        with death_at(crashing, point):
            crashing.launch()
    crashing.start()
    kill_under_load(workload)
    take_back_to_version_three(crashing.database)
    for point in _FOURTH:
        with death_at(crashing, point):
            crashing.launch()
    crashing.later = True
    for point in _LATER:
        with death_at(crashing, point):
            crashing.launch()
    crashing.start()
    workload.verify()


# What the table of events of version three has after these columns.
_REFERENCES = {
    "id INTEGER PRIMARY KEY": " AUTOINCREMENT",
    "agent INTEGER NOT NULL": " REFERENCES agents (id)",
    "parent INTEGER": " REFERENCES events (id)",
}


def take_back_to_version_three(path: str) -> None:
    """Make a database one of version three."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for trigger, change in (("events_are_never_changed", "UPDATE"), ("events_are_never_deleted", "DELETE")):
            connection.execute(f"DROP TRIGGER {trigger}")
            refusal = "SELECT RAISE(ABORT, 'the log is append-only')"
            connection.execute(f"CREATE TRIGGER {trigger} BEFORE {change} ON events BEGIN {refusal}; END")
        for index in ("events_by_sent", "events_by_ref", "events_that_clone", "events_of_state", "events_that_jump"):
            connection.execute(f"DROP INDEX {index}")
        for column in ("sent", "ref", "checksum"):
            connection.execute(f"ALTER TABLE events DROP COLUMN {column}")
        connection.execute("ALTER TABLE keys DROP COLUMN checksum")
        for table in ("milestones", "erasures", "erased_events", "purged_agents", "retention"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("PRAGMA writable_schema = ON")
        for column, clause in _REFERENCES.items():
            connection.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, ?, ? || ?) WHERE name = 'events'", (column, column, clause)
            )
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("PRAGMA user_version = 3")
