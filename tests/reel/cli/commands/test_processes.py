"""The command as a process: starting and stopping a daemon, a terminal, a crash."""

import fcntl
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.cli import main
from reel.cli.line.exits import INTERRUPTED
from reel.daemon.lock_file import lock_holder
from reel.daemon.stop_marker import is_marked
from reel.sync.client import Client
from tests.daemon import Daemon, until
from tests.patience import PATIENCE
from tests.planted import Planted
from tests.reel.cli.conftest import Reel

pytestmark = pytest.mark.slow

_REEL = [sys.executable, "-c", "from reel.cli import process; process()"]


@pytest.fixture
def home(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for a daemon of the test's own, which is stopped at the end."""
    monkeypatch.setenv("REEL_SOCKET", f"{directory}/s.sock")
    monkeypatch.setenv("REEL_DATABASE", f"{directory}/r.db")
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    monkeypatch.delenv("REEL_AGENT", raising=False)
    yield directory
    run("stop")


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    return subprocess.run([*_REEL, *argv], text=True, check=False, capture_output=True, stdin=subprocess.DEVNULL)


def on_terminal(*argv: str) -> str:
    """Run the command on a terminal of 80 columns, and return its output.

    Without what it erased: on a busy machine a command may have shown what it waits for.
    """
    terminal, its_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([*_REEL, *argv], stdin=its_end, stdout=its_end, stderr=its_end, env=environment):
        os.close(its_end)
        shown = b""
        while piece := _read(terminal):
            shown += piece
    os.close(terminal)
    return re.sub(r"[^\n]*\r\x1b\[K", "", shown.decode().replace("\r\n", "\n"))


def _read(terminal: int) -> bytes:
    """Read from a terminal; on Linux the other end's closing is an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_start_and_stop(home: Path) -> None:
    """Both can be repeated, and each waits until it is done."""
    path = home / "s.sock"

    assert f"started: {path}\n" == run("start").stdout
    assert f"already running: {path}\n" == run("start").stdout
    assert 0 == run("status").returncode
    assert f"stopped: {path}\n" == run("stop").stdout
    assert f"not running (no daemon at {path})\n" == run("stop").stdout
    assert 3 == run("status").returncode
    assert f'{{"socket":"{path}","started":true}}\n' == run("start", "--json").stdout


@pytest.fixture
def starting(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory of a daemon that commands may start; there is no reel.toml."""
    monkeypatch.delenv("REEL_NO_START")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return home


@pytest.mark.usefixtures("starting")
def test_a_command_starts_the_daemon() -> None:
    """The first command starts the daemon, which goes on when the command has ended."""
    ran = run("new", "demo")

    assert (0, "demo\n", "") == (ran.returncode, ran.stdout, ran.stderr)
    assert 0 == run("status").returncode


@pytest.mark.usefixtures("starting")
def test_a_person_is_told_that_the_daemon_was_started() -> None:
    """On a terminal the command says so, and how to stop it."""
    assert "\x1b[2mstarted the daemon, which runs until: reel stop\x1b[0m\n" in on_terminal("new", "demo")


@pytest.mark.usefixtures("starting")
def test_a_daemon_that_was_stopped_stays_stopped() -> None:
    """After reel stop no command starts the daemon, and it says who can; reel start does."""
    run("new", "demo")
    run("stop")
    refused = run("list")

    expected = "reel: not_running: reeld was stopped with `reel stop`; start it with `reel start`\n"
    assert (3, expected) == (refused.returncode, refused.stderr)
    assert 0 == run("start").returncode
    assert "demo" in run("list").stdout


@pytest.mark.parametrize(
    "argv", [("status",), ("stats",), ("top",), ("doctor",), ("stop",), ("socket",), ("--version",), ("help",)]
)
def test_commands_that_do_not_start_the_daemon(starting: Path, argv: tuple[str, ...]) -> None:
    """What asks about the daemon or stops it does not start one."""
    run(*argv)

    assert lock_holder(f"{starting}/s.sock") is None


@pytest.mark.parametrize("how", ["option", "variable", "setting", "socket"])
def test_how_to_keep_a_command_from_starting_the_daemon(
    starting: Path, how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An option, a variable and a setting do, and so does --socket, since nobody knows the database of that socket."""
    (tmp_path / "reel").mkdir()
    (tmp_path / "reel" / "reel.toml").write_text("start = false" if how == "setting" else "")
    if how == "variable":
        monkeypatch.setenv("REEL_NO_START", "1")
    options = {"option": ["--no-start"], "socket": ["--socket", f"{starting}/s.sock"]}.get(how, [])
    refused = run("list", *options)

    assert 3 == refused.returncode
    assert refused.stderr.endswith(" start\n")
    assert lock_holder(f"{starting}/s.sock") is None


def test_start_ignores_modules_in_the_current_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon that it starts imports a module of the current directory."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    started = subprocess.run([Path(sys.executable).with_name("reel"), "start"], check=False)

    assert (0, []) == (started.returncode, planted.imported())
    assert (home / "s.sock").is_socket()


def test_start_with_another_database(home: Path) -> None:
    """A running daemon with another database is refused."""
    assert 0 == run("start", "--database", str(home / "r.db")).returncode
    assert 0 == run("start", "--database", str(home / "r.db")).returncode
    refused = run("start", "--database", str(home / "other.db"))

    assert (1, "") == (refused.returncode, refused.stdout)
    assert (
        f"reel: the daemon on this socket uses {home}/r.db; stop it with: reel stop, or name another --socket\n"
    ) == refused.stderr


def test_stopped_daemon_stays_stopped(home: Path) -> None:
    """No client starts it again until somebody does so with `reel start` or by hand."""
    for starting in (["start"], ["start", "--database", str(home / "r.db")]):
        assert 0 == run("start", "--unless-stopped").returncode
        assert 0 == run("stop").returncode
        assert 0 == run("stop").returncode
        refused = run("start", "--unless-stopped")
        assert "reel: not_running: reeld was stopped with `reel stop`; start it with `reel start`\n" == refused.stderr
        assert 0 == run(*starting).returncode
        assert f"already running: {home}/s.sock\n" == run("start", "--unless-stopped").stdout


def test_stop_during_the_start(home: Path) -> None:
    """A daemon that does not answer yet is waited for, and stopped."""
    daemon = Daemon(home)
    daemon.launch()
    until(lambda: lock_holder(daemon.socket) is not None)

    assert 0 == run("stop").returncode
    assert 0 == daemon.process.wait(PATIENCE)
    assert is_marked(daemon.socket)


def test_stop_that_is_refused(home: Path) -> None:
    """A daemon that refuses to stop is not marked as stopped: clients may start it after a crash."""
    run("start")
    (home / "r.db").unlink()
    with Client(f"{home}/s.sock") as client:
        until(lambda: client.stats()["storage_problem"] is not None)
    refused = run("stop")

    assert 1 == refused.returncode
    assert "is lost when reeld stops; save it with: reel backup FILE" in refused.stderr
    assert not is_marked(f"{home}/s.sock")
    run("backup", str(home / "saved.db"))


def test_stop_waits_for_the_end(home: Path) -> None:
    """After stop the locks are free, so that another daemon can start at once."""
    run("start")

    # In this process: the end of another one would take as long as the daemon's.
    assert 0 == main(["stop"])
    with (home / "r.db.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_stop_of_a_daemon_that_does_not_answer(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Waiting for it has a limit."""
    monkeypatch.setattr("reel.cli.commands.stop.STOP_TIMEOUT", 0.05)
    path = f"{directory}/s.sock"
    with socket.socket(socket.AF_UNIX) as stuck:
        stuck.bind(path)
        stuck.listen()

        assert 1 == main(["--socket", path, "stop"])
    assert "reel: timeout: the daemon does not answer; see what to do with: reel doctor\n" == capsys.readouterr().err


def test_messages_survive_a_crash(home: Path) -> None:
    """After kill -9 and a start every message is there, in order."""
    run("start")
    run("add", "demo", "one", "--create")
    run("add", "demo", "two")
    pid = int(next(line.split()[1] for line in run("status").stdout.splitlines() if line.startswith("pid")))
    os.kill(pid, signal.SIGKILL)
    run("start")

    assert ["  one", "  two"] == [line for line in run("show", "demo").stdout.splitlines() if line.startswith("  ")]
    assert home.joinpath("r.db").exists()


def test_failed_start_prints_the_daemons_error(home: Path) -> None:
    """The daemon's last message is the error."""
    (home / "r.db").write_text("no database at all, but a text that somebody keeps here" * 100)
    ran = run("start")

    assert (3, "") == (ran.returncode, ran.stdout)
    assert ran.stderr.startswith("reel: not_running: reeld ended with status ")
    assert 1 == ran.stderr.count("\n")


def test_hint_has_the_command_that_undoes_it(reel: Reel, name: str) -> None:
    """On a terminal a change is followed by the command that undoes it."""
    reel("new", name)

    assert f"{name}: added #2\n\x1b[2mundo: reel undo {name}\x1b[0m\n" == on_terminal("add", name, "hi")


def test_hint_has_the_socket_that_was_given(reel: Reel, name: str, daemon: str) -> None:
    """The hint can be pasted, whatever the socket is."""
    reel("new", name)
    shown = on_terminal("--socket", daemon, "tag", name, "a=two words")

    assert shown.endswith(f"undo: reel --socket {daemon} tag -a {name} a-\x1b[0m\n")


def test_hint_is_shown_while_it_is_news(reel: Reel, name: str) -> None:
    """The hint after an add is shown three times, that after a destructive command every time."""
    reel("new", name)

    assert [True, True, True, False] == ["undo:" in on_terminal("add", name, "hi") for _ in range(4)]
    assert [True] * 4 == ["undo:" in on_terminal("clear", name) for _ in range(4)]


def test_error_at_a_terminal_has_no_name(reel: Reel, name: str) -> None:
    """The name of an error is for programs: a person reads what is wrong."""
    assert on_terminal("show", name).startswith(f"reel: no conversation {name}; ")
    assert on_terminal("clear").startswith("reel: no conversation was named")
    assert reel("show", name).err.startswith("reel: not_found: ")


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (["new", "{0}-2"], "kill {0}-2"),
        (["clear", "{0}"], "restore {0} 4"),
        (["mark", "{0}", "x"], "undo {0}"),
        (["rewind", "{0}"], "restore {0} 4"),
        (["restore", "{0}", "1"], "restore {0} 4"),
        (["undo", "{0}"], "redo {0}"),
        (["clone", "{0}", "{0}-2"], "kill {0}-2"),
        (["kill", "{0}"], "revive {0}"),
        (["rename", "{0}", "{0}-2"], "rename {0}-2 {0}"),
        (["title", "{0}", "New"], "title {0} -- -old-"),
        (["tag", "{0}", "a=2", "b=1"], "tag -a {0} a=1 b-"),
    ],
)
def test_every_hint_undoes_its_change(reel: Reel, name: str, change: list[str], hint: str) -> None:
    """The hint of every change works when it is typed."""
    reel("new", name, "--tag", "a=1", "--title=-old-")
    reel("add", name, "one")
    reel("mark", name)
    reel("add", name, "two")
    shown = on_terminal(*(word.format(name) for word in change))

    assert f"undo: reel {hint.format(name)}\x1b[0m" in shown.splitlines()[-1]
    assert 0 == reel(*hint.format(name).split()).status


def test_terminal_is_wrapped_and_coloured(reel: Reel, name: str) -> None:
    """Roles have colours, and no line is wider than the terminal."""
    reel("add", name, "word " * 50, "--create")
    shown = on_terminal("show", name).splitlines()

    assert shown[0].startswith("\x1b[36muser\x1b[0m")
    assert 5 == len(shown)
    assert max(len(line) for line in shown[1:]) <= 80


def test_empty_output_has_a_hint(home: Path) -> None:
    """If there is nothing to show, a hint says how to begin."""
    assert "start it with: reel start" in on_terminal("status")
    run("start")
    assert "no conversations; create one with: reel new NAME" in on_terminal("list")
    run("new", "demo")
    assert "no messages; add one with: reel add demo TEXT" in on_terminal("show", "demo")
    run("kill", "demo")
    assert "all conversations are killed; list them with: reel list --all" in on_terminal("list")
    assert home.exists()


@pytest.mark.parametrize(("status", "expected"), [(INTERRUPTED, -signal.SIGINT), (5, 5)])
def test_output_before_the_end_is_flushed(status: int, expected: int) -> None:
    """Buffered output is not lost when the process ends at once, or by a signal."""
    code = f"from reel.cli.line.exits import exit_with; print('one'); exit_with({status})"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run([sys.executable, "-c", code], text=True, check=False, capture_output=True, env=buffered)

    assert (expected, "one\n", "") == (ended.returncode, ended.stdout, ended.stderr)
