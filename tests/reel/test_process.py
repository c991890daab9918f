"""Starting a daemon in the background, by hand or by a client that finds none."""

import fcntl
import os
import re
import select
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import reel
from reel import process
from reel.address import default_socket
from reel.cli import main
from reel.process import answers, start
from reel.stop_marker import STOPPED, is_marked, mark
from reel.sync.client import Client
from tests.daemon import short_directory
from tests.patience import PATIENCE
from tests.planted import Planted

pytestmark = pytest.mark.slow


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary home in the environment; a daemon that was started there is ended."""
    with short_directory() as directory:
        monkeypatch.delenv("REEL_SOCKET", raising=False)
        monkeypatch.delenv("REEL_DATABASE", raising=False)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory / "run"))
        monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
        monkeypatch.setenv("HOME", str(directory))
        yield directory
        for path in directory.rglob("*.sock"):
            end(str(path))


def end(path: str) -> None:
    """End the daemon on a socket, if one runs, and wait for its end."""
    try:
        client = Client(path, patience=0).connect()
    except reel.NotRunning:
        return
    with client:
        pid = server_pid(client)
        process = os.pidfd_open(pid)
        client.shutdown()
    assert select.select([process], [], [], PATIENCE)[0]
    with suppress(ChildProcessError):  # systemd's, not ours
        os.waitid(os.P_PIDFD, process, os.WEXITED)
    os.close(process)


def server_pid(client: Client) -> int:
    """Return the process id of a client's daemon."""
    assert client.server is not None
    return int(client.server.server["pid"])


def test_a_socket_that_a_daemon_answers_on(home: Path) -> None:
    """A daemon answers on a socket if it listens there, and not on a socket that it left behind."""
    path = str(home / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        assert not answers(path)
        listener.bind(path)
        listener.listen()
        assert answers(path)
    assert not answers(path)


def test_a_client_starts_a_daemon(home: Path) -> None:
    """A client that finds no daemon starts one where the environment says, and the next client finds it."""
    with reel.connect(autostart=True) as client, reel.connect(autostart=True) as other:
        client.add("demo", "hi", create=True)

        assert server_pid(client) == server_pid(other)
        assert other.agent("demo").messages == 1
    assert (home / "run" / "reel" / "reel.sock").is_socket()
    assert ["reel.db", "reel.db-shm", "reel.db-wal", "reel.db.lock", "reeld.log"] == sorted(
        path.name for path in (home / "state" / "reel").iterdir()
    )


def test_variables_go_before_directories(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables for the socket and the database set their paths."""
    monkeypatch.setenv("REEL_SOCKET", str(home / "named.sock"))
    monkeypatch.setenv("REEL_DATABASE", str(home / "named.db"))
    with reel.connect(autostart=True):
        assert (home / "named.sock").is_socket()
        assert (home / "named.db").is_file()


def test_start_is_idempotent(home: Path) -> None:
    """The first start starts a daemon and says so, the second finds it."""
    path = str(home / "s.sock")

    assert [True, False] == [start(path, database=str(home / "r.db")) for _ in range(2)]
    assert (home / "r.db").is_file()


def test_starting_imports_nothing_from_the_current_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon runs no module of the current directory, not even if ``PYTHONPATH`` names that by a relative path."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", Planted.PYTHONPATH)
    start(str(home / "s.sock"))

    assert [] == planted.imported()


def test_start_keeps_absolute_python_paths(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An absolute entry of ``PYTHONPATH`` is the user's own and reaches the daemon."""
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", f"lib:{tmp_path}:")
    start(str(home / "s.sock"))

    assert (tmp_path / "trace").exists()


def test_starts_at_the_same_time(home: Path) -> None:
    """Many starts at once start one daemon, and all wait until it answers."""
    path = str(home / "s.sock")
    outcomes: list[int] = []

    def connect() -> None:
        with reel.connect(path, autostart=True) as client:
            outcomes.append(server_pid(client))

    threads = [threading.Thread(target=connect) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert 4 == len(outcomes)
    assert 1 == len(set(outcomes))


def test_the_slower_one_is_not_left_behind(home: Path) -> None:
    """A daemon that lost the race of two starts is ended: it would take over when the other one stops."""
    path, before = str(home / "s.sock"), children()
    with socket.socket(socket.AF_UNIX) as faster:
        faster.bind(path)
        thread = threading.Thread(target=start, args=(path,))
        thread.start()
        while children() == before:
            assert thread.is_alive()
        faster.listen()
        thread.join(PATIENCE)

    assert before == children()


def children() -> set[int]:
    """Return the children of this process that still run."""
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def test_autostart_after_a_crash(home: Path) -> None:
    """A client whose daemon was killed starts the next one, which has all the data."""
    with reel.connect(str(home / "s.sock"), autostart=True) as client:
        client.add("demo", "hi", create=True)
        pid = server_pid(client)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED)
        client.add("demo", "again")

        assert pid != server_pid(client)
        assert client.agent("demo").messages == 2


def test_the_log_of_a_started_daemon(home: Path) -> None:
    """The daemon's log is appended to a file that only its owner may read."""
    log = home / "state" / "reel" / "reeld.log"
    log.parent.mkdir(parents=True)
    log.write_text("earlier\n")
    start(str(home / "s.sock"))

    assert log.read_text().startswith("earlier\n")
    assert "ready in" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_error_has_the_last_line_of_the_log(home: Path) -> None:
    """If a daemon cannot start, its last line of output is the error."""
    (home / "state" / "reel").mkdir(parents=True)
    (home / "state" / "reel" / "reel.db").write_text("dear diary" * 1000)
    with pytest.raises(reel.NotRunning) as error:
        start(str(home / "s.sock"))

    assert error.value.message.startswith("reeld ended with status 4: reeld: ")
    assert error.value.data["log"] == str(home / "state" / "reel" / "reeld.log")


def test_another_that_is_about_to_end(home: Path) -> None:
    """If another daemon is still stopping, the next one starts as soon as its lock is free."""
    path, log = str(home / "s.sock"), home / "state" / "reel" / "reeld.log"
    started: list[bool] = []
    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: started.append(start(path)))
        thread.start()
        while not (log.exists() and "another reeld is running" in log.read_text()):
            assert thread.is_alive()
    thread.join(PATIENCE)

    assert started == [True]


def test_a_database_that_another_daemon_has(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other one listens is said at once; nothing is tried again and again, and no daemon is left."""
    monkeypatch.setattr("reel.process.READY_WITHIN", 3600)
    start(str(home / "s.sock"), database=str(home / "r.db"))
    before = children()
    with Client(str(home / "s.sock")).connect() as client:
        pid = server_pid(client)
    with pytest.raises(reel.NotRunning) as error:
        start(str(home / "other.sock"), database=str(home / "r.db"))

    assert error.value.message == (
        f"reeld ended with status 3: reeld: another reeld is running (pid {pid}) and listens on {home}/s.sock;"
        f" it holds the database {home}/r.db"
    )
    assert before == children()


def test_a_daemon_that_does_not_answer_in_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives up leaves no daemon behind that would come up later."""
    monkeypatch.setattr("reel.process.READY_WITHIN", 0.5)
    before = children()
    with closing(sqlite3.connect(home / "r.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(reel.NotRunning, match=f"reeld did not answer on {home}/s.sock within 0.5 s: "):
            start(str(home / "s.sock"), database=str(home / "r.db"))

        assert before == children()


def test_a_daemon_that_takes_long(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that logs something, as a migration does, is given the same time again; one that falls silent is not."""
    log, now = home / "log", 0.0
    log.touch()

    def sleep(seconds: float) -> None:
        nonlocal now
        before, now = now, now + seconds
        if before // 15 < now // 15 <= 10:
            log.write_bytes(log.read_bytes() + b"a line\n")

    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(process, "_STEP", 1.0)
    with subprocess.Popen(["sleep", "1000"]) as daemon:
        assert (None, None) == process._wait_for_answer(str(home / "s.sock"), daemon, log, process.READY_WITHIN)
        daemon.kill()
    assert 150 + process.READY_WITHIN < now < 155 + process.READY_WITHIN


def test_autostart_after_a_stop(home: Path) -> None:
    """What was stopped on purpose is not started by a client; a daemon on another socket is."""
    path = str(home / "s.sock")
    mark(path)
    with pytest.raises(reel.NotRunning, match=re.escape(STOPPED)):
        reel.connect(path, autostart=True)
    with pytest.raises(reel.NotRunning, match=re.escape(STOPPED)):
        reel.connect(path)
    with reel.connect(str(home / "other.sock"), autostart=True) as client:
        assert client.ping()

    assert not Path(path).exists()
    assert start(path, database=str(home / "r.db"))
    assert not is_marked(path)


def test_a_stop_while_it_is_started(home: Path) -> None:
    """A daemon that was launched before the stop sees the mark, and does not come up."""
    path, log = str(home / "s.sock"), home / "state" / "reel" / "reeld.log"
    refused: list[str] = []

    def connect() -> None:
        with pytest.raises(reel.NotRunning) as error:
            reel.connect(path, autostart=True)
        refused.append(error.value.message)

    with Path(f"{path}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=connect)
        thread.start()
        while not (log.exists() and "another reeld is running" in log.read_text()):
            assert thread.is_alive()
        mark(path)
    thread.join(PATIENCE)

    assert [STOPPED] == refused
    assert is_marked(path)


# What the manager of the user's units does with ours. Starting fails if the daemon does not come up; the socket's unit
# listens where no daemon does, and what it was told is in a file.
_SYSTEMCTL = f"""#!{sys.executable}
import os, signal, socket, subprocess, sys
home, verb, units = os.environ["HOME"], sys.argv[2], sys.argv[3:]
with open(home + "/calls", "a") as calls:
    print(*sys.argv[1:], file=calls)
if verb == "show":
    print({{"LoadState": os.environ["LOAD_STATE"], "UnitFileState": os.environ.get("SOCKET_STATE", "disabled"),
           "ActiveState": "active" if os.path.exists(home + "/" + units[-1]) else "inactive"}}[units[0].split("=")[1]])
    sys.exit()
if verb == "stop":
    for unit in units:
        if os.path.exists(home + "/" + unit):
            pid = open(home + "/" + unit).read()
            os.unlink(home + "/" + unit)
            if pid and os.path.exists("/proc/" + pid):
                os.kill(int(pid), signal.SIGTERM)
    sys.exit()
if "reeld.socket" in units:
    open(home + "/reeld.socket", "w").close()
with open("/dev/null", "w") as null:
    daemon = subprocess.Popen([sys.executable, "-m", "reeld"], start_new_session=True, stdout=null, stderr=null)
with socket.socket(socket.AF_UNIX) as probe:
    while probe.connect_ex(os.environ["XDG_RUNTIME_DIR"] + "/reel/reel.sock"):
        if daemon.poll() is not None:
            sys.exit("Job for reeld.service failed because the control process exited with error code.\\nSee more.")
with open(home + "/reeld.service", "w") as unit:
    print(daemon.pid, end="", file=unit)
"""


@pytest.fixture
def systemd(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a stand-in for systemctl in PATH, with the unit installed; return the file with its calls."""
    program = home / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(_SYSTEMCTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LOAD_STATE", "loaded")
    return home / "calls"


def test_systemd_starts_its_unit(home: Path, systemd: Path) -> None:
    """If the unit is installed, systemd starts the daemon, and no log file is written."""
    with reel.connect(autostart=True) as client:
        assert client.ping()

    assert "--user start reeld.service" == systemd.read_text().splitlines()[-1]
    assert not (home / "state" / "reel" / "reeld.log").exists()


def test_unit_that_fails(home: Path, systemd: Path) -> None:
    """A unit that does not start raises an error that says where to look, and no other daemon is started."""
    (home / "state" / "reel").mkdir(parents=True)
    (home / "state" / "reel" / "reel.db").write_text("dear diary" * 1000)
    with pytest.raises(reel.NotRunning) as error:
        start(default_socket())

    assert error.value.message == (
        "systemd cannot start reeld.service: Job for reeld.service failed because the control process exited with error"
        " code.; see: journalctl --user -u reeld.service"
    )
    assert "--user start reeld.service" == systemd.read_text().splitlines()[-1]


def test_unit_that_is_not_installed(home: Path, systemd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If systemd does not know the unit, the daemon starts without it."""
    monkeypatch.setenv("LOAD_STATE", "not-found")
    with reel.connect(autostart=True):
        assert (home / "state" / "reel" / "reeld.log").exists()

    assert 1 == len(systemd.read_text().splitlines())


@pytest.mark.parametrize("what", ["socket", "database", "variable"])
def test_another_daemon_than_the_units(home: Path, systemd: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit has the default socket and database; for others, systemd is not asked."""
    path = str(home / "run" / "reel" / "reel.sock")
    if what == "variable":
        monkeypatch.setenv("REEL_DATABASE", str(home / "r.db"))
    start(f"{home}/s.sock" if what == "socket" else path, database=str(home / "r.db") if what == "database" else None)

    assert not systemd.exists()


def test_socket_unit(systemd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`reel stop` lets systemd listen no longer, or the next connection would start the daemon; `reel start` does."""
    monkeypatch.setenv("SOCKET_STATE", "enabled")
    assert main(["start"]) == 0
    assert main(["stop"]) == 0
    assert main(["stop"]) == 0
    assert main(["start"]) == 0

    orders = [line for line in systemd.read_text().splitlines() if "show" not in line]
    started, stopped = "--user start reeld.socket reeld.service", "--user stop reeld.socket reeld.service"
    assert [started, stopped, started] == orders
    assert not is_marked(default_socket())


def test_socket_unit_that_waits(home: Path, systemd: Path) -> None:
    """A daemon that only a connection would start is not started in order to be stopped."""
    (home / "reeld.socket").touch()
    assert main(["stop"]) == 0

    assert "--user stop reeld.socket reeld.service" == systemd.read_text().splitlines()[-1]
    assert is_marked(default_socket())
    assert not (home / "state").exists()
