"""What ``reel mcp --install`` changes, for each tool.

Claude Code, Codex, opencode, Gemini CLI and pi started the server from these files on 2026-11-28. Of the others, the
form is that of the vendor's page, which was read on that day: not tried.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from reel.mcp.tools.table import TOOLS as CALLED
from reel.mcp.wiring import json_text
from reel.mcp.wiring.plan import Change, Refused, installed, lines_of, skill, uninstalled
from reel.mcp.wiring.tools import TOOLS, Started, Wired

STARTED = Started(("/opt/reel",), ("--write",), {"REEL_SOCKET": "/s"})
ARGS = ["mcp", "--write"]
ENV = {"REEL_SOCKET": "/s"}
PLAIN = {"command": "/opt/reel", "args": ARGS, "env": ENV}
STDIO = {"type": "stdio", **PLAIN}
LOCAL = {"type": "local", "command": ["/opt/reel", *ARGS], "enabled": True, "environment": ENV}
# The file, the keys and the entry; the vendor's page for those that were not tried.
EXPECTED: dict[str, tuple[str, list[str], dict[str, Any], str]] = {
    "claude-code": (".claude.json", ["mcpServers"], STDIO, ""),
    "codex": (".codex/config.toml", ["mcp_servers"], PLAIN, ""),
    "opencode": (".config/opencode/opencode.json", ["mcp"], LOCAL, ""),
    "gemini-cli": (".gemini/settings.json", ["mcpServers"], PLAIN, ""),
    "pi": (".pi/agent/mcp.json", ["mcpServers"], {**PLAIN, "exposure": "direct"}, ""),
    "cursor": (".cursor/mcp.json", ["mcpServers"], PLAIN, "https://cursor.com/docs/mcp"),
    "vscode": (
        ".config/Code/User/mcp.json",
        ["servers"],
        STDIO,
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    ),
    "zed": (".config/zed/settings.json", ["context_servers"], PLAIN, "https://zed.dev/docs/ai/mcp"),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        ["mcpServers"],
        PLAIN,
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    ),
}
every_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def apply(changes: list[Change]) -> None:
    """Write what was planned."""
    for change in changes:
        if change.after is None:
            change.file.unlink()
        else:
            change.file.parent.mkdir(parents=True, exist_ok=True)
            change.file.write_text(change.after)


def settings(tool: Wired, home: Path) -> Any:
    """Return the settings of a tool."""
    text = tool.file({"HOME": str(home)}).read_text()
    return tomllib.loads(text) if tool.keys[0] == "mcp_servers" else json_text.parse(text)


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """The places on Linux are expected, wherever this runs."""
    monkeypatch.setattr("sys.platform", "linux")


@every_tool
def test_there_and_back(tool: Wired, tmp_path: Path) -> None:
    """The server is written where the tool looks, once, and taken back with everything that came with it."""
    environment = {"HOME": str(tmp_path)}
    file, keys, entry, _page = EXPECTED[tool.name]
    apply(installed(tool, environment, STARTED, hooks=True))
    found = settings(tool, tmp_path)

    assert tmp_path / file == tool.file(environment)
    assert entry == found[keys[0]]["reel"]
    assert [] == installed(tool, environment, STARTED, hooks=True)
    apply(uninstalled(tool, environment))
    assert [] == uninstalled(tool, environment)
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]


@every_tool
def test_what_else_is_there(tool: Wired, tmp_path: Path) -> None:
    """Other settings and other servers stay."""
    environment = {"HOME": str(tmp_path)}
    keys = EXPECTED[tool.name][1]
    file = tool.file(environment)
    file.parent.mkdir(parents=True, exist_ok=True)
    is_toml = tool.keys[0] == "mcp_servers"
    other = {keys[0]: {"other": {"command": "x"}}}
    text = f'a = 1\n\n[{keys[0]}.other]\ncommand = "x"\n' if is_toml else json.dumps({"a": 1, **other}, indent=2)
    file.write_text(text)
    apply(installed(tool, environment, STARTED, hooks=False))
    apply(uninstalled(tool, environment))

    assert text == file.read_text()


def test_every_tool_is_expected() -> None:
    """Each tool has a row, and each that was not tried a page."""
    assert [tool.name for tool in TOOLS] == list(EXPECTED)
    assert 4 == sum(bool(page) for *_, page in EXPECTED.values())


def test_hooks(tmp_path: Path) -> None:
    """Hooks of others stay, those of an earlier place of the program are replaced, and all of ours go again."""
    (tool,) = (tool for tool in TOOLS if tool.name == "claude-code")
    environment = {"HOME": str(tmp_path)}
    file = tmp_path / ".claude/settings.json"
    file.parent.mkdir()
    theirs = {"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "backup"}]}]}, "model": "x"}
    file.write_text(json.dumps(theirs, indent=2))
    apply(installed(tool, environment, Started(("/old/reel",)), hooks=True))
    apply(installed(tool, environment, STARTED, hooks=True))
    found = json.loads(file.read_text())["hooks"]
    ours = [{"type": "command", "command": "/opt/reel mcp --hook claude-code"}]
    apply(uninstalled(tool, environment))

    assert [{"matcher": "compact", "hooks": ours}] == found["SessionStart"]
    assert [*theirs["hooks"]["PreCompact"], {"hooks": ours}] == found["PreCompact"]  # type: ignore[index]
    assert theirs == json.loads(file.read_text())


def test_a_shared_skill(tmp_path: Path) -> None:
    """The skill that several tools read stays until the last of them is taken back."""
    environment = {"HOME": str(tmp_path)}
    pi, codex = (tool for tool in TOOLS if tool.name in ("pi", "codex"))
    for tool in (pi, codex):
        apply(installed(tool, environment, STARTED, hooks=False))
    place = tmp_path / ".agents/skills/reel-recall/SKILL.md"
    apply(uninstalled(pi, environment))
    assert skill() == place.read_text()
    apply(uninstalled(codex, environment))
    assert not place.exists()


def test_the_skill() -> None:
    """The skill has the head that tools look for, is short, and names tools that there are."""
    head, body = skill().removeprefix("---\n").split("\n---\n", 1)
    called = {word for line in body.splitlines() if line.startswith("| ") for word in line.split("`")[1::2]}

    assert head.startswith("name: reel-recall\ndescription: ")
    assert len(skill()) < 2000
    assert {"search", "read", "conversations", "lost", "note"} == {tool.name for tool in CALLED} & called


def test_what_cannot_be_changed(tmp_path: Path) -> None:
    """A file that is not understood is named, with the reason, and nothing is planned."""
    (tool,) = (tool for tool in TOOLS if tool.name == "zed")
    file = tool.file({"HOME": str(tmp_path)})
    file.parent.mkdir(parents=True)
    file.write_text("{ oops")

    with pytest.raises(Refused, match="was not changed: it is not JSON"):
        installed(tool, {"HOME": str(tmp_path)}, STARTED, hooks=False)


def test_what_is_shown(tmp_path: Path) -> None:
    """A person sees the file and the lines that change."""
    (tool,) = (tool for tool in TOOLS if tool.name == "cursor")
    (change,) = installed(tool, {"HOME": str(tmp_path)}, Started(("reel",)), hooks=False)

    assert f"{tmp_path}/.cursor/mcp.json (new)" == next(iter(lines_of(change)))
    assert '  +      "command": "reel",' in list(lines_of(change))
