"""Bringing in what tools wrote since."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reel.importing.adding.importer import Importer
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.importing.refreshing import Caller, Refresher, Stopped
from reel.importing.tools.claude_code.tool import TOOL
from reel.sync.client import Client
from tests.daemon import Daemon

pytestmark = pytest.mark.slow
# Longer ago than a transcript that is being written.
HOURS_AGO = 4 * 3600


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, in which nothing was imported yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def claude(home: Path, session: str, *texts: str) -> None:
    """Write a session of Claude Code, or more of it; each message follows the one before it."""
    path = home / ".claude/projects/-p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    said = [json.loads(line)["uuid"] for line in path.read_text().splitlines()]
    with path.open("a") as file:
        for text in texts:
            parent = said[-1] if said else None
            record = {"type": "user", "uuid": text, "parentUuid": parent, "sessionId": session, "cwd": "/p"}
            file.write(json.dumps({**record, "message": {"role": "user", "content": text}}) + "\n")
            said.append(text)


def pi(home: Path, session: str, directory: str) -> Path:
    """Write a session of pi."""
    path = home / ".pi/agent/sessions/--p--" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    header: dict[str, Any] = {"type": "session", "version": 3, "id": session, "cwd": directory}
    said = {"type": "message", "id": "m", "parentId": None, "message": {"role": "user", "content": "hello"}}
    path.write_text(f"{json.dumps(header)}\n{json.dumps(said)}\n")
    return path


def imported(daemon: Daemon, home: Path) -> None:
    """Import what there is of Claude Code."""
    seen = Seen(f"{home}/state/reel/imported.json")
    with Pipeline(Client(daemon.socket, name=CLIENT, patience=0)) as pipeline:
        importer = Importer(pipeline, seen)
        importer.look()
        for _ in importer.run(TOOL, TOOL.discover(home / ".claude/projects").sources):
            pass
    seen.save()


def names(daemon: Daemon, prefix: str) -> list[str]:
    """Return the names of conversations."""
    with daemon.client() as client:
        return sorted(row.name for row in client.agents(prefix=prefix).agents)


def test_what_was_imported_before(daemon: Daemon, home: Path) -> None:
    """A conversation that was imported and went on is read in; one that nobody asked for is not."""
    claude(home, "known", "one")
    imported(daemon, home)
    claude(home, "known", "two")
    claude(home, "unasked", "secret")
    refresher = Refresher(daemon.socket, {"HOME": str(home)})
    refresher.run(Caller())
    claude(home, "known", "three")
    refresher.run(Caller())
    with daemon.client() as client:
        log = client.history("claude-code/known", kinds=["user"]).events

    assert ["one", "two", "three"] == [event["content"] for event in log]
    assert [] == names(daemon, "claude-code/unasked")


def test_the_callers_own(daemon: Daemon, home: Path) -> None:
    """The conversation that the caller names is read in, although it was not imported before."""
    claude(home, "mine", "one")
    claude(home, "mine2", "other")
    Refresher(daemon.socket, {"HOME": str(home)}).run(Caller("claude-code/mine"))

    assert ["claude-code/mine"] == names(daemon, "claude-code/mine")


def test_what_the_caller_was_cleared_to(daemon: Daemon, home: Path) -> None:
    """A transcript that began with /clear in the caller's directory is read in as well, and no other new one."""
    claude(home, "window", "one")
    refresher = Refresher(daemon.socket, {"HOME": str(home)})
    caller = Caller("claude-code/window", directories=("/p",), may_be_cleared=True)
    refresher.run(caller)
    claude(home, "window-cleared", "<command-name>/clear</command-name>", "two")
    claude(home, "window-other", "three")
    refresher.run(caller._replace(may_be_cleared=False))
    unasked = names(daemon, "claude-code/window")
    refresher.run(caller)

    assert ["claude-code/window"] == unasked
    assert ["claude-code/window", "claude-code/window-cleared"] == names(daemon, "claude-code/window")


def test_a_clear_that_is_being_written(daemon: Daemon, home: Path) -> None:
    """A transcript of which there was only the first record is looked at again."""
    claude(home, "slow", "one")
    refresher = Refresher(daemon.socket, {"HOME": str(home)})
    caller = Caller("claude-code/slow", directories=("/p",), may_be_cleared=True)
    refresher.run(caller)
    claude(home, "slow-cleared", "what Claude Code says first")
    refresher.run(caller)
    unasked = names(daemon, "claude-code/slow")
    claude(home, "slow-cleared", "<command-name>/clear</command-name>")
    refresher.run(caller)

    assert ["claude-code/slow"] == unasked
    assert ["claude-code/slow", "claude-code/slow-cleared"] == names(daemon, "claude-code/slow")


def test_a_caller_that_names_none(daemon: Daemon, home: Path) -> None:
    """Of a tool that names no session, those count that are being written in the caller's directory."""
    pi(home, "here", "/here")
    pi(home, "there", "/there")
    old = pi(home, "old", "/here")
    os.utime(old, (old.stat().st_mtime - HOURS_AGO,) * 2)
    Refresher(daemon.socket, {"HOME": str(home)}).run(Caller("", "pi", ("/elsewhere", "/here")))

    assert ["pi/here"] == names(daemon, "pi/")


def test_an_import_that_nobody_waits_for(daemon: Daemon, home: Path) -> None:
    """It ends where it is, and the next one reads the rest in."""
    claude(home, "long", *(f"long {number}" for number in range(10)))
    asked = iter([False] * 4 + [True] * 99)
    with pytest.raises(Stopped):
        Refresher(daemon.socket, {"HOME": str(home)}, lambda: next(asked)).run(Caller("claude-code/long"))
    Refresher(daemon.socket, {"HOME": str(home)}).run(Caller("claude-code/long"))
    with daemon.client() as client:
        assert 10 == len(client.history("claude-code/long", kinds=["user"]).events)


def test_an_import_that_failed(daemon: Daemon, home: Path) -> None:
    """What one import did not bring in because it ended early, the next one of the same server does."""
    claude(home, "ended", "one")
    imported(daemon, home)
    claude(home, "ended", "two")
    is_stopped = True
    refresher = Refresher(daemon.socket, {"HOME": str(home)}, lambda: is_stopped)
    with pytest.raises(Stopped):
        refresher.run(Caller("claude-code/ended"))
    is_stopped = False
    refresher.run(Caller("claude-code/ended"))
    with daemon.client() as client:
        log = client.history("claude-code/ended", kinds=["user"]).events

    assert ["one", "two"] == [event["content"] for event in log]
