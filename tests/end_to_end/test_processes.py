"""Starting and stopping the daemon: exit statuses, messages, and one daemon at a time."""

import os
import pty
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from reel.base.installation import install_command
from reel.daemon.lock_file import lock_holder
from reel.sync.client import Client
from reeld.startup import CANNOT_START
from tests.daemon import Daemon, until
from tests.end_to_end.shell import run
from tests.patience import PATIENCE
from tests.pipeline import Pipeline


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals(daemon: Daemon, client: Client, number: signal.Signals) -> None:
    """A signal ends the daemon even if a client is connected, and only the locks and the data remain."""
    client.create("demo")
    client.search("hi")  # makes the index

    assert 0 == daemon.end(number)
    assert ["log", "r-search.db", "r.db", "r.db.lock", "s.sock.lock"] == sorted(
        path.name for path in Path(daemon.socket).parent.iterdir()
    )
    assert "Traceback" not in daemon.log.read_text()


def test_shutdown(daemon: Daemon, client: Client) -> None:
    """A client can stop the daemon."""
    client.shutdown()

    assert 0 == daemon.process.wait(PATIENCE)


def test_modes_of_files(daemon: Daemon) -> None:
    """Only the owner can access the daemon's files."""
    directory = Path(daemon.socket).parent
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir() if path != daemon.log}

    assert {"s.sock", "s.sock.lock", "r.db", "r.db.lock"} <= modes.keys()
    assert {0o600} == set(modes.values())


def test_one_daemon_a_socket(daemon: Daemon) -> None:
    """A second daemon on the socket names the process that holds it, and ends with its own exit status."""
    second = Daemon(Path(daemon.socket).parent)
    second.database += "2"
    ran = second.refused()

    assert (3, "") == (ran.returncode, ran.stdout)
    assert (
        f"reeld: another reeld is running (pid {daemon.process.pid}); it holds the socket {daemon.socket};"
        f" end it with: reel --socket {daemon.socket} stop\n" == ran.stderr
    )


def test_one_daemon_a_database(daemon: Daemon, client: Client) -> None:
    """A second daemon on the same database does the same, and the first one continues."""
    second = Daemon(Path(daemon.socket).parent)
    second.socket += "2"
    ran = second.refused()

    assert 3 == ran.returncode
    assert (
        f"reeld: another reeld is running (pid {daemon.process.pid}) and listens on {daemon.socket};"
        f" it holds the database {daemon.database}; end it with: reel --socket {daemon.socket} stop\n"
    ) == ran.stderr
    assert client.ping()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_starts(prepared: Daemon, number: signal.Signals) -> None:
    """A signal ends a daemon that is not ready yet at once, with a word and without a traceback."""
    with closing(sqlite3.connect(prepared.database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")  # the daemon waits for the end of this
        prepared.launch()
        until(lambda: lock_holder(prepared.database) == prepared.process.pid)
        prepared.process.send_signal(number)

        assert -number == prepared.process.wait(PATIENCE)
    assert f"reeld: ended by {number.name}\n" == prepared.log.read_text()


_SIGNALLED = """
import os, signal, sys

class Signals:  # sends a signal to this process as soon as it imports anything but these
    def find_spec(self, name, path=None, target=None):
        if name not in {early}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Signals())
from {module} import {main}
sys.argv[1:] = ["{argument}"]
{main}()
"""
# What the daemon imports before it is ready for signals.
_EARLY = {"gc", "reeld", "reeld.__main__", "reeld.signals"}


def signalled(module: str, main: str, early: set[str], number: signal.Signals, argument: str = "") -> tuple[int, str]:
    """Return how a command ends that gets a signal before it has imported what it needs, and what it says."""
    code = _SIGNALLED.format(module=module, main=main, early=early, number=int(number), argument=argument)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_daemon_is_imported(number: signal.Signals) -> None:
    """A signal ends it with a word and without a traceback before anything is imported that takes long."""
    assert (-number, f"reeld: ended by {number.name}\n") == signalled("reeld.__main__", "main", _EARLY, number)


def test_ctrl_c_while_work_on_a_file_is_imported() -> None:
    """It ends by the signal and without a word: whoever started it has been told."""
    assert (-signal.SIGINT, "") == signalled("reeld.__main__", "main", _EARLY, signal.SIGINT, "verify")


def test_a_hangup_while_the_daemon_is_imported() -> None:
    """SIGHUP asks a daemon to reload, so it does not end one that is starting; here, that one refuses its argument."""
    status, said = signalled("reeld.__main__", "main", _EARLY, signal.SIGHUP, "status")

    assert (2, True) == (status, "unrecognized arguments: status" in said)


def test_a_closed_terminal_while_the_daemon_starts(prepared: Daemon) -> None:
    """On a terminal, SIGHUP ends a daemon that is not ready with a word as well."""
    shown, its_end = pty.openpty()
    with closing(sqlite3.connect(prepared.database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")  # the daemon waits for the end of this
        process = subprocess.Popen(prepared.command(), stderr=its_end)
        os.close(its_end)
        until(lambda: lock_holder(prepared.database) == process.pid)
        process.send_signal(signal.SIGHUP)

        assert -signal.SIGHUP == process.wait(PATIENCE)
    said = os.read(shown, 4096)
    os.close(shown)
    assert b"reeld: ended by SIGHUP\r\n" == said


def test_a_signal_while_the_command_is_imported() -> None:
    """Ctrl-C ends a command as usual before anything is imported that takes long."""
    assert (-signal.SIGINT, "") == signalled("reel.cli", "process", {"reel", "reel.cli"}, signal.SIGINT)


def test_it_leaves_no_core(prepared: Daemon) -> None:
    """A daemon that crashes writes no dump of its memory, which holds conversations, however it was started."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    try:
        prepared.start()
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)

    assert (0, before[1]) == resource.prlimit(prepared.process.pid, resource.RLIMIT_CORE)


def test_one_daemon_a_file(daemon: Daemon, client: Client) -> None:
    """A second daemon is refused under another name of the file, too; what the first one has locked stays locked."""
    second = Daemon(Path(daemon.socket).parent)
    second.socket, second.database = f"{daemon.socket}2", f"{daemon.database}2"
    Path(second.database).hardlink_to(daemon.database)
    refused = [second.refused(), second.refused()]

    held = f"it holds the database {second.database}; end it with: reel --socket {daemon.socket} stop\n"
    assert [(3, True)] * 2 == [(ran.returncode, ran.stderr.endswith(held)) for ran in refused]
    with (
        closing(sqlite3.connect(daemon.database, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="database is locked"),
    ):
        other.execute("PRAGMA journal_mode = DELETE")  # possible only if no other process has the file open
    assert client.ping()


def newer(path: str) -> None:
    """Make a database that a later version of reel wrote."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {0x7265656C}")
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE agents (id)")


def foreign(path: str) -> None:
    """Make another program's database."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")


def damaged(path: str) -> None:
    """Make a file that is not a database."""
    Path(path).write_bytes(b"SQLite format 3\x00" + b"no" * 5000)


def no_database(path: str) -> None:
    """Make a text file."""
    Path(path).write_text("dear diary" * 1000)


def directory(path: str) -> None:
    """Make a directory."""
    Path(path).mkdir()


def link(path: str) -> None:
    """Make a symlink to another place."""
    Path(path).symlink_to("/dev/null")


@pytest.mark.parametrize("make", [newer, foreign, damaged, no_database, directory, link])
def test_database_that_is_refused(prepared: Daemon, make: Callable[[str], None]) -> None:
    """A file that cannot be used stays as it is; one sentence says why, without a traceback."""
    make(prepared.database)
    place = Path(prepared.database)
    before = place.read_bytes() if place.is_file() else None
    ran = prepared.refused()

    assert 4 == ran.returncode, ran.stderr
    assert prepared.database in ran.stderr.splitlines()[-1]
    assert ran.stderr.splitlines()[-1].startswith("reeld: ")
    assert "Traceback" not in ran.stderr
    assert before == (place.read_bytes() if place.is_file() else None)


@pytest.mark.parametrize("wrong", ["long", "file", "no directory"])
def test_socket_that_is_refused(prepared: Daemon, wrong: str) -> None:
    """A path where no socket can be created is refused in one sentence, and what is there stays."""
    if wrong == "long":
        prepared.socket = prepared.socket.ljust(108, "x")
    elif wrong == "file":
        Path(prepared.socket).write_text("precious")
    else:
        prepared.socket = "/dev/null/s.sock"
    ran = prepared.refused()

    assert 4 == ran.returncode, ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("reeld: ")
    assert "Traceback" not in ran.stderr
    if wrong == "file":
        assert "precious" == Path(prepared.socket).read_text()


def test_stale_socket(daemon: Daemon, client: Client) -> None:
    """A daemon starts despite the socket that a killed one left behind."""
    daemon.kill()

    assert Path(daemon.socket).is_socket()
    daemon.start()
    assert client.ping()


def test_environment(prepared: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment can set the paths, and their directories are created for the owner alone."""
    base = Path(prepared.socket).parent / "new"
    monkeypatch.setenv("REEL_SOCKET", str(base / "run" / "s"))
    monkeypatch.setenv("REEL_DATABASE", str(base / "state" / "r.db"))
    prepared.socket = str(base / "run" / "s")
    prepared.command = lambda: [sys.executable, "-m", "reeld"]  # type: ignore[method-assign]
    prepared.start()

    assert (base / "state" / "r.db").is_file()
    assert {0o700} == {stat.S_IMODE(path.stat().st_mode) for path in (base, base / "run", base / "state")}


def test_settings_in_the_file(prepared: Daemon, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that its file sends to another socket and database is found there by its clients."""
    monkeypatch.delenv("REEL_SOCKET")
    (home / ".config/reel").mkdir(parents=True)
    (home / ".config/reel/reeld.toml").write_text(f'socket = "{prepared.socket}"\ndatabase = "~/other.db"\n')
    prepared.command = lambda: [sys.executable, "-m", "reeld"]  # type: ignore[method-assign]
    prepared.start()

    assert f"{prepared.socket}\n" == run("reel socket")
    assert f"already running: {prepared.socket}\n" == run("reel start")
    assert "demo: added #2\n" == run("reel add demo hi --create")
    assert (home / "other.db").is_file()


def test_no_room_for_a_connection(daemon: Daemon, client: Client) -> None:
    """If no more files can be opened, new connections wait; the others are served, and later the new ones."""
    open_files = client.stats()["open_files"]
    _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    # More than the daemon itself still opens: right after its start, the search index and its WAL.
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (open_files + 20, hard))
    with ExitStack() as stack:
        crowd = [stack.enter_context(Pipeline(daemon.socket)) for _ in range(40)]
        while "cannot accept a connection" not in daemon.log.read_text():
            client.ping()
        assert 2 == client.add("demo", "still served", create=True).head
        for pipeline in crowd[:35]:
            pipeline.socket.close()
        for pipeline in crowd[35:]:
            pipeline.send([("ping",)])
            pipeline.receive(1)

    assert [{"pong": True}] * 5 == [pipeline.answers[1].result for pipeline in crowd[35:]]


def test_missing_library() -> None:
    """Without its extra, the daemon says how to install it, with the status that prevents automatic restarts."""
    code = "import sys; sys.modules['aiosqlite'] = None; from reeld.__main__ import main; sys.exit(main())"
    ran = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)

    assert (CANNOT_START, "") == (ran.returncode, ran.stdout)
    assert f"reeld: aiosqlite is missing; install what it needs with: {install_command()}\n" == ran.stderr
