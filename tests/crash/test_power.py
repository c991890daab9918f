"""After a power cut at any moment the log is a prefix of the full log with all acknowledged commands."""

import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from errno import EIO
from pathlib import Path

import pytest

from reel.wire.frames import Response
from reel.wire.session import MessagePack
from reeld.store.schema import DURABILITIES
from tests.crash import stats
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.final_state import read_log
from tests.crash.history import Event
from tests.crash.power import KEPT, Disk
from tests.crash.shim import COMPILER, SUFFIXES, Action, Done, File, Op, Shim
from tests.crash.workload import LONG, Workload, integrity
from tests.daemon import until

CUTS = 300 if LONG else 60

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler")


def record_work(shimmed: CrashingDaemon, shim: Shim, *, faults: bool = False) -> tuple[list[Done], list[Event]]:
    """Run the clients for a while on a new file, and again on a file that there is.

    Returns:
        the recorded calls on the disk, and the log.
    """
    done, workload = list[Done](), Workload(shimmed, seed=200)
    for _ in range(2):
        since = shim.mark()
        shimmed.start()
        with workload.load():
            for turn in range(5 if LONG else 3):
                if faults:
                    shim.order(Action.FAIL, Op.SYNC, File.WAL | File.DATABASE, skip=turn, count=1 + turn % 2, value=EIO)
                workload.wait_for_commands(50)
            shimmed.kill()
        shim.calm()
        done += shim.done(since)
    shimmed.start()
    workload.verify()
    shimmed.end()
    return done, read(shimmed.database)


def read(database: str) -> list[Event]:
    """Read a log; it is empty if there are no tables yet."""
    with closing(sqlite3.connect(database)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
            return []
        assert [] == connection.execute(_WRONG_HEADS).fetchall()
        return read_log(connection)


_WRONG_HEADS = """
    SELECT name FROM agents a WHERE head <> (SELECT max(seq) FROM events e WHERE e.agent = a.id)
    UNION ALL
    SELECT key FROM keys k WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.agent = k.agent AND e.seq = k.command)
"""


def acknowledged_lengths(done: Sequence[Done], log: Sequence[Event]) -> dict[int, list[int]]:
    """Return, for the index of each send with a head in its replies, the lengths of the log that those imply."""
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
    """Cut the power, half of the times right after a reply; yield the required length of the log, and the files."""
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
    """Write the files that a power cut left; return the path of the database."""
    database = directory / "left.db"
    for file, suffix in SUFFIXES.items():
        path = Path(f"{database}{suffix}")
        path.unlink(missing_ok=True)
        if file in files:
            path.write_bytes(files[file])
    return str(database)


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_power_cut(shimmed: CrashingDaemon, shim: Shim, tmp_path: Path, durability: str) -> None:
    """The database is sound and a prefix of the log; with ``full``, it has all acknowledged commands."""
    shimmed.arguments = ["--durability", durability]
    chance = random.Random(1)
    done, log = record_work(shimmed, shim)
    short = 0
    for length, files in cuts(done, acknowledged_lengths(done, log), chance):
        left = lay_out(tmp_path, files)
        events = read(left)
        short += len(events) < length

        assert log[: len(events)] == events
        assert [("ok",)] == integrity(left)
        stats.count(f"power cuts, {durability}")
    assert "normal" == durability or not short
    stats.count(f"power cuts after which something acknowledged was gone, {durability}", short)


def test_a_power_cut_after_failed_syncs(shimmed: CrashingDaemon, shim: Shim, tmp_path: Path) -> None:
    """All acknowledged commands are there even if syncs failed and the kernel dropped their pages."""
    done, log = record_work(shimmed, shim, faults=True)
    assert Op.LOST in {call.op for call in done}
    for length, files in cuts(done, acknowledged_lengths(done, log), random.Random(2)):
        left = lay_out(tmp_path, files)

        assert log[:length] == read(left)[:length]
        assert [("ok",)] == integrity(left)
        stats.count("power cuts after failed syncs")


def test_synced_before_each_reply(shimmed: CrashingDaemon, shim: Shim, tmp_path: Path) -> None:
    """When a reply leaves, also one to a read, the events that it mentions are synced."""
    done, log = record_work(shimmed, shim)
    news = acknowledged_lengths(done, log)
    disk, safe = Disk(), 0
    for place, call in enumerate(done):
        disk.do(call)
        if max(news.get(place, (0,))) > safe:
            safe = len(read(lay_out(tmp_path, disk.cut(0.0, random.Random(3)))))

            assert max(news[place]) <= safe
    assert safe
    stats.count("replies seen to leave after their sync", sum(map(len, news.values())))


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_power_cut_while_it_stops(shimmed: CrashingDaemon, shim: Shim, tmp_path: Path, durability: str) -> None:
    """When the WAL is removed at the end of a run, everything is synced in the database, with either durability."""
    shimmed.arguments = ["--durability", durability]
    since, workload = shim.mark(), Workload(shimmed, seed=201)
    shimmed.start()
    with workload.load():
        workload.wait_for_commands(50)
        shimmed.end()
    done = list(shim.done(since))
    log = read(shimmed.database)
    disk, removed = Disk(), False
    for call in done:
        disk.do(call)
        removed |= call.op is Op.UNLINK and call.where == File.WAL
        if removed:
            left = lay_out(tmp_path, disk.cut(0.0, random.Random(4)))

            assert log == read(left)
            assert [("ok",)] == integrity(left)
    assert removed


def test_synced_on_time(shimmed: CrashingDaemon, shim: Shim, tmp_path: Path) -> None:
    """With ``normal``, a checkpoint syncs what was acknowledged on time, though nobody writes any more."""
    shimmed.arguments = ["--durability", "normal"]
    since = shim.mark()
    shimmed.start()
    with shimmed.client() as client:
        client.add("demo", "hi", create=True)

        until(lambda: [1, 2] == [event.seq for event in read(lay_out(tmp_path, safe_now(shim, since)))])


def safe_now(shim: Shim, since: int) -> dict[File, bytes]:
    """Return the files that a power cut would leave at least."""
    disk = Disk()
    for call in shim.done(since):
        disk.do(call)
    return disk.cut(0.0, random.Random(5))


@pytest.mark.parametrize("seed", range(12) if LONG else [2])
@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_power_cut_after_failed_syncs_and_a_stop(
    shimmed: CrashingDaemon, shim: Shim, tmp_path: Path, durability: str, seed: int
) -> None:
    """What failed syncs have lost is written again before the WAL is removed at the end of a run."""
    shimmed.arguments = ["--durability", durability]
    since, workload = shim.mark(), Workload(shimmed, seed=300 + seed)
    shimmed.start()
    with workload.load():
        for turn in range(3):
            files = (File.DATABASE, File.WAL, File.WAL | File.DATABASE)[seed % 3]
            shim.order(Action.FAIL, Op.SYNC, files, skip=turn, count=1 + (turn + seed) % 3, value=EIO)
            workload.wait_for_commands(60)
        shimmed.end()
    shim.calm()
    disk = Disk()
    for call in shim.done(since):
        disk.do(call)
    left = lay_out(tmp_path, disk.cut(0.0, random.Random(5)))

    assert read(shimmed.database) == read(left)
    assert [("ok",)] == integrity(left)
