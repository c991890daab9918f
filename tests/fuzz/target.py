"""The fuzzed daemon, and what must hold all the while."""

import codecs
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

from msgpack import Unpacker

from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.fuzz.hostile import AGENTS, CANARY
from tests.patience import PATIENCE

# The most memory that the daemon may have, in bytes: enough for one message of the largest size.
MEMORY = 300 << 20


class Target:
    """The daemon, and a client that wants to be served meanwhile.

    Args:
        directory: where its files are.
    """

    def __init__(self, directory: Path) -> None:
        self.daemon = Daemon(directory).start()
        self.witness: Client = self.daemon.client()
        # Each check continues where the last one ended.
        self._log = self.daemon.log.open(encoding="utf-8", errors="replace")
        self.inputs = 0
        self.slowest = 0.0
        for name in AGENTS:
            self.witness.create(name)
        self.witness.create("witness")
        # A subscriber to everything, and how often it was told of the canary.
        self._ear = socket.socket(socket.AF_UNIX)
        self._ear.connect(self.daemon.socket)
        self._ear.sendall(b'{"id":1,"method":"subscribe","params":[null]}\n')
        self._ear.setblocking(False)
        self._heard = codecs.getincrementaldecoder("utf-8")()
        self.told = 0
        # Whether calls were tried whose messages are to be stored; another worker may have tried them.
        self.was_called = False

    def shoot(self, data: bytes, cuts: list[int], *, listen: bool = True) -> bytes:
        """Send bytes on a new connection, in pieces, and return all replies, up to the daemon's hang-up."""
        self.inputs += 1
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(PATIENCE)
            stranger.connect(self.daemon.socket)
            with suppress(OSError):
                for piece in cut(data, cuts):
                    stranger.sendall(piece)
                if not listen:
                    return b""
                stranger.shutdown(socket.SHUT_WR)
            said = rest(stranger)
        require_utf_8(said)
        return said

    def check(self) -> None:
        """Check that the daemon still serves others, and logged neither an error nor input."""
        began = time.monotonic()
        assert self.witness.ping()
        self.slowest = max(self.slowest, time.monotonic() - began)
        assert self.daemon.process.poll() is None
        self._listen()
        for line in self._log:
            assert " ERROR " not in line, line
            assert "Traceback" not in line, line
            assert CANARY not in line, line

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            while pushed := self._ear.recv(1 << 16):
                self.told += pushed.count(CANARY.encode())
                self._heard.decode(pushed)

    def check_state(self) -> None:
        """Check its memory, that it stores messages, and that some of the input was stored and pushed."""
        self.check()
        assert self.told or not self.was_called
        assert self.daemon.largest_memory() < MEMORY
        added = self.witness.add("witness", "still here")
        assert self.witness.messages("witness", last=1).messages[0]["seq"] == added.head

    def close(self) -> None:
        """End it, with status 0."""
        self._log.close()
        self._ear.close()
        self.witness.close()
        assert 0 == self.daemon.end()


def cut(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    """Cut data at some places."""
    start = 0
    for length in cuts:
        yield data[start : start + length]
        start += length
    yield data[start:]


def rest(stranger: socket.socket) -> bytes:
    """Read to the end of a connection."""
    data = []
    with suppress(ConnectionResetError):
        while piece := stranger.recv(1 << 16):
            data.append(piece)
    return b"".join(data)


def require_utf_8(said: bytes) -> None:
    """Fail if a text that was said, in whatever framing, is not UTF-8; the end may be cut off."""
    if said[:1] in (b"\x93", b"\x94"):
        for _ in Unpacker(BytesIO(said), strict_map_key=False, max_buffer_size=0):
            pass
    else:
        codecs.getincrementaldecoder("utf-8")().decode(said)


def is_over(stranger: socket.socket, patience: float = PATIENCE) -> bool:
    """Return whether the daemon hangs up on a client that does not read."""
    hung_up = select.poll()
    hung_up.register(stranger, 0)
    return any(events & select.POLLHUP for _, events in hung_up.poll(patience * 1000))


@contextmanager
def target() -> Iterator[Target]:
    """Run a daemon to fuzz, and check it once more at the end."""
    with short_directory() as directory:
        made = Target(directory)
        try:
            yield made
            made.check_state()
            made.close()
        finally:
            if made.daemon.process.poll() is None:
                made.daemon.kill()
