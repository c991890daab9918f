"""The tools that can start the server: where each keeps which settings, and in what form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple

Environment: TypeAlias = Mapping[str, str]

NAME = "reel"
# The events of Claude Code and Codex, with the part of each that is meant.
_HOOKS = {"SessionStart": "compact", "PreCompact": "", "SessionEnd": ""}


class Started(NamedTuple):
    """How the server is started: the program with its first arguments, the options, and variables that it needs."""

    program: tuple[str, ...]
    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}

    @property
    def arguments(self) -> list[str]:
        """What follows the name of the program."""
        return [*self.program[1:], "mcp", *self.options]


class Hooks(NamedTuple):
    """Where a tool's hooks are, and which events are of use: each with a matcher, empty for all.

    ``then`` is what a person does after it, if anything.
    """

    file: Callable[[Environment], Path]
    events: Mapping[str, str]
    then: str = ""


class Wired(NamedTuple):
    """A tool.

    Args:
        name: its name on the command line.
        title: its name for people.
        file: where its settings are.
        keys: the keys that lead to the server, in the settings.
        entry: returns the value there.
        skills: the directory of its skills; ``None`` if it has none.
        hooks: its hooks, if it has any.
    """

    name: str
    title: str
    file: Callable[[Environment], Path]
    keys: tuple[str, ...]
    entry: Callable[[Started], dict[str, Any]]
    skills: Callable[[Environment], Path] | None = None
    hooks: Hooks | None = None


def _home(environment: Environment) -> Path:
    return Path(environment.get("HOME") or "~").expanduser()


def _under(variable: str, usual: str, *names: str) -> Callable[[Environment], Path]:
    """Return what finds a file in the directory of a variable, or in the usual one below the home directory."""
    return lambda environment: Path(environment.get(variable) or _home(environment) / usual, *names)


def _desktop(linux: str, mac: str) -> Callable[[Environment], Path]:
    """Return what finds a file of a program with windows."""
    import sys  # noqa: PLC0415 - the only use

    if sys.platform == "darwin":
        return lambda environment: _home(environment) / "Library/Application Support" / mac
    return _under("XDG_CONFIG_HOME", ".config", linux)


def _claude_code(environment: Environment) -> Path:
    return Path(environment.get("CLAUDE_CONFIG_DIR") or _home(environment)) / ".claude.json"


def _opencode(environment: Environment) -> Path:
    directory = _under("XDG_CONFIG_HOME", ".config", "opencode")(environment)
    return directory / ("opencode.jsonc" if (directory / "opencode.jsonc").exists() else "opencode.json")


def _plain(started: Started, **more: Any) -> dict[str, Any]:
    entry = {"command": started.program[0], "args": started.arguments, **more}
    return {**entry, "env": dict(started.variables)} if started.variables else entry


def _stdio(started: Started) -> dict[str, Any]:
    return {"type": "stdio", **_plain(started)}


def _local(started: Started) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": [started.program[0], *started.arguments], "enabled": True}
    return {**entry, "environment": dict(started.variables)} if started.variables else entry


# Codex, opencode, Gemini CLI and pi all look there.
_SHARED_SKILLS = _under("", ".agents", "skills")
_MCP_SERVERS = ("mcpServers", NAME)

TOOLS = (
    Wired(
        "claude-code",
        "Claude Code",
        _claude_code,
        _MCP_SERVERS,
        _stdio,
        _under("CLAUDE_CONFIG_DIR", ".claude", "skills"),
        Hooks(_under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), _HOOKS),
    ),
    Wired(
        "codex",
        "Codex",
        _under("CODEX_HOME", ".codex", "config.toml"),
        ("mcp_servers", NAME),
        _plain,
        _SHARED_SKILLS,
        Hooks(_under("CODEX_HOME", ".codex", "hooks.json"), _HOOKS, "Codex asks whether to trust the hooks then."),
    ),
    Wired("opencode", "opencode", _opencode, ("mcp", NAME), _local, _SHARED_SKILLS),
    Wired(
        "gemini-cli",
        "Gemini CLI",
        _under("", ".gemini", "settings.json"),
        _MCP_SERVERS,
        _plain,
        _SHARED_SKILLS,
        Hooks(_under("", ".gemini", "settings.json"), {"PreCompress": "", "SessionEnd": ""}),
    ),
    Wired(
        "pi",
        "pi",
        _under("", ".pi/agent", "mcp.json"),
        _MCP_SERVERS,
        lambda started: _plain(started, exposure="direct"),
        _SHARED_SKILLS,
    ),
    Wired("cursor", "Cursor", _under("", ".cursor", "mcp.json"), _MCP_SERVERS, _plain),
    Wired("vscode", "VS Code", _desktop("Code/User/mcp.json", "Code/User/mcp.json"), ("servers", NAME), _stdio),
    Wired("zed", "Zed", _under("XDG_CONFIG_HOME", ".config", "zed/settings.json"), ("context_servers", NAME), _plain),
    Wired(
        "claude-desktop",
        "Claude Desktop",
        _desktop("Claude/claude_desktop_config.json", "Claude/claude_desktop_config.json"),
        _MCP_SERVERS,
        _plain,
    ),
)
