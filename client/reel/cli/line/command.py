"""A command of ``reel`` as its table describes it, and its options: its own, and those that it shares with others."""

from __future__ import annotations

from keyword import iskeyword

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.line.arguments import arity, text, time_limit
from reel.cli.line.positions import absolute_position, position

if TYPE_CHECKING:
    from typing import Any, TypeAlias

Option: TypeAlias = "tuple[tuple[str, ...], dict[str, Any]]"


class Command(NamedTuple):
    """A command of ``reel``."""

    name: str
    # Its positional arguments, such as "[NAME] [TEXT]"; reel.cli.line.arguments says what they mean.
    positionals: str
    summary: str
    # In the command's file, which is imported when it runs.
    function: str
    example: str
    options: tuple[Option, ...] = ()
    # Options that take the place of the argument after the agent.
    replaces_text: tuple[str, ...] = ()
    writes: bool = False
    notes: str = ""
    # Whether the command is about all agents if none is named.
    agent_optional: bool = False
    # Whether a person who names no conversation may choose one.
    picks: bool = False
    # Whether the command runs even if the path of the socket is unknown, or reel.toml is wrong.
    without_socket: bool = False
    # Whether the command starts the daemon if none runs.
    starts_daemon: bool = True

    @property
    def module(self) -> str:
        """Its file in reel.cli.commands: its name, which may be a word of Python's."""
        name = self.name.replace("-", "_")
        return f"{name}_" if iskeyword(name) else name


def option(*flags: str, **details: Any) -> Option:
    """Return an option as ``add_argument`` takes it: its flags, and the keyword arguments."""
    return flags, details


def at(summary: str) -> Option:
    """Return the option for a position in an agent's past."""
    return option("--at", metavar="SEQ", type=position, help=summary)


CREATE = option("--create", action="store_true", help="create the conversation if it does not exist")
IF_STANDS = option(
    "--if-stands",
    metavar="SEQ",
    type=absolute_position,
    help="only if SEQ, which this answers, is in the conversation, under the same prompt",
)
# Every command has these, and they may come before its name.
COMMON = (
    option("--json", action="store_true", help="print JSON (lists as JSON Lines)"),
    option("--socket", metavar="PATH", help="the daemon's socket"),
    option("--no-start", action="store_true", help="do not start the daemon if none runs"),
    option(
        "--timeout",
        metavar="SECONDS",
        dest="time_limit",
        type=time_limit,
        help="how long the daemon may take to answer",
    ),
)
_AGENT = (option("-a", "--agent", metavar="NAME", type=text, help="the conversation, instead of the first argument"),)
_IF_SEQ = "only if nothing has happened to the conversation since SEQ"
_WRITES = (option("--if-seq", metavar="SEQ", type=absolute_position, help=_IF_SEQ),)


def options_of(command: Command) -> tuple[Option, ...]:
    """Return every option of a command except ``--help``: its own, and those that it shares with others."""
    return (*particular_options(command), *common_options(command))


def particular_options(command: Command) -> tuple[Option, ...]:
    """Return the options of a command that not every command has."""
    if not arity(command.positionals).agent:
        return command.options
    return (*command.options, *_AGENT, *(_WRITES if command.writes else ()))


def common_options(command: Command) -> tuple[Option, ...]:
    """Return the common options, without those whose names the command uses for options of its own."""
    own = {flag for flags, _ in command.options for flag in flags}
    return tuple(option for option in COMMON if own.isdisjoint(option[0]))
