"""Locks: one holder, whose pid is in every refusal, and no symlink is followed."""

import errno
import fcntl
import os
import re
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from reeld import locks
from reeld.locks import keep_fresh, lasting_directory, lock, lock_database
from reeld.startup import ALREADY_RUNNING, CANNOT_START, AlreadyRunning, StartupError
from tests.patience import PATIENCE

_HOLD = """
import sys
from reeld.locks import lock
with lock(sys.argv[1], "the socket"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_file_says_who_holds_it(tmp_path: Path) -> None:
    """The lock file has our pid, is readable for us only, and gets its directories."""
    path = tmp_path / "new" / "thing"
    with lock(str(path), "the socket"):
        held = Path(f"{path}.lock").read_text()
    mode = Path(f"{path}.lock").stat().st_mode

    assert f"{os.getpid()}\n" == held
    assert 0o600 == stat.S_IMODE(mode)
    assert 0o700 == stat.S_IMODE(path.parent.stat().st_mode)
    assert not path.exists()


def test_another_process_holds_it(tmp_path: Path) -> None:
    """A second holder is refused with the pid of the first one, and what it holds."""
    path = str(tmp_path / "s.sock")
    command = [sys.executable, "-c", _HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert b"held\n" == holder.stdout.readline()
        with pytest.raises(AlreadyRunning) as refused, lock(path, "the socket"):
            pass
        holder.communicate()

    held = f"another reeld is running (pid {holder.pid}); it holds the socket {path}; end it with: reel stop"
    assert held == str(refused.value)
    assert refused.value.status == ALREADY_RUNNING


def test_no_room_for_the_pid(tmp_path: Path) -> None:
    """If the lock file cannot be written, the error says so, and the lock stays free."""
    path = str(tmp_path / "s.sock")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with (
            pytest.raises(StartupError, match=r"^cannot lock the socket .*: File too large$"),
            lock(path, "the socket"),
        ):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with lock(path, "the socket"):
        pass


def test_it_ends_with_the_block(tmp_path: Path) -> None:
    """A lock that was left behind can be taken again, and a longer pid in it leaves nothing behind."""
    path = str(tmp_path / "s.sock")
    Path(f"{path}.lock").write_text("12345678901234567890\n")
    with lock(path, "the socket"):
        pass
    with lock(path, "the socket"):
        assert f"{os.getpid()}\n" == Path(f"{path}.lock").read_text()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A symlink in place of the lock is refused, and its target is left alone."""
    target = tmp_path / "target"
    target.write_text("precious")
    path = str(tmp_path / "s.sock")
    Path(f"{path}.lock").symlink_to(target)
    with pytest.raises(StartupError) as refused, lock(path, "the socket"):
        pass

    assert str(refused.value).startswith(f"cannot lock the socket {path}: ")
    assert refused.value.status == CANNOT_START
    assert "precious" == target.read_text()


def test_no_place_for_it(tmp_path: Path) -> None:
    """A directory that cannot be made is reported in one sentence, not in a traceback."""
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "s.sock")

    with pytest.raises(StartupError, match="cannot lock the socket"), lock(path, "the socket"):
        pass


def test_escapes_in_a_lock_file_are_shown(tmp_path: Path) -> None:
    """What another program wrote into a lock file reaches no terminal as it is."""
    path = str(tmp_path / "s.sock")
    with lock(path, "the socket") as held:
        os.pwrite(held, b"7\x1b[2J\n/a\x07\xff\x9b\n", 0)
        with pytest.raises(AlreadyRunning) as caught, lock(path, "the socket"):
            pass

    assert r"(pid 7\x1b[2J) and listens on /a\x07\udcff\udc9b;" in str(caught.value)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that the file system does not have is an error that says what to do."""

    def no_locks(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)

    expected = "No locks available; choose a path on a file system with locks"
    with pytest.raises(StartupError, match=expected), lock(str(tmp_path / "r.db"), "the database"):
        pass


def _hard_link(path: Path) -> Path:
    other = path.parent / "other" / "copy.db"
    other.hardlink_to(path)
    return other


def _symlink(path: Path) -> Path:
    other = path.parent / "other" / "copy.db"
    other.symlink_to(path)
    return other


def _in_a_linked_directory(path: Path) -> Path:
    linked = path.parent / "other" / "linked"
    linked.symlink_to(path.parent)
    return linked / path.name


@pytest.mark.parametrize("renamed", [_hard_link, _symlink, _in_a_linked_directory])
def test_a_database_by_another_path(tmp_path: Path, renamed: Callable[[Path], Path]) -> None:
    """A database that is locked is locked under every name that it has; the refusal names its holder."""
    path = tmp_path / "r.db"
    (tmp_path / "other").mkdir()
    with lock_database(str(path), "/run/first.sock"):
        other = renamed(path)
        with pytest.raises(AlreadyRunning) as refused, lock_database(str(other)):
            pass
        assert f"(pid {os.getpid()}) and listens on /run/first.sock; it holds the database {other};" in str(
            refused.value
        )
        with pytest.raises(AlreadyRunning), lock_database(str(other)):  # the refused one has freed nothing
            pass
    with lock_database(str(other)):
        pass


_KILLED = """
import os, signal, sqlite3, sys
from reeld.locks import lock_database
with lock_database(sys.argv[1]):
    database = sqlite3.connect(sys.argv[1])
    database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE said (words)")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("renamed", [_hard_link, _symlink, _in_a_linked_directory])
def test_commits_of_a_daemon_that_was_killed(tmp_path: Path, renamed: Callable[[Path], Path]) -> None:
    """Its commits are in the WAL beside the path that it had. Until that is used, no other path without them is."""
    path = tmp_path / "r.db"
    (tmp_path / "other").mkdir()
    subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False, timeout=PATIENCE)
    other = renamed(path)
    if not Path(f"{other}-wal").exists():
        expected = re.escape(f"the newest commits are in {path}-wal; start it once with: reeld --database {path}")
        for _ in range(2):  # the refused one has forgotten nothing
            with pytest.raises(StartupError, match=expected), lock_database(str(other)):
                pass
    with lock_database(str(path)), closing(sqlite3.connect(path)) as database:
        assert [("said",)] == database.execute("SELECT name FROM sqlite_schema").fetchall()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with lock_database(str(other)):
        pass


def test_commits_of_a_machine_that_was_killed(tmp_path: Path) -> None:
    """The same after a reboot, which empties /tmp and may give the device of the file another number."""
    path = tmp_path / "r.db"
    (tmp_path / "other").mkdir()
    subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False, timeout=PATIENCE)
    other, inode = _hard_link(path), path.stat().st_ino
    for lost in Path(f"/tmp/reel-{os.getuid()}").glob(f"*{inode}*"):
        lost.unlink()
    (record,) = Path(lasting_directory()).glob(f"*-{inode}-*")
    record = record.rename(record.with_stem(f"database-{inode}-ffff"))
    with pytest.raises(StartupError, match="start it once with"), lock_database(str(other)):
        pass
    with lock_database(str(path)), closing(sqlite3.connect(path)) as database:
        assert [("said",)] == database.execute("SELECT name FROM sqlite_schema").fetchall()
    with lock_database(str(other)):
        pass
    record.unlink()


def test_a_database_that_was_moved_with_its_wal(tmp_path: Path) -> None:
    """A database whose daemon was killed may be moved: nothing is at the path that it had."""
    path, other = tmp_path / "r.db", tmp_path / "s.db"
    subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False, timeout=PATIENCE)
    path.rename(other)
    Path(f"{path}-wal").rename(f"{other}-wal")
    with lock_database(str(other)):
        pass


_TRY = """
import sys
from reeld.locks import lock_database
from reeld.startup import AlreadyRunning
try:
    with lock_database(sys.argv[1]):
        print("free")
except AlreadyRunning:
    print("refused")
"""


def test_a_database_with_another_environment(tmp_path: Path) -> None:
    """No variable of the environment leads to another lock."""
    path = tmp_path / "r.db"
    (tmp_path / "other").mkdir()
    moved = dict.fromkeys(("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
    command = [sys.executable, "-c", _TRY]
    with lock_database(str(path)):
        command.append(str(_hard_link(path)))
        said = subprocess.check_output(command, text=True, env={**os.environ, **moved}, timeout=PATIENCE)

    assert "refused\n" == said


# Mounts a file at the path of another one, for one command only.
_MOUNTED = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
_BIND = ("unshare", "--user", "--mount", "--map-root-user", "sh", "-c", _MOUNTED, "sh")
# The directory of the locks is that of another user there, in which it would be root.
_TRY_BOTH = """
import sys
from reeld import locks
from reeld.startup import AlreadyRunning
directory, path, other = sys.argv[1:]
locks.lasting_directory = lambda: directory
with locks.lock_database(path):
    try:
        with locks.lock_database(other):
            print("free")
    except AlreadyRunning:
        print("refused")
"""


def _may_bind() -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*_BIND, "/dev/null", "/dev/zero", "true"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.skipif(not _may_bind(), reason="unprivileged mounts are not allowed here")
def test_a_database_by_a_bind_mount(tmp_path: Path) -> None:
    """A file that is mounted at another path is the same database."""
    path, other = tmp_path / "r.db", tmp_path / "s.db"
    path.touch()
    other.touch()
    command = [*_BIND, str(path), str(other), sys.executable, "-c", _TRY_BOTH]
    said = subprocess.check_output([*command, f"{tmp_path}/locks", path, other], text=True, timeout=PATIENCE)

    assert "refused\n" == said


def test_a_database_that_does_not_exist_yet(tmp_path: Path) -> None:
    """It is created, empty and for its owner only: only the inode of a file that exists can be locked."""
    path = tmp_path / "new" / "r.db"
    with lock_database(str(path)) as held:
        found = path.stat()
        assert held.database == (found.st_dev, found.st_ino)
        assert (0, 0o600) == (found.st_size, stat.S_IMODE(found.st_mode))


def test_a_restore_creates_no_database(tmp_path: Path) -> None:
    """Who wants to put a file into the place of a missing one gets only the lock beside it."""
    path = tmp_path / "r.db"
    with lock_database(str(path), create=False) as held:
        assert not path.exists()
        assert (None, None) == held[1:]


def test_the_lock_of_an_inode_leaves_nothing(tmp_path: Path) -> None:
    """The file in /var/tmp is kept fresh, because cleaners remove old ones, and ends with the lock."""
    with lock_database(str(tmp_path / "r.db")) as held:
        assert held.of_inode is not None
        os.utime(held.of_inode, (0, 0))
        keep_fresh(held)
        left = os.fstat(held.of_inode)
    here = [entry.stat().st_ino for entry in os.scandir(lasting_directory())]

    assert left.st_mtime > 0
    assert left.st_ino not in here


@pytest.mark.parametrize("made", ["file", "open to others"])
def test_a_directory_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, made: str
) -> None:
    """Without a place for the lock of the inode, the path is locked all the same, and the log has a warning."""
    directory = tmp_path / "locks"
    if made == "file":
        directory.touch()
    else:
        directory.mkdir()
        directory.chmod(0o755)
    monkeypatch.setattr(locks, "lasting_directory", lambda: str(directory))
    path = str(tmp_path / "r.db")
    with lock_database(path) as held:
        assert held.of_inode is None
        with pytest.raises(AlreadyRunning), lock_database(path):
            pass

    assert f"{directory}: it is not a directory that only you can enter" in caplog.text
