"""Which options a command takes: its own, and those that it shares with others."""

from __future__ import annotations

from reel.cli.arguments import arity, text, time_limit
from reel.cli.command import option
from reel.cli.positions import absolute_position
from reel.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reel.cli.command import Command, Option

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
_AGENT = (option("-a", "--agent", metavar="AGENT", type=text, help="the agent, instead of the first argument"),)
_IF_SEQ = "only if nothing has happened to the agent since SEQ"
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
