"""What a table says of a command, and the options that commands of several groups have."""

from __future__ import annotations

from reel.cli.positions import position
from reel.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, TypeAlias

Option: TypeAlias = "tuple[tuple[str, ...], dict[str, Any]]"


class Command(NamedTuple):
    """A command of ``reel``."""

    name: str
    # Its positional arguments, such as "[AGENT] [TEXT]"; reel.cli.arguments says what they mean.
    positionals: str
    summary: str
    # module.function in reel.cli; the module is imported when the command runs.
    function: str
    example: str
    options: tuple[Option, ...] = ()
    # Options that take the place of the argument after the agent.
    replaces_text: tuple[str, ...] = ()
    writes: bool = False
    notes: str = ""
    # Whether the command is about all agents if none is named.
    agent_optional: bool = False
    # Whether the command runs even if the path of the socket is unknown, or reel.toml is wrong.
    without_socket: bool = False
    # Whether the command starts the daemon if none runs.
    starts_daemon: bool = True


def option(*flags: str, **details: Any) -> Option:
    """Return an option as ``add_argument`` takes it: its flags, and the keyword arguments."""
    return flags, details


def at(summary: str) -> Option:
    """Return the option for a position in an agent's past."""
    return option("--at", metavar="SEQ", type=position, help=summary)


CREATE = option("--create", action="store_true", help="create the agent if it does not exist")
