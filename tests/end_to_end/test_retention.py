"""Old agents are purged by a real daemon: beside the work of others, after a kill, and not because of a wrong digit."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reeld.store.retention import Noted, Retention, Subject, note
from reeld.store.schema import prepare
from tests.daemon import Daemon, short_directory, until
from tests.reeld.store.rows import Rows

pytestmark = pytest.mark.slow

# More than two batches.
OLD = 1100
SECRET = "swordfish"


@pytest.fixture(params=[OLD])
def daemon(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A daemon that is not started yet, with many agents of 1970, and rules that apply since then."""
    with short_directory() as directory:
        daemon = Daemon(directory)
        with closing(sqlite3.connect(daemon.database, isolation_level=None)) as connection:
            prepare(connection, daemon.database)
            connection.execute("BEGIN")
            rows = Rows(connection)
            for row in range(1, request.param + 1):
                rows.agent(row)
                rows.event(row, "created", None, f'{{"name":"agent-{row}"}}')
                rows.event(row, "user", f"{SECRET} {row}")
                rows.event(row, "clear", None, parent=None)
                rows.event(row, "user", f"left {row}")
            for subject in Subject:
                note(connection, subject, Noted(Retention(days=30), 1))
            connection.execute("COMMIT")
        daemon.options = ["--retention-days", "30", "--agents-max-live", "20"]
        with closing(daemon):
            yield daemon


def test_others_go_on(daemon: Daemon) -> None:
    """Nobody is refused, and no more agents are live than may be."""
    with daemon.start().client() as client:
        live = []
        names = [f"new-{number}" for number in range(30)]
        while client.stats()["agents"] > len(names):
            for name in names:
                client.add(name, "hi", create=True)
            live.append(client.stats()["loaded_agents"])

        assert all(number <= 20 for number in live)
        assert [] == list(client.verify().problems)
        assert 0 == sum(client.stats()["errors"].values())


def test_a_kill_in_the_middle(daemon: Daemon) -> None:
    """What a killed daemon had begun is completed at the next start, and then the rest; no word is left."""
    with daemon.start().client() as client:
        until(lambda: client.stats()["agents"] < OLD)
    daemon.process.kill()
    daemon.process.wait()
    with daemon.start().client() as client:
        until(lambda: client.stats()["agents"] == 0)
        until(lambda: "agents purged" in daemon.log.read_text())
        assert [] == list(client.verify().problems)
    daemon.close()

    files = [path for path in Path(daemon.database).parent.iterdir() if path.is_file()]
    assert [] == [path for path in files if SECRET.encode() in path.read_bytes()]


def test_a_wrong_digit(daemon: Daemon) -> None:
    """A setting of less than a day, which older versions accepted, purges nothing; the daemon starts, and says so."""
    daemon.options = []
    daemon.environment = {**os.environ, "REEL_RETENTION_DAYS": "0.3"}
    with daemon.start().client() as client:
        problem = client.stats()["retention_problem"]

        assert OLD == client.stats()["agents"]
        assert "$REEL_RETENTION_DAYS: 0.3 is less than 1" in problem
        assert f"ERROR reeld.app: {problem}" in daemon.log.read_text()


@pytest.mark.parametrize("daemon", [60], indirect=True)
def test_living_logs(daemon: Daemon) -> None:
    """What nothing reaches goes from logs that live on, beside the work of others, also after a kill in the middle."""
    daemon.options = ["--retention-history-days", "30", "--agents-max-live", "20"]
    with daemon.start().client() as client:
        until(lambda: client.stats()["retention_pruned_events"] > 10)
    daemon.process.kill()
    daemon.process.wait()
    with daemon.start().client() as client:
        until(lambda: "of text" in daemon.log.read_text())
        client.add("agent-1", "goes on")
        said = [message["content"] for message in client.messages("agent-1").messages]
        assert "left 1" in str(said[0])
        assert "goes on" in str(said[1])
        assert (60, []) == (client.stats()["agents"], list(client.verify().problems))
    daemon.close()

    files = [path for path in Path(daemon.database).parent.iterdir() if path.is_file()]
    assert [] == [path for path in files if SECRET.encode() in path.read_bytes()]
