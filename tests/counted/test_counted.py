"""How many calls of the system, wake-ups, commits, statements and requests things take, each with its reason."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reel import requests as calls
from reel.sync.client import Client
from tests.counted.calls import noting
from tests.counted.requests import requests
from tests.daemon import Daemon, short_directory, until, until_indexed

pytestmark = pytest.mark.slow

_TIMES = 50
_ROUNDS = 3

# What the daemon's event loop calls for a durable add that comes alone.
LONE_ADD = {
    "socket.recv": 1,  # until nothing is left would take a second one
    "socket.send": 1,
    "epoll.poll": 2,  # trio's, and the poller's, which knows the socket
    "epoll.modify": 1,  # trio forgets what it watches each time it wakes a task
    "stat": 3,  # the database, its WAL and its lock file are still at their paths
    "SimpleQueue.put": 0,  # no job for another thread: the commit runs in the loop
    "write": 0,  # no thread has to be woken, nor the loop by one
    # The wait for locks is turned off and on, BEGIN, the head of the agent, the event, its key, COMMIT.
    "Cursor.execute": 7,
}
# What it calls for a command that adds messages to one agent, each with a reference, and a note, as frameworks do.
# Three events are two statements; and the references are looked up in the loop: the agent's source, and its events.
ADD_WITH_REFERENCES = {**LONE_ADD, "Cursor.execute": 8, "_FunctionRunner.execute": 2}
# Calls of Python's functions for it: 190 were counted, and up to 215 on a busy machine, where more of the daemon's own
# chores come between them. Each takes about a third of a microsecond.
MOST_CALLS = 230
# What the client's thread calls for it.
CLIENTS_ADD = {"socket.sendall": 1, "socket.recv": 1}
# Calls of Python's functions for it on that side: 47 were counted.
MOST_CALLS_OF_CLIENT = 55
# Commits of an import of 1,000 short messages: one that creates the conversation, and one for each batch.
MOST_COMMITS_OF_IMPORT = 6
# Modules of reel's that the daemon imports before it listens: 227 were counted. Each takes 0.1 to 0.3 ms.
MOST_IMPORTS = 230
# What the newest messages of a conversation take that is not in memory.
COLD_PAGE = {
    "SimpleQueue.put": 2,  # who has the name, and how its conversation stands
    # The agent by its name; then its row with its newest event, and the path from there.
    "thread:_FunctionRunner.execute": 3,
    "thread:_FunctionRunner.executemany": 0,
}


class CountingDaemon(Daemon):
    """A daemon that tells what it has called."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._counts = directory / "counts"

    def command(self) -> list[str]:
        module = ["-m", "tests.counted.counting_daemon", str(self._counts)]
        return [sys.executable, *module, "--socket", self.socket, "--database", self.database]

    def counts(self) -> Counter[str]:
        """Return how often it has called each function."""
        self._counts.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        until(self._counts.exists)
        return Counter(json.loads(self._counts.read_text()))


@pytest.fixture(scope="module")
def daemon() -> Iterator[CountingDaemon]:
    """A daemon that counts, with a conversation that is in memory."""
    with short_directory() as directory:
        daemon = CountingDaemon(directory)
        try:
            daemon.start()
            with daemon.client() as client:
                client.create("demo")
                for _ in range(10):
                    client.add("demo", "hello")
            yield daemon
        finally:
            daemon.close()


@pytest.fixture
def client(daemon: CountingDaemon) -> Iterator[Client]:
    """A client that is connected."""
    with daemon.client() as client:
        yield client


def run_reel(client: Client, *words: str) -> str:
    """Run ``reel`` and return what it printed."""
    command = [str(Path(sys.executable).with_name("reel")), *words]
    environment = {**os.environ, "REEL_SOCKET": client.path}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def least(count: Callable[[], Counter[str]], work: Callable[[], object], times: int = _TIMES) -> Counter[str]:
    """Return what one piece of work calls, without the chores that come between some of many."""
    rounds: list[Counter[str]] = []
    for _ in range(_ROUNDS):
        before = count()
        for _ in range(times):
            work()
        after = count()
        rounds.append(Counter({name: round((after[name] - before[name]) / times) for name in after}))
    return min(rounds, key=Counter.total)


def test_a_lone_add(daemon: CountingDaemon, client: Client) -> None:
    """A lone add takes one call to read and one to write, and wakes no thread."""
    counts = least(daemon.counts, lambda: client.add("demo", "hello"))

    assert LONE_ADD == {name: counts[name] for name in LONE_ADD}
    assert counts["Python"] <= MOST_CALLS


def test_an_add_with_references(daemon: CountingDaemon, client: Client) -> None:
    """Messages that are left out if they are known wake no thread either, also as parts of one command."""
    numbers = count()

    def save() -> None:
        said: list[Any] = [{"role": "user", "content": "hello", "ref": f"r{next(numbers)}"} for _ in range(2)]
        client.commit([calls.add("demo", said), calls.add("demo", [{"kind": "note", "data_json": "{}"}])])

    counts = least(daemon.counts, save)

    assert ADD_WITH_REFERENCES == {name: counts[name] for name in ADD_WITH_REFERENCES}


def test_a_lone_add_of_a_client(client: Client) -> None:
    """The client sends once and receives once."""
    counts: Counter[str] = Counter()

    def add() -> None:
        before = sys.getprofile()
        sys.setprofile(noting(counts))
        try:
            client.add("demo", "hello")
        finally:
            sys.setprofile(before)

    called = least(counts.copy, add)

    assert CLIENTS_ADD == {name: called[name] for name in CLIENTS_ADD}
    assert called["Python"] <= MOST_CALLS_OF_CLIENT


def test_imports() -> None:
    """A start imports what nearly every daemon needs, and leaves the rest to the first call that needs it."""
    code = "import sys, reeld.__main__; from reeld import app, config; print(*sys.modules)"
    imported = subprocess.check_output([sys.executable, "-c", code], text=True).split()

    assert len([name for name in imported if name.split(".")[0] in ("reel", "reeld")]) <= MOST_IMPORTS


def test_commits(client: Client, tmp_path: Path) -> None:
    """A thousand messages are one commit, in one add and in an import that creates the conversation."""
    before = client.stats()["commits"]
    client.add("demo", ["hello"] * 1000)
    assert before + 1 == client.stats()["commits"]

    file = tmp_path / "messages.jsonl"
    file.write_text('{"role": "user", "content": "hello"}\n' * 1000)
    before, asked = client.stats()["commits"], requests(client)
    run_reel(client, "import", "jsonl", str(file))
    assert client.stats()["commits"] - before <= MOST_COMMITS_OF_IMPORT
    assert {"agents": 1, "create": 1} == {name: n for name, n in (requests(client) - asked).items() if name != "append"}


def test_show(client: Client) -> None:
    """``reel show`` asks once for a page of messages, for the open calls, and for records that ask for an approval."""
    client.add("shown", ["hello"] * 100, create=True)
    before = requests(client)
    run_reel(client, "show", "shown")

    assert {"messages": 1, "agent": 1, "history": 1} == requests(client) - before


def test_a_list_of_what_waits(client: Client) -> None:
    """``reel list`` asks once, however many conversations wait for an approval."""
    asks: Any = {
        "type": "opaque",
        "provider": "x",
        "data_json": '{"type": "function_approval_request", "name": "delete"}',
    }
    names = [f"asks-{number}" for number in range(20)]
    for name in names:
        client.add(name, {"role": "assistant", "content": [asks]}, create=True)
    before = requests(client)
    listed = run_reel(client, "list", "asks-")

    assert {"agents": 1} == requests(client) - before
    assert 20 == listed.count("  approval  waiting for an approval: delete\n")


def test_a_cold_page(daemon: CountingDaemon, client: Client) -> None:
    """The newest messages of a conversation that is not in memory take two jobs of a reading connection."""
    names = [f"cold-{number}" for number in range(10 * _ROUNDS)]
    for name in names:
        client.add(name, ["hello"] * 1000, create=True)
    until_indexed(client)
    client.close()
    daemon.end()
    daemon.start()
    client.search("hello")  # opens the index, which a start does a moment later

    cold = iter(names)
    counts = least(daemon.counts, lambda: client.messages(next(cold), limit=100), times=10)

    assert COLD_PAGE == {name: counts[name] for name in COLD_PAGE}
