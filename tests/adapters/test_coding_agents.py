"""``reel mcp`` in the real programs: each starts it from the file that ``--install`` wrote, and calls its tools.

The inspector is the program with which its makers try servers.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.fake_provider import provider
from tests.daemon import Daemon, until_indexed
from tests.patience import PATIENCE

REEL = [sys.executable, "-c", "from reel.cli import process; process()"]
SAID = "The gateway has port 8124."
CALLS: Sequence[tuple[str, dict[str, Any]]] = (("search", {"query": "gateway"}), ("conversations", {}), ("lost", {}))


@pytest.fixture
def home(daemon: Daemon, tmp_path: Path) -> Mapping[str, str]:
    """The environment of a person whose project has an earlier conversation."""
    project = tmp_path / "project"
    project.mkdir()
    with daemon.client() as client:
        client.create(f"earlier-{tmp_path.name}", tags={"cwd": str(project)})
        client.add(f"earlier-{tmp_path.name}", {"role": "assistant", "content": SAID})
        until_indexed(client)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "REEL_SOCKET": daemon.socket}


def run(command: list[str], environment: Mapping[str, str], project: Path) -> str:
    """Run a program to its end, and return what it printed."""
    ran = subprocess.run(
        command,
        check=False,
        env=environment,
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert 0 == ran.returncode, ran.stdout + ran.stderr
    return ran.stdout


def test_claude_code(home: Mapping[str, str], tmp_path: Path) -> None:
    """Claude Code calls each tool, and its own session is found by its environment."""
    if shutil.which("claude") is None:
        pytest.skip("claude is not installed")
    run([*REEL, "mcp", "--install", "claude-code", "--yes"], home, tmp_path)
    with provider([(f"mcp__reel__{name}", given) for name, given in CALLS]) as server:
        own = {"ANTHROPIC_BASE_URL": server.address, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1"}
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        command = ["claude", "-p", "--dangerously-skip-permissions", "Which port has the gateway?"]
        run(command, {**home, **own, **quiet}, tmp_path / "project")
        asked = server.asked[-1]

    assert SAID in asked
    assert "Claude Code names it in the environment" in asked


def test_codex(home: Mapping[str, str], tmp_path: Path) -> None:
    """Codex calls each tool, and its own session is found by what it says with the call."""
    if shutil.which("codex") is None:
        pytest.skip("codex is not installed")
    with provider([(f"mcp__reel/{name}", given) for name, given in CALLS]) as server:
        settings = tmp_path / ".codex/config.toml"
        settings.parent.mkdir()
        settings.write_text(
            'model = "gpt-5.5-codex"\nmodel_provider = "fake"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.fake]\nname = "Fake"\n'
            f'base_url = "{server.address}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        )
        run([*REEL, "mcp", "--install", "codex", "--yes"], home, tmp_path)
        command = ["codex", "exec", "--skip-git-repo-check", "Which port has the gateway?"]
        run(command, {**home, "OPENAI_API_KEY": "none"}, tmp_path / "project")
        asked = server.asked[-1]

    assert SAID in asked
    assert "Codex names it with the call" in asked


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (["tools/list"], "Search earlier conversations"),
        (["tools/call", "--tool-name", "search", "--tool-arg", "query=gateway"], SAID),
        (["resources/list"], "reel://conversation/earlier-"),
        (["resources/templates/list"], "reel://conversation/{+name}"),
        (["prompts/list"], "recall"),
        (["prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=gateway"], SAID),
    ],
)
def test_the_inspector(home: Mapping[str, str], tmp_path: Path, call: list[str], expected: str) -> None:
    """The inspector takes what it gets for what the protocol says."""
    if shutil.which("mcp-inspector") is None:
        pytest.skip("mcp-inspector is not installed")
    settings = tmp_path / "servers.json"
    server: dict[str, Any] = {"command": REEL[0], "args": [*REEL[1:], "mcp"], "env": dict(home)}
    settings.write_text(json.dumps({"mcpServers": {"reel": server}}))
    command = ["mcp-inspector", "--cli", "--config", str(settings), "--server", "reel", "--method", *call]

    assert expected in run(command, home, tmp_path / "project")
