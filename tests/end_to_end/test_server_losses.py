"""A PostgreSQL server that comes back with less than it had acknowledged: what is gone is gone, and nothing else."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest

from reel.base.errors import Conflict, InvalidParams, NotFound, ReelError, Storage
from reel.sync.client import Client
from reel.wire.pushes import EventPush, ResetPush
from reeld.core.events import UNUSED
from tests.daemon import Daemon, short_directory, until, until_indexed
from tests.forkserver import ForkedDaemon
from tests.postgres import Server, own_server

pytestmark = pytest.mark.slow
# A server that a crash of its processes costs whatever its WAL writer has not written, and nothing else writes that.
UNSYNCED = ("fsync=off", "full_page_writes=off", "autovacuum=off", "bgwriter_lru_maxpages=0")


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that can be set back."""
    with own_server() as made:
        yield made


@contextmanager
def daemon_on(server: Server, *options: str) -> Iterator[Daemon]:
    """A daemon on a server."""
    with short_directory() as directory, ExitStack() as stack:
        made = ForkedDaemon(directory)
        made.database, made.options = server.url, [*options]
        stack.callback(made.close)
        yield made.start()


@pytest.fixture
def daemon(server: Server) -> Iterator[Daemon]:
    """A daemon on the server."""
    with daemon_on(server) as made:
        yield made


@contextmanager
def set_back(server: Server) -> Iterator[None]:
    """Restore the server of before the block."""
    copy = server.directory / "copy"
    server.back_up(copy)
    yield
    server.stop()
    server.restore(copy)
    server.start()


@contextmanager
def crash(server: Server) -> Iterator[None]:
    """Kill a process of the server, so that what was committed in the block is lost."""
    with closing(psycopg.connect(server.url, autocommit=True)) as connection:
        connection.execute("CHECKPOINT")
    os.kill(server.wal_writer(), signal.SIGSTOP)
    yield
    server.crash()


def texts(client: Client, agent: str = "demo") -> list[str | None]:
    """Return what an agent's conversation says."""
    return [record["content"] for record in client.iter_conversation(agent)]


def eventually(client: Client) -> None:
    """Wait until a daemon reaches its server again."""

    def answers() -> bool:
        try:
            client.agents()
        except Storage:
            return False
        return True

    until(answers)


def test_a_conversation_goes_on_from_its_last_message(server: Server, daemon: Daemon) -> None:
    """Nothing falls out of it, no id and no seq is used twice, and the log has no gap that it does not name."""
    with daemon.client() as client:
        client.add("demo", "kept", create=True)
        with set_back(server):
            lost = client.add("demo", ["lost", "lost too"])
            lost_id = client.stats()["newest_event"]
        eventually(client)
        added = client.add("demo", "new")
        events = client.history("demo").events

        assert ["kept", "new"] == texts(client)
        assert ["created", "user", "lost", "user"] == [event["kind"] for event in events]
        assert {"from": 3, "to": lost.head} == json.loads(events[2]["data_json"] or "")
        assert [1, 2, lost.head + UNUSED + 1, added.head] == [event["seq"] for event in events]
        assert lost_id + (1 << 20) < events[2]["id"]
        assert [] == client.verify().problems
        assert 2 == client.stats()["lost_events"]
        assert "ERROR" in daemon.log.read_text()


def test_agents_that_are_gone_are_no_problem(server: Server, daemon: Daemon) -> None:
    """An agent that was lost as a whole has no state to compare with the log, though it was in use."""
    with daemon.client() as client:
        client.add("demo", "kept", create=True)
        with set_back(server):
            client.add("gone", "lost", create=True)
        eventually(client)

        assert [] == client.verify().problems


def test_what_is_based_on_lost_events_is_refused(server: Server, daemon: Daemon) -> None:
    """An `if_seq`, a position and a key of before mean nothing else afterwards."""
    with daemon.client() as client:
        client.add("demo", "kept", create=True)
        with set_back(server):
            lost = client.add("demo", "lost", key="once")
        eventually(client)
        with pytest.raises(Conflict):
            client.add("demo", "based on it", if_seq=lost.head)
        again = client.add("demo", "lost", key="once")

        with pytest.raises(InvalidParams, match="events 3 to 3 were lost"):
            client.messages("demo", at=lost.head)
        with pytest.raises(InvalidParams, match="events 3 to 3 were lost"):
            client.clone("demo", "copy", at=lost.head)

        assert not again.repeated
        assert ["kept", "lost"] == texts(client)


def test_an_undo_takes_back_what_is_left(server: Server, daemon: Daemon) -> None:
    """An undo that comes after the loss takes back the newest command that has survived."""
    with daemon.client() as client:
        client.add("demo", "first", create=True)
        client.add("demo", "second")
        with set_back(server):
            client.add("demo", "lost")
        eventually(client)
        client.undo("demo")

        assert ["first"] == texts(client)
        assert [] == client.verify().problems


def test_a_lost_agent(server: Server, daemon: Daemon) -> None:
    """An agent that is gone as a whole is not found, and its name is free."""
    with daemon.client() as client:
        client.add("other", "kept", create=True)
        with set_back(server):
            client.add("demo", "lost", create=True)
        eventually(client)
        with pytest.raises(NotFound):
            client.add("demo", "more")
        client.add("demo", "new", create=True)

        assert (["new"], ["kept"]) == (texts(client), texts(client, "other"))


def test_followers_are_reset(server: Server, daemon: Daemon) -> None:
    """Who follows one agent or all of them is told to read again, and then gets what comes, in order."""
    with daemon.client() as client:
        client.add("demo", "kept", create=True)
        with set_back(server):
            lost = client.add("demo", "lost")
            one, everything = client.subscribe("demo"), client.subscribe()
            one.__enter__()
            everything.__enter__()
        eventually(client)
        client.add("demo", "new")
        with one, everything:
            for pushes in (one, everything):
                told = [next(pushes)]
                while not (isinstance(told[-1], EventPush) and told[-1].kind == "user"):
                    told.append(next(pushes))
                assert [ResetPush, EventPush, EventPush] == [type(push) for push in told]
                _, marker, new = told
                assert isinstance(marker, EventPush)
                assert isinstance(new, EventPush)
                assert ["lost", "user"] == [marker.kind, new.kind]
                seq = lost.head + UNUSED + 1
                assert [seq, seq + 1, 2] == [marker.seq, new.seq, new.count]


def test_search_forgets_what_is_lost(server: Server, daemon: Daemon) -> None:
    """The index has what the log has."""
    with daemon.client() as client:
        client.add("demo", "rosebud stays", create=True)
        with set_back(server):
            client.add("demo", "rosebud goes")
            until_indexed(client)
        eventually(client)
        client.add("demo", "rosebud comes")
        until_indexed(client)

        found = [hit.snippet for hit in client.search("rosebud").hits]
        assert ["rosebud comes", "rosebud stays"] == found


def test_a_daemon_that_was_restarted_too(server: Server, daemon: Daemon) -> None:
    """It remembers where the log ended, says what is missing, and uses no id twice."""
    with daemon.client() as client:
        client.add("demo", "kept", create=True)
        with set_back(server):
            client.add("demo", "lost")
            lost_id = client.stats()["newest_event"]
            daemon.end()
    daemon.start()
    with daemon.client() as client:
        client.add("demo", "new")

        assert 1 == client.stats()["lost_events"]
        assert lost_id + (1 << 20) < client.history("demo").events[-1]["id"]
        assert ["kept", "new"] == texts(client)
        assert [] == client.verify().problems
        assert "ERROR" in daemon.log.read_text()


def test_a_neighbour_that_sleeps_through_it(server: Server, daemon: Daemon) -> None:
    """A daemon that was stopped finds out when it wakes, though another one has written since."""
    with daemon.client() as client, daemon_on(server) as sleeper, sleeper.client() as there:
        client.add("demo", "kept", create=True)
        with set_back(server):
            lost = there.add("demo", ["lost"] * 3)
            sleeper.process.send_signal(signal.SIGSTOP)
        eventually(client)
        for number in range(5):
            client.add("demo", f"new {number}")
        sleeper.process.send_signal(signal.SIGCONT)
        eventually(there)
        with pytest.raises(ReelError):
            there.add("demo", "based on it", if_seq=lost.head)

        assert texts(client) == texts(there) == ["kept", *(f"new {number}" for number in range(5))]
        assert [] == there.verify().problems


def test_a_server_that_lost_nothing(server: Server, daemon: Daemon) -> None:
    """After a restart of the server nothing is refused or reset, and ids are left out: another daemon may know more."""
    with daemon.client() as client:
        first = client.add("demo", "before", create=True)
        server.stop()
        server.start()
        eventually(client)
        second = client.add("demo", "after", if_seq=first.head)

        assert first.head + 1 == second.head
        assert ["before", "after"] == texts(client)
        assert (1 << 20) < client.stats()["newest_event"]
        assert 0 == client.stats()["lost_events"]


def test_a_process_of_the_server_is_killed() -> None:
    """The server begins again without a new start; with `normal` it may have lost what any daemon had written."""
    with (
        own_server(*UNSYNCED) as server,
        daemon_on(server, "--durability", "normal") as daemon,
        daemon.client() as client,
    ):
        client.add("demo", "kept", create=True)
        client.add("other", "secret", create=True)
        with crash(server):
            client.redact("other", text="secret")  # is decided on the disk, whatever is not applied there
        eventually(client)
        client.add("demo", "kept, too")
        between = client.stats()
        with crash(server):
            client.add("demo", "lost")
        eventually(client)
        client.add("demo", "new")
        with closing(psycopg.connect(server.url)) as connection:
            runs = connection.execute("SELECT count(DISTINCT server), count(*) FROM reel.runs").fetchall()
            erasures = connection.execute("SELECT method FROM reel.erasures WHERE state <> 'staged'").fetchall()

        assert [(1, 3)] == runs
        assert [("redact",)] == erasures
        assert (1 << 20) < between["newest_event"]
        assert (2 << 20) < client.stats()["newest_event"]
        assert [0, 1] == [stats["lost_events"] for stats in (between, client.stats())]
        assert ["kept", "kept, too", "new"] == texts(client)
        assert [] == client.verify().problems
