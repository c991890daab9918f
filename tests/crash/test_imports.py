"""Imports that die, of a daemon that dies, side by side, while a tool writes and a person acts: nothing is lost."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import InvalidParams, NothingToUndo, NotRunning
from reel.importing import tool_named
from reel.importing.adding.importer import Importer, Totals
from reel.importing.adding.log import MOVES
from reel.importing.adding.pipeline import Pipeline, Taker
from reel.importing.adding.seen import Seen
from reel.importing.adding.stretch import MOST
from reel.importing.adding.target import CLIENT
from reel.requests import Call
from reel.said.kinds import NODE_KINDS
from reel.sync.client import Client
from tests.crash import stats
from tests.crash.crash_points import AFTER_LOOP, IN_LOOP, PROOF
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.test_deaths import death_at
from tests.crash.workload import LONG
from tests.daemon import Daemon, until
from tests.patience import PATIENCE
from tests.reel.importing.adding.test_growing import STORIES, Import
from tests.reel.importing.transcripts import Transcript

# What is told, and whether a person acts meanwhile; in the gate two whose answers grow in different ways.
_TOLD = (
    [(name, acts) for name in STORIES for acts in (False, True)] if LONG else [("claude-code", False), ("crush", True)]
)
# How often each is told, with other deaths.
_SEEDS = 8 if LONG else 1
# The most commands of a look after which an import may die.
_LAST = 6
# What an import may say of a conversation: another one was faster.
_OVERTAKEN = "the conversation was changed while it was imported; import it again"


class Died(BaseException):
    """An import was killed; nothing catches that."""


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
    # If the daemon has died, the import dies as well, or waits for the next one.
    client = Client(daemon.socket, name=CLIENT, patience=chance.choice((0.1, PATIENCE)))
    with suppress(Died, NotRunning), Dying(client, left) as pipeline:
        totals = brought_in(pipeline, tool, root, seen)
        assert {_OVERTAKEN} >= {problem.what for problem in totals.counts.problems}
        return
    stats.count("deaths of imports")


def brought_in(pipeline: Pipeline, tool: str, root: Path, seen: Path) -> Totals:
    """Import what is there, and return what became of it."""
    saved = Seen(str(seen))
    importer = Importer(pipeline, saved)
    importer.look()
    for _ in importer.run(tool_named(tool), tool_named(tool).discover(root).sources):
        pass
    saved.save()
    return importer.totals


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
    with suppress(NothingToUndo, InvalidParams):  # a seq that ends no command cannot be restored
        chance.choice(acts)()


def unexpected(client: Client, prefix: str) -> list[str]:
    """Return what is in the logs that no import writes, however many run and die."""
    names = [row.name for row in client.iter_agents(prefix=prefix)]
    logs = {name: [*client.iter_history(name)] for name in names}
    found = list[str]()
    for name, events in logs.items():
        refs = Counter(event["ref"] for event in events if event.get("ref"))
        found += [f"{ref} is there {times} times in {name}" for ref, times in refs.items() if times > 1]
        by = "".join("i" if client == CLIENT else "p" for client in changed_by(events))
        if "pi" in by:
            found.append(f"{name} was imported into after a person had changed it")
        first, _, number = name.partition("@")
        before = first if number == "2" else f"{first}@{int(number or 1) - 1}"
        if number and {*changed_by(logs[before])} == {CLIENT}:
            found.append(f"{name} is beside {before}, which nobody has changed")
    return found


def changed_by(events: Iterable[Any]) -> list[str]:
    """Return the clients that have changed a conversation, in order."""
    return [event["client"] for event in events if event["kind"] in NODE_KINDS | MOVES]


def words(client: Client, prefix: str) -> dict[str, Any]:
    """Return what is said in the newest agent of each conversation; ``None`` where a person had the last word."""
    names = {row.name.partition("@")[0]: row.name for row in client.iter_agents(prefix=prefix)}
    return {name: said_in(client, newest) for name, newest in names.items()}


def said_in(client: Client, name: str) -> list[Any] | None:
    """Return what is said in an agent; ``None`` if a person had the last word."""
    if changed_by(client.iter_history(name))[-1:] != [CLIENT]:
        return None
    return [(record["kind"], record["content"]) for record in client.iter_conversation(name)]


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
            if has_person and chance.random() < 0.2:
                with daemon.client() as client:
                    act(client, f"{tool}/", chance)
            for one in looks:
                one.result()
    with daemon.client() as client:
        last, again, fresh = (Import(client, tool, root, tmp_path / seen) for seen in ("seen0", "again", "fresh"))
        last.look()
        said, heads = words(client, f"{tool}/"), {row.name: row.head for row in client.iter_agents()}
        wrong = unexpected(client, f"{tool}/")
        again.look()
        after = {row.name: row.head for row in client.iter_agents()}
        again.purge("")
        fresh.look()
        expected = words(client, f"{tool}/")

    assert [] == wrong
    assert heads == after
    assert has_person or None not in said.values()
    assert expected.keys() == said.keys()
    assert {name: found for name, found in expected.items() if said[name] is not None} == {
        name: found for name, found in said.items() if found is not None
    }


# Where the daemon dies while it carries out what an import has sent.
_ON_THE_WAY = [
    "before BEGIN",
    "before a new agent",
    "between rows",
    "before the keys",
    "before COMMIT",
    "after COMMIT",
    IN_LOOP,
    AFTER_LOOP,
    "committed, before it is applied",
    "applied, before the answer",
    "before the answer leaves",
]


def test_an_import_that_outlives_its_daemon(crashing: CrashingDaemon, tmp_path: Path) -> None:
    """An import that waits for the next daemon goes on where it was: each of its commands is carried out once."""
    points = _ON_THE_WAY if LONG else _ON_THE_WAY[::3]
    with ThreadPoolExecutor(1) as importers:
        for number, point in enumerate(points):
            root = tmp_path / f"root{number}"
            root.mkdir()
            told = tell(root, number)
            crashing.start()
            with Pipeline(Client(crashing.socket, name=CLIENT, patience=PATIENCE)) as pipeline:
                for _ in range(PROOF + 1):
                    pipeline.add("other", "to be sure of the disk", create=True)
                with death_at(crashing, point):
                    imported = importers.submit(brought_in, pipeline, "claude-code", root, tmp_path / f"seen{number}")
                crashing.start()
                totals = imported.result()
            with crashing.client() as client:
                said = {name: said_in(client, f"claude-code/{name}") for name in told}

                assert [] == unexpected(client, "claude-code/")
            assert [] == totals.counts.problems
            assert (len(told), 0) == (totals.new, totals.incomplete)
            assert told == said
            crashing.kill()


def tell(root: Path, number: int) -> dict[str, list[tuple[str, str]]]:
    """Write sessions of Claude Code: one of several commands, and small ones; return what they say."""
    told = dict[str, list[tuple[str, str]]]()
    for place, turns in enumerate((MOST, 1, 2)):
        made = Transcript(f"{number}-{place}")
        for turn in range(turns):
            made.user(f"u{turn}", f"Question {turn}").answer(f"a{turn}", f"Answer {turn}", f"m{turn}")
        made.write(root / f"{number}-{place}.jsonl")
        turn_of = [[("user", f"Question {turn}"), ("assistant", f"Answer {turn}")] for turn in range(turns)]
        told[f"{number}-{place}"] = [said for turn in turn_of for said in turn]
    return told


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
        said, wrong = words(client, f"{tool}/"), unexpected(client, f"{tool}/")
        last.purge("")
        fresh.look()
        expected = words(client, f"{tool}/")

    assert [] == wrong
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
