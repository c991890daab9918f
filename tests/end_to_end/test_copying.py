"""``reel copy``: a database moves from a file to a server and back."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reel import state
from reel.sync.client import Client
from reeld.store.copying import COLUMNS
from reeld.store.postgres.schema import prepare
from tests.daemon import Daemon, until
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE
from tests.postgres import server_connection

# More than a batch of a copy has.
MANY = 2500


@pytest.fixture
def other(directory: Path) -> Iterator[Daemon]:
    """A second daemon, not started yet."""
    daemon = ForkedDaemon(directory)
    daemon.socket = f"{daemon.socket}2"
    yield daemon
    daemon.close()


def command(source: str, target: str) -> list[str]:
    """Return the command line of a copy."""
    return [
        sys.executable,
        "-c",
        "from reel.cli import process; process()",
        *("copy", "--from", source, "--to", target),
    ]


def copy(source: str, target: str) -> subprocess.CompletedProcess[str]:
    """Copy a database."""
    line = [*command(source, target), "--json"]
    return subprocess.run(line, text=True, capture_output=True, check=False, timeout=PATIENCE)


def fill(client: Client) -> None:
    """Do something of everything that leaves rows."""
    client.add("one", ["a", "b\0\1", "é"], create=True, key="first")
    client.undo("one")
    client.clone("one", "two")
    client.add("two", "only here")
    client.add("two", state("plan", {"step": 1}))
    client.add("gone", "secret", create=True)
    client.kill("gone")
    client.purge("gone")
    client.add("many", [f"message {number}" for number in range(MANY)], create=True)
    client.kill("one")


def count(server: "psycopg.Connection[Any]") -> int:
    """Return how many events have been copied."""
    (events,) = server.execute("SELECT count(*) FROM events").fetchone() or (0,)
    return int(events)


def everything(client: Client) -> dict[str, Any]:
    """Return what a daemon says of every agent."""
    return {
        agent.name: (
            agent.id,
            agent.head,
            [*client.iter_conversation(agent.id)],
            [*client.iter_history(agent.id, inherited=True)],
            client.state(agent.id).values,
        )
        for agent in client.iter_agents()
    }


def test_to_a_server_and_back(url: str, prepared: Daemon, other: Daemon) -> None:
    """Every daemon says the same of every agent, a key is not used twice, and the new file is sound."""
    with prepared.start().client() as client:
        fill(client)
        expected = everything(client)
    prepared.close()
    there = copy(prepared.database, url)
    other.database = url
    with other.start().client() as client:
        on_server = everything(client)
        replayed = client.add("one", ["a", "b\0\1", "é"], create=True, key="first")
        client.clone("two", "three")
        client.add("three", "new")
        later = everything(client)
    other.close()
    back = f"{prepared.database}.back"
    returned = copy(url, back)
    other.database = back
    with other.start().client() as client:
        in_file, problems = everything(client), client.verify().problems
        client.add("four", "hello", create=True)

    assert (0, 0) == (there.returncode, returned.returncode), there.stderr + returned.stderr
    assert expected == on_server
    assert replayed.repeated
    assert later == in_file
    assert [] == problems
    assert 1 == json.loads(there.stdout)["rows"]["purged_agents"]


def test_killed_and_run_again(url: str, prepared: Daemon, other: Daemon) -> None:
    """A copy that was killed goes on where it was; until it is finished no daemon starts there."""
    with prepared.start().client() as client:
        fill(client)
    prepared.close()
    other.database = url
    with closing(server_connection(url)) as server:
        prepare(server, url)
    with psycopg.connect(url) as server:
        server.execute("LOCK TABLE agents IN EXCLUSIVE MODE")  # agents are copied after all events
        killed = subprocess.Popen([sys.executable, "-m", "reeld", "copy", prepared.database, url])
        until(lambda: count(server) > MANY)
        killed.kill()
        killed.wait(PATIENCE)
        refused = other.refused()
        server.rollback()
    with prepared.start().client() as client:
        client.add("two", "later")
        expected = everything(client)
    prepared.close()
    finished = copy(prepared.database, url)
    with other.start().client() as client:
        copied = everything(client)

    assert "was not finished; finish it with: reel copy" in refused.stderr
    assert 0 == finished.returncode, finished.stderr
    assert expected == copied


def test_refused(url: str, daemon: Daemon, other: Daemon) -> None:
    """What a daemon uses, a database that is not empty, and a password on the command line are refused."""
    with daemon.client() as client:
        client.add("demo", "hello", create=True)
    held = copy(daemon.database, url)
    daemon.close()
    first, second = copy(daemon.database, url), copy(daemon.database, url)
    other.database = url
    other.start()
    used = copy(url, f"{daemon.database}.back")
    secret = copy(daemon.database, "postgresql://ada:rosebud@/reel")

    assert "another reeld is running" in held.stderr
    assert (0, 5) == (first.returncode, second.returncode), first.stderr
    assert "is not empty, or the copy was finished; name an empty database" in second.stderr
    assert "a daemon uses postgresql://" in used.stderr
    assert "contains a password" in secret.stderr


def test_every_column_is_copied(prepared: Daemon) -> None:
    """A column that a later version adds is copied as well."""
    prepared.start().close()
    with closing(sqlite3.connect(prepared.database)) as file:
        tables = {name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        columns = {
            table: [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
            for table in tables - {"sqlite_sequence", "milestones", "erased_events"}
        }

    assert columns == {table: names.split(", ") for table, names in COLUMNS.items()}
