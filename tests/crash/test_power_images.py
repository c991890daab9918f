"""The simulated disk keeps synced data through a power cut, and any sectors of the rest."""

import random
from itertools import pairwise

import pytest

from tests.crash.power import SECTOR, Disk
from tests.crash.shim import Done, File, Op

WAL = File.WAL


def disk(*done: Done) -> Disk:
    """Return a disk after these calls."""
    made = Disk()
    for call in done:
        made.do(call)
    return made


def left(made: Disk, kept: float, seed: int = 0) -> bytes | None:
    """Return what a power cut leaves of the WAL."""
    return made.cut(kept, random.Random(seed)).get(WAL)


def write(data: bytes, offset: int = 0) -> Done:
    """Return a write to the WAL."""
    return Done(Op.WRITE, WAL, offset, data)


SYNC = Done(Op.SYNC, WAL, 0, b"")


@pytest.mark.parametrize(
    ("done", "nothing", "everything"),
    [
        ([write(b"abc")], b"", b"abc"),
        ([write(b"abc"), SYNC], b"abc", b"abc"),
        ([write(b"abc"), SYNC, write(b"X", 1)], b"abc", b"aXc"),
        ([write(b"abc"), SYNC, write(b"d", 5)], b"abc", b"abc\0\0d"),
        ([write(b"abc"), SYNC, Done(Op.TRUNCATE, WAL, 1, b"")], b"abc", b"a"),
        ([write(b"abc"), Done(Op.TRUNCATE, WAL, 5, b""), SYNC], b"abc\0\0", b"abc\0\0"),
        ([write(b"abc"), Done(Op.SYNC, File.DATABASE, 0, b"")], b"", b"abc"),
        ([write(b"abc"), SYNC, write(b"X"), Done(Op.LOST, WAL, 0, b""), SYNC], b"abc", b"abc"),
        ([write(b"abc"), Done(Op.SEND, 7, 0, b"x")], b"", b"abc"),
        ([write(b"abc"), SYNC, Done(Op.UNLINK, WAL, 0, b"")], None, None),
    ],
)
def test_what_is_left(done: list[Done], nothing: bytes | None, everything: bytes | None) -> None:
    """A power cut leaves at least what was synced, at most everything."""
    assert (nothing, everything) == (left(disk(*done), 0.0), left(disk(*done), 1.0))


def test_a_torn_write() -> None:
    """Any sectors of an unsynced write may be there, each of them whole."""
    made = disk(write(bytes(4 * SECTOR)), SYNC, write(b"x" * (3 * SECTOR), SECTOR // 2))
    borders = [0, SECTOR // 2, SECTOR, 2 * SECTOR, 3 * SECTOR, 3 * SECTOR + SECTOR // 2, 4 * SECTOR]
    seen = set()
    for seed in range(50):
        content = left(made, 0.5, seed) or b""
        parts = [content[start:end] for start, end in pairwise(borders)]
        assert all(len(set(part)) == 1 for part in parts)
        seen.add(bytes(part[0] for part in parts))

    assert len(seen) > 8
