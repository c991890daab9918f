"""The daemon's files are for their owner alone, and it follows no symlinks."""

import os
import socket
import stat
from pathlib import Path

import pytest

from tests.daemon import Daemon, short_directory


def modes(directory: Path) -> dict[str, str]:
    """Return the mode of each file."""
    return {path.name: oct(stat.S_IMODE(path.lstat().st_mode)) for path in directory.iterdir()}


def test_modes_under_any_umask() -> None:
    """With any umask, directories have mode 0700 and files 0600, also the files that SQLite creates."""
    before = os.umask(0)
    try:
        with short_directory() as directory:
            daemon = Daemon(directory)
            daemon.socket = str(directory / "run" / "reel" / "s.sock")
            daemon.database = str(directory / "state" / "reel" / "r.db")
            daemon.start()
            try:
                with daemon.client() as client:
                    client.add("demo", "hi", create=True)
                    client.search("hi")  # makes the index
                assert {"s.sock": "0o600", "s.sock.lock": "0o600"} == modes(directory / "run" / "reel")
                files = modes(directory / "state" / "reel")
                assert files.keys() >= {"r.db", "r.db-wal", "r.db-shm", "r.db.lock", "r-search.db"}
                assert {"0o600"} == set(files.values())
                assert modes(directory / "run") == modes(directory / "state") == {"reel": "0o700"}
                assert {"0o700"} == {modes(directory)[name] for name in ("run", "state")}
            finally:
                daemon.close()
    finally:
        os.umask(before)


def test_a_backup_that_is_open_to_all() -> None:
    """A restored database with any mode is made private before the daemon writes to it."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        with daemon.client() as client:
            client.add("demo", "hi", create=True)
        daemon.kill()
        for path in directory.glob("r.db*"):
            path.chmod(0o644)
        daemon.start()
        try:
            assert {"0o600"} == {modes(directory)[name] for name in ("r.db", "r.db-wal", "r.db-shm")}
        finally:
            daemon.close()


@pytest.mark.parametrize("name", ["s.sock", "s.sock.lock", "r.db", "r.db.lock"])
@pytest.mark.parametrize("to", ["a file", "nothing"])
def test_links_are_not_followed(name: str, to: str) -> None:
    """A symlink in place of one of its files is refused in one sentence, and its target stays as it was."""
    with short_directory() as directory:
        daemon = Daemon(directory)
        precious = directory / "precious"
        if to == "a file":
            precious.write_text("mine")
        (directory / name).symlink_to(precious)
        refused = daemon.refused()

        assert 4 == refused.returncode
        assert refused.stderr.startswith("reeld: ")
        assert "Traceback" not in refused.stderr
        assert (directory / name).is_symlink()
        assert precious.exists() is (to == "a file")
        assert not precious.exists() or "mine" == precious.read_text()


def test_a_socket_that_is_swapped_under_a_daemon(daemon: Daemon) -> None:
    """The lock stops a second daemon even if the first one's socket was removed."""
    os.unlink(daemon.socket)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(daemon.socket)
        refused = daemon.refused()

        assert 3 == refused.returncode
        assert "another reeld is running" in refused.stderr
    assert 0 == daemon.end()
