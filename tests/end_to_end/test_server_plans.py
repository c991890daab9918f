"""How a PostgreSQL server carries out the statements of a daemon: by their indexes, however much there is.

The server itself says it, of every statement that a daemon really sends, by its module auto_explain.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from reel import state
from reel.sync.client import Client
from tests.daemon import Daemon, until_indexed
from tests.postgres import own_server, shared

MISSING = "PostgreSQL's auto_explain is not installed"
EXPLAINING = (
    *("session_preload_libraries=auto_explain", "auto_explain.log_min_duration=-1", "auto_explain.log_analyze=on"),
    *("auto_explain.log_timing=off", "autovacuum=off", "fsync=off"),
)
MESSAGES, AGENTS = 5000, 300
# A page of a cursor has at most 512 rows, and the first pages are read before somebody has enough.
MOST = {"events": 64 + 256 + 512, "agents": 50, "keys": 50, "milestones": 50}
SCAN = re.compile(
    r"Scan (?:Backward )?(?:using \S+ )?on (\w+).*?\(actual rows=(\d+) loops=(\d+)\)((?:(?!->).)*)", re.DOTALL
)
REMOVED = re.compile(r"Rows Removed by \D+: (\d+)")


def fill(client: Client) -> None:
    """Make one long conversation and many short ones."""
    client.add("long", [f"message {number}" for number in range(MESSAGES)], create=True)
    client.mark("long", "here")
    for number in range(AGENTS):
        client.add(f"agent{number}", ["hi", "there"], create=True, key=f"key{number}")
    client.clone("long", "copy")


def use(client: Client) -> None:
    """Do what clients do all the time; often enough for plans that are kept."""
    for number in range(12):
        client.add("long", "more", key=f"new{number}")
        client.add(f"agent{number}", "more")
    client.add("agent1", "more", key="once")
    client.add("agent1", "more", key="once")
    client.undo("long")
    client.redo("long")
    client.rewind("long")
    client.undo("long")
    client.clone("long", "third")
    client.add("third", "more")
    client.messages("long", last=10)
    client.conversation("long", since=MESSAGES // 2, limit=20)
    client.history("long", limit=20)
    client.history("third", limit=20, inherited=True)
    client.add("agent7", state("plan", {"step": 1}))
    client.state("agent7")
    client.state("long")
    client.agents(limit=20)
    client.kill("copy", cascade=True)
    client.kill("agent9")
    client.revive("agent9")


def much_read(log: str) -> Iterator[str]:
    """Yield each statement of a server's log that read too much of a table, with the table and the rows."""
    for entry in re.split(r"\n(?=\d{4}-\d\d-\d\d )", log):
        for table, rows, loops, rest in SCAN.findall(entry):
            read = (int(rows) + sum(map(int, REMOVED.findall(rest)))) * int(loops)
            if read > MOST.get(table, read):
                yield f"{read} rows of {table}: {' '.join(entry.split())}"


@pytest.fixture
def log(prepared: Daemon) -> Iterator[Path]:
    """What a server says of the statements of a daemon that starts over much and is used."""
    with psycopg.connect(shared().url) as connection:
        try:
            connection.execute("LOAD 'auto_explain'")
        except psycopg.Error:
            pytest.skip(MISSING)
    with own_server(*EXPLAINING) as server:
        prepared.database = server.url
        with prepared.start().client() as client:
            fill(client)
            until_indexed(client)  # the index reads thousands of rows at once
        prepared.close()
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ANALYZE reel.events, reel.agents, reel.keys, reel.milestones")
            connection.execute("ALTER ROLE reel SET auto_explain.log_min_duration = 0")
        with prepared.start().client() as client:
            use(client)
        prepared.close()
        yield server.directory / "log"


def test_no_statement_reads_a_whole_table(log: Path) -> None:
    """Starting and using a daemon costs what is used, not what there is."""
    said = log.read_text()

    assert said.count("Query Text: ") > 100
    assert {"events", "agents", "keys", "milestones"} <= {scan[0] for scan in SCAN.findall(said)}
    assert [] == [*much_read(said)]
