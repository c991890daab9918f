"""``reel mcp`` in the real programs: each starts it from the file that ``--install`` wrote, and calls its tools.

The inspector is the program with which its makers try servers.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.adapters.programs import PACKAGES, program, search_path
from tests.adapters.scripted.answers import Use, Words
from tests.adapters.scripted_provider import Provider, scripted_provider
from tests.daemon import Daemon, until_indexed
from tests.patience import PATIENCE

REEL = [sys.executable, "-c", "from reel.cli import process; process()"]
SAID = "The gateway has port 8124."
DROPPED = "Ports below 1024 need root."
REMARK = "The gateway keeps its port."
_STREAMS = ["-p", "--dangerously-skip-permissions", "--verbose"]
_STREAMS += ["--input-format", "stream-json", "--output-format", "stream-json"]


class Person:
    """Somebody with a project in which there was an earlier conversation.

    Args:
        home: the home directory.
        daemon: the daemon.
    """

    def __init__(self, home: Path, daemon: Daemon) -> None:
        self.home = home
        self.project = home / "project"
        self.daemon = daemon
        self.earlier = f"earlier-{home.name}"
        kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ}
        path = {"PATH": search_path(os.environ["PATH"]), "HOME": str(home)}
        self.environment = {**kept, **path, "REEL_SOCKET": daemon.socket}

    def settings(self, file: str, text: str) -> None:
        """Write settings of a program, as they may be before ``--install``."""
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, command: Sequence[str], **more: str) -> str:
        """Run a program in the project to its end, and return what it printed."""
        ran = subprocess.run(
            command,
            check=False,
            env={**self.environment, **more},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert 0 == ran.returncode, ran.stdout + ran.stderr
        return ran.stdout

    @contextmanager
    def talk(self, command: Sequence[str], variables: Mapping[str, str]) -> Iterator[Callable[[str], None]]:
        """Run Claude Code on lines, for a block; what this gives says something, and waits until the turn has ended."""
        environment = {**self.environment, **variables}
        with subprocess.Popen(
            command, env=environment, cwd=self.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program:
            stdin, stdout = program.stdin, program.stdout
            assert stdin is not None
            assert stdout is not None

            def say(text: str) -> None:
                message = {"type": "user", "message": {"role": "user", "content": text}}
                stdin.write(f"{json.dumps(message)}\n")
                stdin.flush()
                while json.loads(stdout.readline())["type"] != "result":
                    pass

            yield say
            stdin.close()

    @property
    def calls(self) -> Mapping[str, tuple[str, dict[str, Any], str]]:
        """The calls of each tool, by what is asked: the tool, its arguments, and what its answer says."""
        name = self.earlier
        return {
            "hits": ("search", {"query": "gateway"}, SAID),
            "the end": ("read", {"conversation": name}, "These are the newest messages of"),
            "a list": ("conversations", {}, f"{name} ("),
            "what was dropped": ("lost", {"conversation": name}, DROPPED),
            "a remark": ("note", {"conversation": name, "text": REMARK}, f"of {name}. search finds it"),
            "its own session": ("lost", {}, "It is your own session: "),
        }


@pytest.fixture
def person(daemon: Daemon, tmp_path: Path) -> Person:
    """A person, whose earlier conversation was cleared in its middle."""
    made = Person(tmp_path, daemon)
    made.project.mkdir()
    with daemon.client() as client:
        client.create(made.earlier, tags={"cwd": str(made.project)})
        client.add(made.earlier, {"role": "assistant", "content": DROPPED})
        client.clear(made.earlier)
        client.add(made.earlier, {"role": "assistant", "content": SAID})
        until_indexed(client)
    return made


def installed(name: str) -> str:
    """Return the path of a program, or skip the test."""
    found = program(name)
    if found is None:
        pytest.skip(f"{name} is not installed; python -m tests.adapters.programs installs {PACKAGES[name]}")
    return found


def question(server: Provider, text: str, calls: Sequence[Use]) -> str:
    """Return a question, upon which the model calls some tools, one after the other."""
    return f"{text} {server.script(lambda _: [*([call] for call in calls), [Words('Done.')]])}"


def newest(server: Provider) -> str:
    """Return the newest request for an answer to a question."""
    return json.dumps([asked.body for asked in server.asked if asked.scripted][-1])


# Writes the settings of a program for a provider with this address, and returns a command that asks a question, with
# its variables.
Start = Callable[[str, str], tuple[Sequence[str], Mapping[str, str]]]


def use(person: Person, tool: str, called: str, start: Start) -> str:
    """Let a program call each tool, and return the last request of it, which has all answers.

    Args:
        person: whose program it is.
        tool: what ``--install`` calls the program.
        called: what the program calls a tool.
        start: starts it.
    """
    calls = [Use(called.format(name), given) for name, given, _ in person.calls.values()]
    with scripted_provider() as server:
        command, variables = start(server.address, question(server, "Which port has the gateway?", calls))
        person.run([*REEL, "mcp", tool, "--install", "--write", "--yes"], **variables)
        person.run(command, **variables)
        answers = newest(server)
    with person.daemon.client() as client:
        notes = [event["content"] for event in client.history(person.earlier, kinds=["note"]).events]

    assert [] == [asked for asked, (*_, said) in person.calls.items() if said not in answers], answers[-20_000:]
    assert [REMARK] == notes
    return answers


def _claude_variables(address: str) -> Mapping[str, str]:
    own = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1"}
    return {**own, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def test_claude_code(person: Person) -> None:
    """Claude Code calls each tool, and its own session is found by its environment."""
    claude = installed("claude")

    def start(address: str, text: str) -> tuple[Sequence[str], Mapping[str, str]]:
        return [claude, "-p", "--dangerously-skip-permissions", text], _claude_variables(address)

    assert "Claude Code names it" in use(person, "claude-code", "mcp__reel__{}", start)


def test_claude_code_after_a_clear(person: Person) -> None:
    """After /clear, the session is found in which Claude Code goes on, though the server is told the one before."""
    claude = installed("claude")
    person.run([*REEL, "mcp", "claude-code", "--install", "--yes"])
    # An import looks for new sessions every five seconds; until then, the answers are about the one before.
    calls = [Use("mcp__reel__lost", {})]
    with scripted_provider() as server, person.talk([claude, *_STREAMS], _claude_variables(server.address)) as say:
        say(question(server, "Hello?", calls))
        before = newest(server)
        say("/clear")
        began = monotonic()
        while "it began with /clear after" not in newest(server) and monotonic() < began + PATIENCE:
            say(question(server, "What was cleared?", calls))
        after = newest(server)

    assert "Claude Code names it in the environment" in before
    assert "it began with /clear after" in after


def test_codex(person: Person) -> None:
    """Codex calls each tool, and its own session is found by what it says with the call."""
    codex = installed("codex")

    def start(address: str, text: str) -> tuple[Sequence[str], Mapping[str, str]]:
        person.settings(
            ".codex/config.toml",
            'model = "gpt-5.5-codex"\nmodel_provider = "fake"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n[model_providers.fake]\nname = "Fake"\n'
            f'base_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n',
        )
        return [codex, "exec", "--skip-git-repo-check", text], {"OPENAI_API_KEY": "none"}

    assert "Codex names it with the call" in use(person, "codex", "mcp__reel/{}", start)


def test_gemini_cli(person: Person) -> None:
    """Gemini CLI calls each tool, and its own session is the one of the directory that is being written."""
    gemini = installed("gemini")
    settings = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    }

    def start(address: str, text: str) -> tuple[Sequence[str], Mapping[str, str]]:
        person.settings(".gemini/settings.json", json.dumps(settings))
        own = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": address}
        return [gemini, "-y", "-m", "gemini-2.5-pro", "-p", text], own

    assert "that is being written" in use(person, "gemini-cli", "mcp_reel_{}", start)


def test_opencode(person: Person) -> None:
    """opencode calls each tool, and its own session is the one of the directory that is being written."""
    opencode = installed("opencode")

    def start(address: str, text: str) -> tuple[Sequence[str], Mapping[str, str]]:
        limits = {"context": 200_000, "output": 8_000}
        fake = {
            "npm": "@ai-sdk/anthropic",
            "name": "Fake",
            "options": {"baseURL": f"{address}/v1", "apiKey": "none"},
            "models": {"fake-1": {"name": "Fake 1", "tool_call": True, "limit": limits}},
        }
        quiet = {"autoupdate": False, "share": "disabled", "permission": "allow"}
        models = {"model": "fake/fake-1", "small_model": "fake/fake-1", "provider": {"fake": fake}}
        person.settings(".config/opencode/opencode.json", json.dumps({**quiet, **models}))
        return [opencode, "run", text], {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    use(person, "opencode", "reel_{}", start)


def test_pi(person: Person) -> None:
    """Pi calls each tool, and its own session is the one of the directory that is being written."""
    pi = installed("pi")

    def start(address: str, text: str) -> tuple[Sequence[str], Mapping[str, str]]:
        model = {"id": "fake-1", "name": "Fake 1", "contextWindow": 200_000, "maxTokens": 8_000}
        fake = {"baseUrl": address, "api": "anthropic-messages", "apiKey": "none", "models": [model]}
        person.settings(".pi/agent/models.json", json.dumps({"providers": {"fake": fake}}))
        return [pi, "-p", "--offline", "--model", "fake/fake-1", text], {"PI_OFFLINE": "1"}

    assert "that is being written" in use(person, "pi", "mcp__reel__{}", start)


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
def test_the_inspector(person: Person, call: list[str], expected: str) -> None:
    """The inspector takes what it gets for what the protocol says."""
    inspector = installed("mcp-inspector")
    server: dict[str, Any] = {"command": REEL[0], "args": [*REEL[1:], "mcp"], "env": person.environment}
    person.settings("servers.json", json.dumps({"mcpServers": {"reel": server}}))
    command = [inspector, "--cli", "--config", str(person.home / "servers.json"), "--server", "reel"]

    assert expected in person.run([*command, "--method", *call])
