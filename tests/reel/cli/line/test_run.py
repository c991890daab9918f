"""What needs no daemon: help, version, wrong usage, and the imports that they need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reel.cli import main
from reel.reading.positions import FORMS
from reel.version import PROTOCOL, __version__


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is no default agent, and no daemon answers."""
    monkeypatch.delenv("REEL_AGENT", raising=False)
    monkeypatch.setenv("REEL_SOCKET", str(tmp_path / "none.sock"))


def test_version_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The versions of the command and of the protocol are printed to stdout."""
    assert 0 == main(["--version"])

    assert f"reel {__version__}, protocol {PROTOCOL}\n" == capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["--help"], ["add", "--help"]])
def test_no_command_prints_the_help(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command alone prints its help, with status 0."""
    assert 0 == main(argv)

    assert capsys.readouterr().out.startswith("usage: reel ")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["shw"], "reel: usage: no command 'shw' (did you mean show?); see: reel --help\n"),
        (["show"], "reel: usage: no conversation was named, and $REEL_AGENT is not set; see: reel show --help\n"),
        (
            ["show", "demo", "--at", "x"],
            f"reel: usage: --at: 'x' is not a position; write {FORMS}; see: reel show --help\n",
        ),
        (["add", "demo", "--error", "x"], "reel: usage: --error needs --tool-result; see: reel add --help\n"),
        (
            ["add", "demo", "--role", "user", "--file", "x"],
            "reel: usage: --file and --role cannot be combined; --file can mix them; see: reel add --help\n",
        ),
    ],
)
def test_wrong_usage_is_one_line(argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is one line on stderr and exit status 2, if possible before the daemon is contacted."""
    assert 2 == main(argv)

    assert ("", expected) == capsys.readouterr()


@pytest.mark.parametrize("argv", [["show", "demo"], ["list"], ["add", "demo", "hi"], ["info", "demo"]])
def test_no_daemon_has_its_own_status(argv: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a daemon the status is 3, and the line says how to start one."""
    assert 3 == main(argv)

    where = tmp_path / "none.sock"
    expected = (
        f"reel: not_running: no daemon answers on {where} (No such file or directory); start it with: reel start\n"
    )
    assert ("", expected) == capsys.readouterr()


def test_settings_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the socket is unknown, one line says why, unless the command does not need it."""
    monkeypatch.delenv("REEL_SOCKET")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "reel").mkdir()
    (tmp_path / "reel" / "reeld.toml").write_text("socket")

    assert 3 == main(["list"])
    assert capsys.readouterr().err.startswith(f"reel: not_running: {tmp_path}/reel/reeld.toml: Expected '='")
    assert 0 == main(["completion", "bash"])
    assert 0 == main(["--socket", "/s.sock", "socket"])


def test_status_without_a_daemon(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A daemon that does not run is a result, with an exit status for scripts."""
    assert 3 == main(["status"])
    assert f"not running (no daemon at {tmp_path}/none.sock)\n" == capsys.readouterr().out
    assert 3 == main(["status", "--json"])
    assert f'{{"running":false,"socket":"{tmp_path}/none.sock"}}\n' == capsys.readouterr().out


def test_stop_without_a_daemon(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It succeeds, and other commands then say that the daemon was stopped."""
    assert 0 == main(["stop"])
    assert f"not running (no daemon at {tmp_path}/none.sock)\n" == capsys.readouterr().out
    assert 3 == main(["list"])

    expected = "reel: not_running: reeld was stopped with `reel stop`; start it with `reel start`\n"
    assert ("", expected) == capsys.readouterr()


def test_socket_is_absolute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The socket's path is absolute, because a daemon that is started changes its directory."""
    monkeypatch.chdir(tmp_path)
    assert 0 == main(["--socket", "here.sock", "socket"])

    assert f"{tmp_path}/here.sock\n" == capsys.readouterr().out


def test_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An error of the operating system is one line."""
    assert 1 == main(["add", "demo", "--file", "/none.jsonl"])

    assert "reel: system: /none.jsonl: No such file or directory\n" == capsys.readouterr().err


def start(code: str, *argv: str, stdout: int) -> subprocess.CompletedProcess[str]:
    """Run the command as a process."""
    command = [sys.executable, "-c", f"import sys; from reel.cli import main; {code}", *argv]
    return subprocess.run(command, text=True, check=False, stdout=stdout, stderr=subprocess.PIPE)


# Modules that take milliseconds to import, and that a short command can do without.
HEAVY = {
    *(
        "argparse",
        "ast",
        "asyncio",
        "copy",
        "dataclasses",
        "difflib",
        "gettext",
        "inspect",
        "json",
        "locale",
        "logging",
    ),
    *(
        "pathlib",
        "random",
        "shlex",
        "shutil",
        "signal",
        "socket",
        "string",
        "subprocess",
        "tempfile",
        "threading",
        "tomllib",
    ),
    *(
        "traceback",
        "typing",
        "unicodedata",
        "uuid",
        "reel.said.messages",
        "reel.said.records",
        "reel.sync.subscription",
    ),
    *("ipaddress", "re", "urllib.parse", "reel.daemon.database_url", "reel.replies.erasing", "reel.replies.reading"),
}


@pytest.mark.parametrize(
    ("argv", "unwanted"),
    [
        (["--version"], HEAVY - {"argparse", "gettext", "locale", "re"} | {"reel.sync.client", "msgpack"}),
        (["add", "demo", "hi"], HEAVY | {"reel.cli.commands.shared.pager", "enum"}),
        (["show", "demo"], HEAVY - {"re", "reel.replies.reading"}),
        (["list"], HEAVY),
    ],
)
def test_commands_import_only_what_they_need(argv: list[str], unwanted: set[str]) -> None:
    """A short command spends its time on imports, so it imports only what it needs."""
    code = "before = set(sys.modules); main(); print(*set(sys.modules) - before, file=sys.stderr)"
    loaded = start(code, *argv, stdout=subprocess.DEVNULL).stderr.split()

    assert "reel.cli.line.run" in loaded
    assert unwanted.isdisjoint(loaded)


def test_a_stream_is_waited_for_with_everything_imported() -> None:
    """What reads the stream is imported before its first byte, so that its first text is not late."""
    code = (
        "from types import SimpleNamespace as S;"
        "read = lambda size: print('reel.streams.openai_chat' in sys.modules, file=sys.stderr) or b'';"
        "sys.stdin = S(isatty=lambda: False, buffer=S(read1=read)); main()"
    )
    ended = start(code, "ingest", "new", "--create", "--format", "openai-chat", "--stream", stdout=subprocess.DEVNULL)

    assert "True" == ended.stderr.split("\n")[0]


def test_broken_pipe_is_quiet() -> None:
    """If the reader of stdout ends, the command ends and prints nothing."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = start("sys.exit(main())", "socket", stdout=writing)
    os.close(writing)

    assert (141, "") == (ended.returncode, ended.stderr)


def test_full_disk_is_one_line() -> None:
    """Output that cannot be written is an error, and the status is not 0."""
    with Path("/dev/full").open("w") as full:
        ended = start("sys.exit(main())", "socket", stdout=full.fileno())

    assert (1, "reel: system: No space left on device\n") == (ended.returncode, ended.stderr)
