"""``reel mcp``: what it writes into the settings of tools, and what it does as a hook."""

import json
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.reel.cli.conftest import Reel


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without settings of a tool."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_there_and_back(reel: Reel, home: Path, daemon: str) -> None:
    """What changes is shown and written, once; taken back, nothing is left."""
    installed = reel("mcp", "claude-code", "--install", "--yes", "--write")
    again = reel("mcp", "--install", "claude-code", "--yes", "--write")
    found = json.loads((home / ".claude.json").read_text())["mcpServers"]["reel"]
    back = reel("mcp", "claude-code", "--uninstall", "--yes")
    nothing = reel("mcp", "claude-code", "--uninstall", "--yes")

    assert f"{home}/.claude.json (new)" in installed.out
    assert '  +    "reel": {' in installed.out.splitlines()
    assert installed.out.endswith("Claude Code starts this server the next time it is started.\n")
    assert ["mcp", "--write"] == found["args"][-2:]
    assert {"REEL_SOCKET": daemon} == found["env"]
    assert "Claude Code starts this server already; nothing was changed\n" == again.out
    assert [0, 0, 0, 0] == [ran.status for ran in (installed, again, back, nothing)]
    assert "Claude Code does not start this server; nothing was changed\n" == nothing.out
    assert not (home / ".claude.json").exists()
    assert not (home / ".claude/skills/reel-recall").exists()


def test_a_script_is_not_asked(reel: Reel, home: Path) -> None:
    """Without a terminal, what would change is shown, and how to do it."""
    ran = reel("mcp", "cursor", "--install", "--write", "--with-hooks")

    assert 1 == ran.status
    assert "change it with: reel mcp cursor --install --with-hooks --write --yes" in ran.err
    assert not (home / ".cursor").exists()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--install",), "name a tool: claude-code, codex"),
        (("--install", "clod"), "'clod' is not one of"),
        (("codex",), "what is to become of codex?"),
        (("codex", "--install", "--uninstall"), "--install and --uninstall cannot be combined"),
    ],
)
def test_bad_input(reel: Reel, words: tuple[str, ...], expected: str) -> None:
    """A mistake on the command line is an error that says what to do."""
    ran = reel("mcp", *words, stdin=b"[]")

    assert 2 == ran.status
    assert expected in ran.err


def test_settings_that_are_not_understood(reel: Reel, home: Path) -> None:
    """A file that cannot be changed is named, and stays as it is."""
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text("{ oops")
    ran = reel("mcp", "cursor", "--install", "--yes")

    assert 1 == ran.status
    assert f"{file} was not changed: it is not JSON" in ran.err
    assert "{ oops" == file.read_text()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("codex", "--hook"), "is a JSON object; let the tool run this"),
        (("codx", "--hook"), "did you mean codex?"),
        (("codex", "--hook", "--loud"), "--loud"),
        (("codex", "--hook", "settings"), "settings"),
    ],
)
def test_a_hook_that_fails(reel: Reel, home: Path, words: tuple[str, ...], expected: str) -> None:
    """A tool goes on: it would take the status of a wrong command line for the order not to compact."""
    if "settings" in words:
        (home / ".config/reel").mkdir(parents=True)
        (home / ".config/reel/reel.toml").write_text("mcp = [")
    ran = reel("mcp", *words, stdin=b"[]")

    assert 1 == ran.status
    assert expected in ran.err


def test_a_hook(reel: Reel, home: Path, client: Client) -> None:
    """A session is read in before it is compacted, and after it the model is told what it can do."""
    path = home / ".claude/projects/-p/hooked.jsonl"
    path.parent.mkdir(parents=True)
    record = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "hooked", "cwd": "/p"}
    path.write_text(json.dumps({**record, "message": {"role": "user", "content": "before it"}}) + "\n")
    given = {"transcript_path": str(path), "session_id": "hooked", "hook_event_name": "PreCompact"}
    before = reel("mcp", "claude-code", "--hook", stdin=json.dumps(given).encode())
    given |= {"hook_event_name": "SessionStart", "source": "compact"}
    after = reel("mcp", "claude-code", "--hook", stdin=json.dumps(given).encode())
    told = after.documents[0]["hookSpecificOutput"]

    assert (0, "", "") == before
    assert "before it" == client.history("claude-code/hooked", kinds=["user"]).events[0]["content"]
    assert "SessionStart" == told["hookEventName"]
    assert "`lost`" in told["additionalContext"]
