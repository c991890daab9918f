"""``reel import --watch``, as a unit of the system runs it: for years, and nobody looks."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reel.version
from reel.importing.tools.claude_code.records import Record
from reel.importing.tools.claude_code.tool import Session
from reel.sync.client import Client
from tests.forkserver import ForkedDaemon
from tests.reel.cli.conftest import Ran, Reel, texts
from tests.reel.cli.running import talking
from tests.reel.importing.rollouts import Lines
from tests.reel.importing.transcripts import Transcript

# What happens while the command waits for the next look; after the last of them, Ctrl-C.
Meanwhile = Callable[..., Ran]


@pytest.fixture
def session(name: str) -> str:
    """The id of a session that no other test uses."""
    return name.lower()[-40:].strip("-")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home directory without histories."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PWD", str(tmp_path))
    return tmp_path


@pytest.fixture
def meanwhile(reel: Reel, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Run the command; between its looks, do what is given, without a pause."""

    def run(*steps: Callable[[], object], argv: tuple[str, ...] = ("import", "--yes", "--watch")) -> Ran:
        left = list(steps)

        def sleep(_seconds: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        with monkeypatch.context() as patch:
            patch.setattr(time, "sleep", sleep)
            return reel(*argv)

    return run


def nothing() -> None:
    """Only wait for the next look."""


def write(home: Path, made: Transcript) -> Path:
    """Write a transcript where the tool would."""
    return made.write(home / ".claude/projects/-home-me" / f"{made.session}.jsonl")


def write_rollout(home: Path, session: str) -> Path:
    """Write a thread of Codex where the tool would."""
    made = Lines(session).said("user", "Hi")
    return made.write(home / f".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-{session}.jsonl")


def readings(home: Path) -> Any:
    """Return what is noted of the tools."""
    ((_, tools),) = json.loads((home / "reel/readings.json").read_text()).items()
    return tools


def test_a_tool_that_appears_later(meanwhile: Meanwhile, client: Client, session: str, home: Path) -> None:
    """A tool that had written nothing when the import began is imported as soon as it writes."""
    ran = meanwhile(lambda: write(home, Transcript(session).user("u1", "Hi")))

    assert (130, "") == (ran.status, ran.err)
    assert 1 == client.agent(f"claude-code/{session}").messages


def test_without_yes_nothing_is_watched(meanwhile: Meanwhile) -> None:
    """If there is nothing to ask about, and nobody agreed, the command ends."""
    assert 1 == meanwhile(argv=("import", "--watch")).status


def test_a_tool_without_a_usual_place(meanwhile: Meanwhile) -> None:
    """It is of no use to wait for files whose place nobody knows."""
    ran = meanwhile(argv=("import", "jsonl", "--watch"))

    assert 1 == ran.status
    assert "name a file or directory" in ran.err


@pytest.mark.parametrize("stage", ["prepare", "read_line"])
def test_a_fault_of_a_reader(
    stage: str, meanwhile: Meanwhile, client: Client, session: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that a reader cannot bear is said, with its file, and noted; everything else is imported."""
    usual = getattr(Session, stage)

    def read(self: Session, found: Any, line: int) -> Any:
        if "bad" in (found.uuid if isinstance(found, Record) else found["uuid"]):
            raise KeyError("surprise")
        return usual(self, found, line)

    monkeypatch.setattr(Session, stage, read)
    bad = write(home, Transcript(f"a-{session}").user("u1", "Before").user("bad", "Surprise"))
    write(home, Transcript(f"b-{session}").user("u1", "Hi"))
    write_rollout(home, session)

    ran = meanwhile(nothing, nothing)

    said = f"{bad}: this is a fault of reel, please report it: KeyError: 'surprise' (test_import_watching.py:"
    assert 1 == ran.err.count(said)
    assert 1 == client.agent(f"claude-code/a-{session}").messages
    assert 1 == client.agent(f"claude-code/b-{session}").messages
    assert 1 == client.agent(f"codex/{session}").messages
    assert readings(home)["claude-code"]["unread"][0]["path"] == str(bad)


def test_a_place_that_cannot_be_looked_at(meanwhile: Meanwhile, home: Path) -> None:
    """A problem that is there at each look is said once."""
    projects = home / ".claude/projects"
    projects.mkdir(parents=True)
    (projects / "link").symlink_to("/nowhere")

    ran = meanwhile(nothing, nothing)

    assert 1 == ran.err.count("is a link, which is not followed")


def test_a_named_path_that_goes(meanwhile: Meanwhile, session: str, home: Path) -> None:
    """A path that was named and is gone, as with a disk that is not mounted any more, is said once and waited for."""
    file = write(home, Transcript(session).user("u1", "Hi"))

    ran = meanwhile(file.unlink, nothing, nothing, argv=("import", "claude-code", str(file), "--watch"))

    assert 130 == ran.status
    assert 1 == ran.err.count(f"Claude Code: {file} does not exist")
    assert not (home / "reel/readings.json").exists()


@pytest.mark.usefixtures("reel")
def test_a_first_daemon_is_waited_for(session: str, home: Path, directory: Path) -> None:
    """Without a daemon, the import waits until there is one."""
    write(home, Transcript(session).user("u1", "Hi"))
    daemon = ForkedDaemon(directory)
    argv = ("import", "--yes", "--watch", "--no-start")
    with talking(daemon.socket, *argv, HOME=str(home), XDG_STATE_HOME=str(home)) as command:
        command.until("waiting until it runs")
        daemon.start()
        command.until("the daemon is here")
        command.until("1 conversation imported")
        command.stop()
    daemon.close()


def test_two_at_once(client: Client, session: str, home: Path) -> None:
    """A second one waits for the end of the first, and goes on in its place."""
    write(home, Transcript(session).user("u1", "Hi"))
    environment = {"HOME": str(home), "XDG_STATE_HOME": str(home)}
    with talking(client.path, "import", "--yes", "--watch", **environment) as first:
        first.until("waiting for what the tools write")
        with talking(client.path, "import", "--yes", "--watch", **environment) as second:
            second.until(f"process {first.process.pid} imports what")
            first.process.kill()
            second.until("nothing new in 1 conversation")
            second.stop()


def test_an_upgrade(meanwhile: Meanwhile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another version was installed, and its file stays as it is, the command begins again as that."""
    version = tmp_path / "version.py"
    version.write_text("1")
    monkeypatch.setattr(reel.version, "__file__", str(version))
    begun: list[Any] = []
    looks: list[str] = []

    def begin(*command: Any) -> None:
        begun.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "execv", begin)

    def upgrade() -> None:
        version.write_text("22")

    ran = meanwhile(version.unlink, nothing, upgrade, lambda: looks.append("the same"), lambda: looks.append("late"))

    assert ["the same"] == looks
    assert [(sys.executable, [sys.executable, *sys.orig_argv[1:]])] == begun
    assert "another version of reel was installed" in ran.err


def test_no_upgrade(meanwhile: Meanwhile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the same version is installed, or none, the command goes on."""
    version = tmp_path / "version.py"
    version.write_text("1")
    monkeypatch.setattr(reel.version, "__file__", str(version))
    monkeypatch.setattr(os, "execv", lambda *_command: pytest.fail("begun again"))

    assert 130 == meanwhile(nothing, nothing, version.unlink, nothing, nothing).status


def test_what_status_says(meanwhile: Meanwhile, reel: Reel, session: str, home: Path) -> None:
    """The status has when each tool was read, and what could not be read and why; programs get all of it."""
    file = write(home, Transcript(session).user("u1", "Hi"))
    with file.open("a") as opened:
        opened.write("damaged\n")
    write_rollout(home, session)
    meanwhile(nothing)

    lines = reel("status").out.splitlines()
    document = reel("status", "--json").documents[0]["imports"]

    problem = f"1 problem, {file}: line 2: not JSON: "
    assert f"claude-code    read just now, 1 conversation; {problem}" in "\n".join(lines)
    assert "codex          read just now, 1 conversation" in lines
    assert document["watcher"] is None
    assert {"claude-code", "codex"} == document["tools"].keys()
    assert str(file) == document["tools"]["claude-code"]["unread"][0]["path"]


def test_nothing_was_imported(reel: Reel) -> None:
    """Who imports nothing is told nothing about imports."""
    assert {"watcher": None, "tools": {}} == reel("status", "--json").documents[0]["imports"]


def test_what_is_imported_by_hand_is_noted(reel: Reel, session: str, home: Path) -> None:
    """An import without --watch is a reading as well."""
    write(home, Transcript(session).user("u1", "Hi"))
    reel("import", "--yes")

    assert 1 == readings(home)["claude-code"]["conversations"]
    assert ["Hi"] == texts(reel, f"claude-code/{session}")
