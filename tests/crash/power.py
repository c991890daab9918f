"""The possible contents of a disk after a power cut: all that was synced, and any part of what was not."""

import random
from collections.abc import Iterator

from tests.crash.shim import Done, File, Op

# A disk writes this many bytes atomically.
SECTOR = 512

# The probability with which each unsynced sector is on the disk.
KEPT = (0.0, 1.0, 0.5, 0.9, 0.1)


class _Content:
    """A file: the content that is on the disk for certain, and the calls that may be."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self.pending: list[Done] = []

    def sync(self) -> None:
        for done in self.pending:
            _apply(self.synced, done)
        self.pending.clear()

    def after_cut(self, kept: float, chance: random.Random) -> bytes:
        content = bytearray(self.synced)
        for done in self.pending:
            for part in _sectors(done):
                if chance.random() < kept:
                    _apply(content, part)
        return bytes(content)


class Disk:
    """The files of one database after a series of calls."""

    def __init__(self) -> None:
        self._files: dict[File, _Content] = {}

    def do(self, done: Done) -> None:
        """Apply a call."""
        if done.op is Op.SEND:
            return
        content = self._files.setdefault(File(done.where), _Content())
        if done.op is Op.SYNC:
            content.sync()
        elif done.op is Op.LOST:
            content.pending.clear()
        elif done.op is Op.UNLINK:
            del self._files[File(done.where)]
        else:
            content.pending.append(done)

    def unsynced(self, file: File) -> bool:
        """Return whether a power cut could lose a part of a file."""
        return file in self._files and bool(self._files[file].pending)

    def cut(self, kept: float, chance: random.Random) -> dict[File, bytes]:
        """Return files that a power cut may leave."""
        return {file: content.after_cut(kept, chance) for file, content in self._files.items()}


def _sectors(done: Done) -> Iterator[Done]:
    """Split a write at sector boundaries."""
    if done.op is not Op.WRITE:
        yield done
        return
    start, end = done.offset, done.offset + len(done.data)
    while start < end:
        border = min(end, (start // SECTOR + 1) * SECTOR)
        yield done._replace(offset=start, data=done.data[start - done.offset : border - done.offset])
        start = border


def _apply(content: bytearray, done: Done) -> None:
    if done.op is Op.TRUNCATE:
        del content[done.offset :]
        content.extend(bytes(max(0, done.offset - len(content))))
    else:
        content.extend(bytes(max(0, done.offset - len(content))))
        content[done.offset : done.offset + len(done.data)] = done.data
