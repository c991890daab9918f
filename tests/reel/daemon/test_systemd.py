"""A daemon whose unit is installed is started and stopped by systemd."""

import os
import sys
from pathlib import Path

import pytest

import reel
from reel.cli import main
from reel.daemon.address import default_socket
from reel.daemon.starting import start
from reel.daemon.stop_marker import is_marked

pytestmark = pytest.mark.slow

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

    assert (
        "systemd cannot start reeld.service: Job for reeld.service failed because the control process exited with error"
        " code.; see: journalctl --user -u reeld.service"
    ) == error.value.message
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
    assert 0 == main(["start"])
    assert 0 == main(["stop"])
    assert 0 == main(["stop"])
    assert 0 == main(["start"])

    orders = [line for line in systemd.read_text().splitlines() if "show" not in line]
    started, stopped = "--user start reeld.socket reeld.service", "--user stop reeld.socket reeld.service"
    assert [started, stopped, started] == orders
    assert not is_marked(default_socket())


def test_socket_unit_that_waits(home: Path, systemd: Path) -> None:
    """A daemon that only a connection would start is not started in order to be stopped."""
    (home / "reeld.socket").touch()
    assert 0 == main(["stop"])

    assert "--user stop reeld.socket reeld.service" == systemd.read_text().splitlines()[-1]
    assert is_marked(default_socket())
    assert not (home / "state").exists()
