"""A real daemon under load dies, at random and at every named place; what was acknowledged is there, once, in order."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crash import tally
from tests.crash.doomed import CALLS, MIGRATIONS, STATEMENTS
from tests.crash.nursery import Doomed
from tests.crash.siege import Siege
from tests.daemon import Daemon

LONG = bool(os.environ.get("REEL_CRASH_LONG"))
_OPENING = [point for point in STATEMENTS if point.startswith("opening")]
_STOPPING = [point for point in CALLS if point.startswith("stopping")]
_WORKING = [point for point in (*STATEMENTS, *CALLS) if point not in {*_OPENING, *_STOPPING}]
_FIRST, _LATER = list(MIGRATIONS)[:4], list(MIGRATIONS)[4:]


def kill_under_load(siege: Siege) -> None:
    """Let clients work for a moment, and kill the daemon."""
    with siege.load():
        time.sleep(siege.random.uniform(0.02, 0.3))  # the moment of death, not a wait for something
        siege.daemon.kill()
    tally.count("deaths")


@contextmanager
def death_at(doomed: Doomed, point: str) -> Iterator[None]:
    """Let the daemon die at a place that it comes to because of the block; the next one lives."""
    doomed.doom(point)
    yield
    assert point == doomed.died()
    doomed.doom("")
    tally.count("fault points hit")


def test_ready_again(directory: Path) -> None:
    """A daemon as it is installed comes back after kill -9 under load; how soon is shown, and fails nothing."""
    daemon = Daemon(directory)
    siege = Siege(daemon, seed=0)
    daemon.start()
    for _ in range(10 if LONG else 2):
        kill_under_load(siege)
        began = time.monotonic()
        daemon.start()
        tally.took("ready after a death", time.monotonic() - began)
        siege.look()
    daemon.close()


@pytest.mark.parametrize("seed", range(1, 33 if LONG else 2))
def test_deaths_at_random(doomed: Doomed, seed: int) -> None:
    """After kill -9 at any moment, every history is one that a daemon could have without it."""
    siege = Siege(doomed, seed)
    doomed.start()
    for _ in range(12 if LONG else 6):
        kill_under_load(siege)
        doomed.start()
        siege.look()


def test_death_at_every_place(doomed: Doomed) -> None:
    """It dies at each named place, under load, and nothing is lost, doubled or torn."""
    siege = Siege(doomed, seed=100)
    doomed.start()
    for point in _WORKING:
        with siege.load(), death_at(doomed, point):
            pass
        doomed.start()
        siege.look()


@pytest.mark.parametrize("point", _STOPPING)
def test_death_while_it_stops(doomed: Doomed, point: str) -> None:
    """It dies while it stops under load, and nothing is lost."""
    siege = Siege(doomed, seed=101)
    doomed.start()
    with siege.load(), death_at(doomed, point):
        doomed.process.send_signal(signal.SIGTERM)
    doomed.start()
    siege.look()


def test_death_while_it_opens(doomed: Doomed) -> None:
    """It dies while it opens what a crash has left, and the next one opens it."""
    siege = Siege(doomed, seed=102)
    doomed.start()
    for point in _OPENING:
        kill_under_load(siege)
        with death_at(doomed, point):
            doomed.launch()
        doomed.start()
        siege.look()


def test_death_in_a_migration(doomed: Doomed) -> None:
    """It dies while a new file, or one of an older version, becomes one of today; the next one finishes that."""
    siege = Siege(doomed, seed=103)
    for point in _FIRST:
        with death_at(doomed, point):
            doomed.launch()
    doomed.start()
    kill_under_load(siege)
    doomed.later = True
    for point in _LATER:
        with death_at(doomed, point):
            doomed.launch()
    doomed.start()
    siege.look()
