"""Erasing on a disk with little room, with kill -9 at random moments; run in a mount namespace of its own.

``unshare … python -m tests.crash.small_disk DIRECTORY FREE SEED ROUNDS`` mounts a small file system on a directory, and
a full one for temporary files. In each round a daemon is filled with a word, all of the disk but FREE bytes is taken,
and the daemon is killed while it erases the word. It must start again, and once there is room no file may have the
word. The program fails if anything is not so.
"""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread

from reel.base.errors import NotFound, ReelError
from reel.sync.client import Client
from tests.daemon import Daemon, until

_SIZE = 160 << 20
# Events of a round: short and long ones.
_SHORT, _LONG = 400, 40
# The longest time from the command to the kill, in seconds.
_LATEST = 0.4


def fill_up(disk: Path, free: int) -> Path:
    """Leave so many bytes of a disk free; return the file that takes the others."""
    filler = disk / "filler"
    with filler.open("wb") as file:
        rest = shutil.disk_usage(disk).free - free
        if rest > 0:
            os.posix_fallocate(file.fileno(), 0, rest)
    return filler


class Round:
    """An erasure of one word.

    Args:
        daemon: the daemon.
        chosen: chooses what happens.
        number: of the round.
    """

    def __init__(self, daemon: Daemon, chosen: random.Random, number: int) -> None:
        self._daemon = daemon
        self._random = chosen
        self.word = f"xyzzy{number:06}plugh"
        self._agent = f"agent-{number}"
        self._is_purge = chosen.random() < 0.5

    def fill(self, client: Client) -> None:
        """Write the word."""
        noise = [f"{self.word} {self._random.randbytes(self._random.randrange(150)).hex()}" for _ in range(_SHORT)]
        client.add(self._agent, noise, create=True)
        client.add(self._agent, [f"{self.word} {self._random.randbytes(20_000).hex()}" for _ in range(_LONG)])
        client.add("other", [f"more {self._random.randbytes(200).hex()}" for _ in range(_SHORT)], create=True)

    def erase(self) -> None:
        """Erase the word; the daemon may refuse, or die meanwhile."""
        with suppress(ReelError), Client(self._daemon.socket, patience=0) as client:
            self._try(client)

    def repeat(self, client: Client) -> None:
        """Erase the word, unless it has been done."""
        with suppress(NotFound):
            self._try(client)

    def _try(self, client: Client) -> None:
        if self._is_purge:
            client.purge(self._agent)
        else:
            client.redact(self._agent, text=self.word)

    def is_gone(self) -> bool:
        """Return whether nothing is left to do."""
        with closing(sqlite3.connect(f"file:{self._daemon.database}?mode=ro", uri=True)) as connection:
            return not connection.execute("SELECT 1 FROM erasures WHERE state <> 'done'").fetchall()

    def places(self) -> list[str]:
        """Return the files that have the word."""
        found = []
        for path in Path(self._daemon.database).parent.iterdir():
            with suppress(FileNotFoundError):  # the index is removed, and built again
                if path.is_file() and self.word.encode() in path.read_bytes():
                    found.append(path.name)
        return found


def run(directory: Path, free: int, seed: int, rounds: int) -> None:
    """Run some rounds."""
    disk, temporary, chosen = directory / "disk", directory / "temporary", random.Random(seed)
    for place, size in ((disk, _SIZE), (temporary, 4096)):
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    (temporary / "full").write_bytes(bytes(4096))
    os.environ["TMPDIR"] = str(temporary)
    daemon = Daemon(directory)
    daemon.database = str(disk / "r.db")
    daemon.start()
    try:
        for number in range(rounds):
            this = Round(daemon, chosen, number)
            with daemon.client() as client:
                this.fill(client)
                assert this.places()
            filler = fill_up(disk, free)
            thread = Thread(target=this.erase)
            thread.start()
            time.sleep(chosen.random() * _LATEST)  # the moment of the kill
            daemon.kill()
            thread.join()
            daemon.start()
            filler.unlink()
            began = time.monotonic()
            with daemon.client() as client:
                this.repeat(client)
                until(this.is_gone)
                assert [] == this.places()
                assert [] == client.verify().problems
            took = time.monotonic() - began
            sys.stdout.write(f"round {number}: clean {took:.2f} s after there was room\n")
    except BaseException:
        sizes = {path.name: path.stat().st_size for path in disk.iterdir()}
        sys.stderr.write(f"{sizes}, {shutil.disk_usage(disk)}\n{daemon.log.read_text()}")
        raise
    finally:
        daemon.close()


if __name__ == "__main__":
    run(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
