"""On a full or read-only disk the daemon refuses with a clear error, and loses nothing."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import reel
from reel.sync.client import Client
from reeld.startup import CANNOT_START, FAILED
from tests.daemon import Daemon

UNSHARE = ["unshare", "--user", "--mount", "--map-root-user"]
# Each runs a command with a small, full or read-only file system mounted on the directory.
_SMALL = 'mount -t tmpfs -o size=2m tmpfs "$0" && exec "$@"'
_NARROW = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
_FULL = 'mount -t tmpfs -o size=64k tmpfs "$0" && : >"$0/r.db.lock" && ! cat /dev/zero 2>&- >"$0/all" && exec "$@"'
_FULL_DISK = "database or disk is full; is there room on its disk?"
_READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def may_mount() -> bool:
    """Return whether a file system may be mounted in a namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", "/tmp"], capture_output=True, check=False)
    return tried.returncode == 0


pytestmark = pytest.mark.skipif(not may_mount(), reason="unprivileged mounts are not allowed here")


class Mounted(Daemon):
    """A daemon whose database is on its own file system."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.disk = directory / "disk"
        self.disk.mkdir()
        self.database = str(self.disk / "r.db")
        self.mount = _SMALL

    def command(self) -> list[str]:
        return [*UNSHARE, "sh", "-c", self.mount, str(self.disk), *super().command()]

    @property
    def seen_from_outside(self) -> Path:
        """The path of the mounted directory outside the daemon's mount namespace."""
        return Path(f"/proc/{self.process.pid}/root{self.disk}")


@pytest.fixture
def mounted(directory: Path) -> Iterator[Mounted]:
    daemon = Mounted(directory)
    yield daemon
    daemon.close()


def fill(client: Client) -> int:
    """Add until the disk is full; return the number of successful adds."""
    for said in range(1000):
        try:
            client.add("demo", "x" * 20_000)
        except reel.Storage:
            return said
    raise AssertionError("the disk did not fill up")


def test_a_full_disk(mounted: Mounted) -> None:
    """An add that does not fit is refused and changes nothing; reads go on, and adds work once there is room."""
    mounted.start()
    filler = mounted.seen_from_outside / "filler"
    filler.write_bytes(bytes(1 << 20))
    with mounted.client() as client:
        client.create("demo")
        said = fill(client)
        assert said == client.agent("demo").messages
        assert client.replay("demo").matched
        filler.unlink()
        client.add("demo", "x" * 20_000)

        assert said + 1 == client.agent("demo").messages > 10
        assert client.replay("demo").matched
    assert 0 == mounted.end()


@pytest.mark.parametrize(
    ("mount", "status", "says"),
    [
        pytest.param(_FULL, FAILED, "cannot lock the database {}: {}.lock: No space left on device", id="full"),
        pytest.param(
            _NARROW, FAILED, "cannot use {}: database or disk is full; is there room on its disk?", id="narrow"
        ),
        pytest.param(_READ_ONLY, CANNOT_START, "cannot lock the database {}: {}.lock: Read-only file system", id="ro"),
    ],
)
def test_a_disk_without_room_to_start(mounted: Mounted, mount: str, status: int, says: str) -> None:
    """The daemon says what prevents its start, and ends with a status that says whether it may pass."""
    mounted.mount = mount
    ended = mounted.refused()

    assert (status, f"reeld: {says.format(*[mounted.database] * 2)}\n") == (ended.returncode, ended.stderr)
