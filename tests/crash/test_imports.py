"""Imports that die, of a daemon that dies, side by side, while a tool writes and a person acts: nothing is lost."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import ReelError
from reel.importing import tool_named
from reel.importing.adding.importer import Importer
from reel.importing.adding.log import MOVES
from reel.importing.adding.pipeline import Pipeline, Taker
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.requests import Call
from reel.said.kinds import NODE_KINDS
from reel.sync.client import Client
from tests.crash import stats
from tests.daemon import Daemon, until
from tests.reel.importing.adding.test_growing import STORIES, Import

LONG = bool(os.environ.get("REEL_CRASH_LONG"))
# What is told, and whether a person acts meanwhile; in the gate two whose answers grow in different ways.
_TOLD = (
    [(name, acts) for name in STORIES for acts in (False, True)] if LONG else [("claude-code", False), ("crush", True)]
)
# How often each is told, with other deaths.
_SEEDS = 8 if LONG else 1
# The most commands of a look after which an import may die.
_LAST = 6


class Died(Exception):
    """An import was killed."""


class Dying(Pipeline):
    """Dies before it sends one of its commands.

    Args:
        client: as for a pipeline.
        left: how many it sends before.
    """

    def __init__(self, client: Client, left: int) -> None:
        super().__init__(client)
        self._left = left

    def submit(self, call: Call[Any], take: Taker) -> None:
        """Send a command, or die."""
        if self._left == 0:
            raise Died
        self._left -= 1
        super().submit(call, take)


def look(daemon: Daemon, tool: str, root: Path, seen: Path, chance: random.Random) -> None:
    """Import what is there, as another process would that knows what the one before has saved; it may die."""
    left = chance.randrange(_LAST) if chance.random() < 0.3 else -1
    saved = Seen(str(seen))
    client = Client(daemon.socket, name=CLIENT, patience=0.1)  # if the daemon has died, so does the import
    with suppress(Died, ReelError), Dying(client, left) as pipeline:
        importer = Importer(pipeline, saved)
        importer.look()
        for _ in importer.run(tool_named(tool), tool_named(tool).discover(root).sources):
            pass
        saved.save()
        return
    stats.count("deaths of imports")


def act(client: Client, prefix: str, chance: random.Random) -> None:
    """Do what a person may do with what was imported."""
    rows = [row.name for row in client.iter_agents(prefix=prefix)]
    if not rows:
        return
    name = chance.choice(rows)
    acts: list[Callable[[], object]] = [
        lambda: client.add(name, "A person's word"),
        lambda: client.undo(name),
        lambda: client.mark(name),
        lambda: client.clone(name, f"copies/{chance.random()}"),
        lambda: client.restore(name, chance.randint(1, client.agent(name).head)),
        lambda: client.change(name, title="A person's title"),
    ]
    with suppress(ReelError):
        chance.choice(acts)()


def words(client: Client, prefix: str) -> dict[str, Any]:
    """Return what is said in the newest agent of each conversation; ``None`` where a person had the last word."""
    names = {row.name.partition("@")[0]: row.name for row in client.iter_agents(prefix=prefix)}
    return {name: said_in(client, newest) for name, newest in names.items()}


def said_in(client: Client, name: str) -> list[Any] | None:
    """Return what is said in an agent; ``None`` if a person had the last word."""
    by = [event["client"] for event in client.iter_history(name) if event["kind"] in NODE_KINDS | MOVES]
    return (
        [(record["kind"], record["content"]) for record in client.iter_conversation(name)]
        if by[-1:] == [CLIENT]
        else None
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "has_person"), _TOLD)
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_imports_side_by_side(daemon: Daemon, tmp_path: Path, name: str, seed: int, *, has_person: bool) -> None:
    """At the end each conversation says what its source says, once, and another look adds nothing."""
    chance, root = random.Random(f"{name} {seed}"), tmp_path / "root"
    root.mkdir()
    tool, story = STORIES[name]
    with ThreadPoolExecutor(2) as importers:
        for _ in story(root, f"side-{name}"):
            looks = [
                importers.submit(look, daemon, tool, root, tmp_path / f"seen{number}", random.Random(chance.random()))
                for number in range(2)
            ]
            if chance.random() < 0.1:
                daemon.kill()
                stats.count("deaths")
                daemon.start()
            for one in looks:
                one.result()
            if has_person and chance.random() < 0.2:
                with daemon.client() as client:
                    act(client, f"{tool}/", chance)
    with daemon.client() as client:
        last, again, fresh = (Import(client, tool, root, tmp_path / seen) for seen in ("seen0", "again", "fresh"))
        last.look()
        said, heads = words(client, f"{tool}/"), {row.name: row.head for row in client.iter_agents()}
        again.look()
        after = {row.name: row.head for row in client.iter_agents()}
        again.purge("")
        fresh.look()
        expected = words(client, f"{tool}/")

    assert heads == after
    assert has_person or None not in said.values()
    assert expected.keys() == said.keys()
    assert {name: found for name, found in expected.items() if said[name] is not None} == {
        name: found for name, found in said.items() if found is not None
    }


class Watcher:
    """``reel import --watch`` in a process of its own, which looks all the time.

    Args:
        daemon: where it imports.
        state: its state directory.
        words: what the command is told.
    """

    def __init__(self, daemon: Daemon, state: Path, *words: str) -> None:
        self._environment = {
            **os.environ,
            "REEL_SOCKET": daemon.socket,
            "XDG_STATE_HOME": str(state),
            "HOME": str(state),
        }
        self._command = [sys.executable, "-c", _WATCH, "import", *words, "--yes", "--watch"]
        self._output = state / "output"
        state.mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def end(self, number: int) -> str:
        """Send a signal, wait for the end, and return all that it has said."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait()
        return self._output.read_text()


# Between two looks it pauses for a moment only.
_WATCH = """
from reel.cli import process
from reel.cli.commands.shared import watching
watching._SHORTEST, watching._TIMES = 0.05, 1
process()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES if LONG else ["pi"])
@pytest.mark.parametrize("seed", range(3 if LONG else 1))
def test_watches_that_are_killed(daemon: Daemon, tmp_path: Path, name: str, seed: int) -> None:
    """After kill -9 of them and of the daemon, each conversation says what its source says, once."""
    chance, root = random.Random(f"{name} {seed}"), tmp_path / "root"
    root.mkdir()
    tool, story = STORIES[name]
    watchers = [Watcher(daemon, tmp_path / f"state{number}", tool, str(root)) for number in range(2)]
    for watcher in watchers:
        watcher.start()
    for _ in story(root, f"watched-{name}"):
        if chance.random() < 0.5:
            wait_for_looks(daemon, 2)
        if chance.random() < 0.15:
            daemon.kill()
            stats.count("deaths")
            daemon.start()
        if chance.random() < 0.15:
            victim = chance.choice(watchers)
            victim.end(signal.SIGKILL)
            stats.count("deaths of imports")
            victim.start()
    wait_for_looks(daemon, 4)
    with daemon.client() as client:
        output = "".join(watcher.end(signal.SIGTERM) for watcher in watchers)
        last, fresh = (Import(client, tool, root, tmp_path / seen) for seen in ("last", "fresh"))
        last.look()
        said = words(client, f"{tool}/")
        last.purge("")
        fresh.look()
        expected = words(client, f"{tool}/")

    assert expected == said
    assert "Traceback" not in output
    assert "fault of reel" not in output


def wait_for_looks(daemon: Daemon, number: int) -> None:
    """Wait until the conversations were listed so often, as each look does."""
    with daemon.client() as client:
        until_listed = listings(client) + number
        until(lambda: listings(client) >= until_listed)


def listings(client: Client) -> int:
    """Return how often the conversations were listed since the daemon began."""
    return sum(client.stats()["request_seconds"].get("agents", {"counts": []})["counts"])
