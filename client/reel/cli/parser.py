"""The argument parsers and the help, made from the table of commands."""

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from reel.cli.arguments import UsageError, arity, number, text
from reel.cli.table import COMMANDS, ENVIRONMENT, EXIT_STATUSES, Command, Option, option
from reel.version import PROTOCOL, __version__

DESCRIPTION = """\
Talk to reeld, the daemon that owns the conversations of LLM agents.
An agent is one named conversation and the task that owns it."""

AGENT_RULE = """\
AGENT is a name, a prefix of a name that no other agent's name begins with, or
an id. A script that changes something must give the whole name. `-a AGENT`
names it; otherwise, if $REEL_AGENT is set and the other arguments make sense
without an agent, it is that one; otherwise it is the first argument. So `reel
add "hi"` adds to $REEL_AGENT, while `reel add demo "hi"` and `reel show demo`
mean demo, whether it is set or not. If a single argument may be the agent or
what comes after it, reel chooses so that nothing is lost (`git diff | reel
add demo`), or refuses."""

_COMMON = (
    option("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON (lists as JSON Lines)"),
    option("--socket", metavar="PATH", default=argparse.SUPPRESS, help="the daemon's socket"),
)
_AGENT = (option("-a", "--agent", metavar="AGENT", type=text, help="the agent, instead of the first argument"),)
_WRITES = (option("--if-seq", metavar="SEQ", type=number, help="only if nothing has happened to the agent since SEQ"),)


class _Help(argparse.RawDescriptionHelpFormatter):
    """A formatter that is told its width; argparse would import shutil to find it out, once per argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error, where argparse would print three lines and exit."""

    command = ""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "), self.command)


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments at ``--``; what comes after it is positional."""
    given = list(argv)
    if "--" not in given:
        return given, []
    end = given.index("--")
    return given[:end], given[end + 1 :]


def top_parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments up to and including the command's name."""
    parser = _parser("reel", "reel [--socket PATH] [--json] COMMAND ...", f"{DESCRIPTION}\n\n{_listing()}", _epilog())
    parser.add_argument(
        "--version",
        action="version",
        version=f"reel {__version__}, protocol {PROTOCOL}",
        help="print the versions (reel status prints the daemon's)",
    )
    parser.add_argument("--socket", metavar="PATH", help="the daemon's socket")
    parser.add_argument("--json", action="store_true", help="print JSON (lists as JSON Lines)")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def command_parser(command: Command) -> argparse.ArgumentParser:
    """Return the parser of the arguments after a command's name."""
    usage = f"reel {command.name} {command.positionals}".rstrip() + " [options]"
    about = sentence(command.summary) + (f"\n\n{command.notes}" if command.notes else "")
    parser = _parser(f"reel {command.name}", usage, about, f"example:\n  {command.example}")
    parser.command = command.name
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.set_defaults(agent=None)
    for flags, details in options_of(command):
        parser.add_argument(*flags, **details)
    return parser


def options_of(command: Command) -> tuple[Option, ...]:
    """Return every option of a command except ``--help``: its own, and those that it shares with others."""
    agent = _AGENT if arity(command.positionals).agent else ()
    return (*command.options, *agent, *(_WRITES if command.writes else ()), *_COMMON)


def common_options() -> tuple[Option, ...]:
    """Return the options that every command has, and that may come before its name."""
    return _COMMON


def usage_of(option: Option) -> str:
    """Return an option with its arguments, such as ``--at SEQ``."""
    flags, details = option
    takes = details.get("metavar", "|".join(details.get("choices", ())))
    return " ".join([", ".join(flags), *([takes] if isinstance(takes, str) else takes)]).rstrip()


def examples_of(command: Command) -> list[str]:
    """Return a command's examples, one per line."""
    return [line.removeprefix("  ") for line in command.example.split("\n")]


def sentence(summary: str) -> str:
    """Return a summary from the table as a sentence."""
    return f"{summary[0].upper()}{summary[1:]}."


def find_command(name: str) -> Command:
    """Return the command of this name.

    Raises:
        UsageError: there is no such command.
    """
    for command in COMMANDS:
        if command.name == name:
            return command
    from difflib import get_close_matches  # noqa: PLC0415 - only after a typing error

    close = get_close_matches(name, [command.name for command in COMMANDS], n=1)
    raise UsageError(f"no command {name!r}" + (f" (did you mean {close[0]}?)" if close else ""))


def _parser(prog: str, usage: str, description: str, epilog: str) -> _Parser:
    return _Parser(
        prog=prog,
        usage=usage,
        description=description,
        epilog=epilog,
        formatter_class=_Help,
        allow_abbrev=False,
    )


def _listing() -> str:
    rows = [f"  {command.name:<11}{command.positionals:<17}{command.summary}" for command in COMMANDS]
    return "commands:\n" + "\n".join(rows)


def _epilog() -> str:
    """Return what the help prints below the commands."""
    environment = "\n".join(f"  {name:<14}{about}" for name, about in ENVIRONMENT)
    statuses = "\n".join(f"  {status:<14}{about}" for status, about in EXIT_STATUSES)
    more = "Each command has its own help: reel add --help"
    return f"{AGENT_RULE}\n\nenvironment:\n{environment}\n\nexit status:\n{statuses}\n\n{more}"


def _width() -> int:
    try:
        return min(int(os.environ.get("COLUMNS") or os.get_terminal_size().columns) or 80, 100)
    except (ValueError, OSError):
        return 80
