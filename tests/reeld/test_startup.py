"""Locks: one holder, whose pid is in every refusal, and no symlink is followed."""

import errno
import fcntl
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reeld.startup import ALREADY_RUNNING, CANNOT_START, AlreadyRunning, StartupError, lock
from tests.patience import PATIENCE

_HOLD = """
import sys
from reeld.startup import lock
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

    assert held == f"{os.getpid()}\n"
    assert stat.S_IMODE(mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()


def test_another_process_holds_it(tmp_path: Path) -> None:
    """A second holder is refused with the pid of the first one, and what it holds."""
    path = str(tmp_path / "s.sock")
    command = [sys.executable, "-c", _HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
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
        assert Path(f"{path}.lock").read_text() == f"{os.getpid()}\n"


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
    assert target.read_text() == "precious"


def test_no_place_for_it(tmp_path: Path) -> None:
    """A directory that cannot be made is reported in one sentence, not in a traceback."""
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "s.sock")

    with pytest.raises(StartupError, match="cannot lock the socket"), lock(path, "the socket"):
        pass


_LIMIT_FILES = """
import resource
from reeld.startup import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_file_limit({wanted}), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "expected"),
    [
        (200, 400, 100, "100 200 400"),
        (200, 400, 104, "104 200 400"),
        (200, 400, 105, "105 201 400"),
        (200, 400, 304, "304 400 400"),
        (200, 400, 305, "304 400 400"),
        (50, 50, 1000, "1 50 50"),
    ],
)
def test_file_limit(soft: int, hard: int, wanted: int, expected: str) -> None:
    """The limit is raised as far as allowed; if that is not enough, fewer connections are possible, which is logged."""
    code = _LIMIT_FILES.format(soft=soft, hard=hard, wanted=wanted)
    tried = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True, timeout=PATIENCE)

    assert expected == tried.stdout.strip()
    assert ("connections are limited to" in tried.stderr) is (int(expected.split(maxsplit=1)[0]) < wanted)


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
