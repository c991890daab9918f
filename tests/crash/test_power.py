"""After a power cut at any moment the log is a beginning of what it was, and all that was acknowledged is in it."""

import os
import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from errno import EIO
from pathlib import Path

import pytest

from reel.frames import Response
from reel.session import MessagePack
from tests.crash import tally
from tests.crash.evidence import logged
from tests.crash.history import Event
from tests.crash.nursery import Doomed
from tests.crash.power import KEPT, Disk
from tests.crash.shim import COMPILER, SUFFIXES, Action, Done, File, Op, Shim
from tests.crash.siege import Siege, integrity

LONG = bool(os.environ.get("REEL_CRASH_LONG"))
CUTS = 300 if LONG else 60

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler")


def worked(frail: Doomed, shim: Shim, *, faults: bool = False) -> tuple[list[Done], list[Event]]:
    """Let clients work for a while; give what was asked of the disk, and the log."""
    since, siege = shim.mark(), Siege(frail, seed=200)
    frail.start()
    with siege.load():
        for turn in range(10 if LONG else 6):
            if faults:
                shim.order(Action.FAIL, Op.SYNC, File.WAL | File.DATABASE, skip=turn, count=1 + turn % 2, value=EIO)
            siege.work(50)
        frail.kill()
    shim.calm()
    done = list(shim.done(since))
    frail.start()
    siege.look()
    frail.end()
    return done, read(frail.database)


def read(database: str) -> list[Event]:
    """Read a log; before its tables are made there is none."""
    with closing(sqlite3.connect(database)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
            return []
        assert [] == connection.execute(_WRONG_HEADS).fetchall()
        return logged(connection)


_WRONG_HEADS = """
    SELECT name FROM agents a WHERE head <> (SELECT max(seq) FROM events e WHERE e.agent = a.id)
    UNION ALL
    SELECT key FROM keys k WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.agent = k.agent AND e.seq = k.command)
"""


def spoken(done: Sequence[Done], log: Sequence[Event]) -> dict[int, list[int]]:
    """Find the sends with answers that say where an agent is: their places, and how long the log is that each means."""
    lengths = {(event.agent, event.seq): length for length, event in enumerate(log, 1)}
    framings: dict[int, MessagePack] = defaultdict(lambda: MessagePack(64 << 20))
    news: dict[int, list[int]] = defaultdict(list)
    for place, call in enumerate(done):
        if call.op is Op.SEND:
            for frame in framings[call.where].feed(call.data):
                if isinstance(frame, Response) and frame.error is None and "head" in frame.result:
                    agent = frame.result.get("id") or frame.result["agent"]
                    news[place].append(lengths[agent, frame.result["head"]])
    return news


def cuts(
    done: Sequence[Done], news: dict[int, list[int]], chance: random.Random
) -> Iterator[tuple[int, dict[File, bytes]]]:
    """Cut the power, every other time right after an answer has left; give how much of the log must be there."""
    anywhere = chance.sample(range(len(done)), min(CUTS // 2, len(done)))
    sharp = chance.sample(sorted(news), min(CUTS // 2, len(news)))
    disk, length = Disk(), 0
    for place, call in enumerate(done):
        disk.do(call)
        length = max([length, *news.get(place, ())])
        if place in sharp:
            yield length, disk.cut(0.0, chance)
        if place in anywhere:
            yield length, disk.cut(chance.choice(KEPT), chance)


def lay_out(directory: Path, files: dict[File, bytes]) -> str:
    """Write what a power cut left; give the path of the database."""
    database = directory / "left.db"
    for file, suffix in SUFFIXES.items():
        path = Path(f"{database}{suffix}")
        path.unlink(missing_ok=True)
        if file in files:
            path.write_bytes(files[file])
    return str(database)


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_power_cut(frail: Doomed, shim: Shim, tmp_path: Path, durability: str) -> None:
    """What is left is sound and a beginning of the log; with ``full``, all that was acknowledged is in it."""
    frail.arguments = ["--durability", durability]
    chance = random.Random(1)
    done, log = worked(frail, shim)
    short = 0
    for length, files in cuts(done, spoken(done, log), chance):
        left = lay_out(tmp_path, files)
        events = read(left)
        short += len(events) < length

        assert log[: len(events)] == events
        assert [("ok",)] == integrity(left)
        tally.count(f"power cuts, {durability}")
    assert durability == "normal" or not short
    tally.count(f"power cuts after which something acknowledged was gone, {durability}", short)


def test_a_power_cut_after_failed_syncs(frail: Doomed, shim: Shim, tmp_path: Path) -> None:
    """Also where syncs failed, and the kernel forgot what they were for, all that was acknowledged is there."""
    done, log = worked(frail, shim, faults=True)
    assert Op.LOST in {call.op for call in done}
    for length, files in cuts(done, spoken(done, log), random.Random(2)):
        left = lay_out(tmp_path, files)

        assert log[:length] == read(left)[:length]
        assert [("ok",)] == integrity(left)
        tally.count("power cuts after failed syncs")


def test_synced_before_each_answer(frail: Doomed, shim: Shim, tmp_path: Path) -> None:
    """Whenever an answer leaves, a reader's as well, what it speaks of is synced, whatever is written for others."""
    done, log = worked(frail, shim)
    news = spoken(done, log)
    disk, safe = Disk(), 0
    for place, call in enumerate(done):
        disk.do(call)
        if max(news.get(place, (0,))) > safe:
            safe = len(read(lay_out(tmp_path, disk.cut(0.0, random.Random(3)))))

            assert max(news[place]) <= safe
    assert safe
    tally.count("answers seen to leave after their sync", sum(map(len, news.values())))
