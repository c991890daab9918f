"""The index of commands: their names in groups, in the order of the help.

The parser, the help, the manual page, docs/cli.md and the completions are all made from it. The rows of a group are in
a module of their own: a command that runs needs one of them, and each costs half a millisecond.
"""

from __future__ import annotations

from importlib import import_module

from reel.base.light_typing import NamedTuple
from reel.cli.line.command import Command


class Group(NamedTuple):
    """Commands that belong together in the help."""

    title: str
    # In reel.cli.line.tables; its COMMANDS are the rows.
    module: str
    # The names of its commands, so that one is found without importing the other groups.
    names: tuple[str, ...]

    @property
    def commands(self) -> tuple[Command, ...]:
        """Its commands."""
        commands: tuple[Command, ...] = import_module(f"reel.cli.line.tables.{self.module}").COMMANDS
        return commands


GROUPS = (
    Group("write", "writing", ("new", "add", "edit", "draft")),
    Group(
        "read",
        "reading",
        (
            *("list", "search", "show", "follow", "wait", "info", "log", "files", "how"),
            *("usage", "diff", "blame", "tree", "view"),
        ),
    ),
    Group("go back", "going_back", ("undo", "redo", "mark", "rewind", "restore", "clear")),
    Group("copy, describe and end conversations", "agents", ("clone", "rename", "title", "tag", "kill", "revive")),
    Group("remove for good", "erasing", ("redact", "prune", "purge", "secrets")),
    Group("talk to a provider", "providers", ("ask", "chat", "attach", "compact", "setup", "render", "ingest", "load")),
    Group("bring in and take out", "histories", ("import", "pick", "continue", "originals", "export", "mcp")),
    Group(
        "look after the daemon",
        "daemon",
        (
            *("start", "stop", "status", "stats", "top", "doctor", "socket"),
            *("backup", "restore-backup", "copy", "verify", "replay"),
        ),
    ),
    Group("this command", "itself", ("help", "completion", "editor", "units")),
)


# What people who think of a shelf, or of a move, call some commands. The name in the table is the one that is shown.
SECOND_NAMES = {"archive": "kill", "unarchive": "revive", "migrate": "copy"}


def all_commands() -> tuple[Command, ...]:
    """Return every command, group by group."""
    return tuple(command for group in GROUPS for command in group.commands)


def command_names() -> list[str]:
    """Return the name of every command."""
    return [name for group in GROUPS for name in group.names]


def look_up(name: str) -> Command | None:
    """Return the command of a name, or ``None`` if there is no such command."""
    for group in GROUPS:
        if name in group.names:
            return group.commands[group.names.index(name)]
    return None
