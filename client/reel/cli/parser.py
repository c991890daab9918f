"""The arguments of a command, as argparse has them."""

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from reel.cli.arguments import UsageError, arity, number, text
from reel.cli.table import COMMANDS, Command, Option, option
from reel.version import PROTOCOL, __version__

DESCRIPTION = "Talk to reeld, the daemon that owns the conversations of LLM agents."

EPILOG = """\
AGENT is a name, the beginning of a name that no other agent's has, or an id
(a script that changes something has to give the whole name).
`-a AGENT` names it; else, where $REEL_AGENT is set and the words fit without
it, that one is meant; else the first word is it. So `reel add "hi"` adds to
$REEL_AGENT, while `reel add demo "hi"` and `reel show demo` mean demo, whether
it is set or not. One word that may be the agent or the word after it is taken
so that nothing is lost (`git diff | reel add demo`), or refused.

environment:
  REEL_AGENT    the agent that is meant where none is named
  REEL_SOCKET   the daemon's socket
  NO_COLOR      no colours
  PAGER         what shows a long conversation or log; less where it is not set
  EDITOR        what reel edit starts; VISUAL goes before it

exit status:
  0  done            1  refused, or failed    2  wrong usage
  3  no daemon runs  4  no such agent         5  conflict, as with --if-seq

Each command has its own help: reel add --help"""

_COMMON = (
    option("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON; lists: one a line"),
    option("--socket", metavar="PATH", default=argparse.SUPPRESS, help="the daemon's socket"),
)
_AGENT = (option("-a", "--agent", metavar="AGENT", type=text, help="the agent, in place of the first word"),)
_WRITES = (option("--if-seq", metavar="SEQ", type=number, help="only if the agent's head is still this seq"),)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Knows its width, so that argparse does not import shutil for each argument to find it out."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())


class _Parser(argparse.ArgumentParser):
    """Raises in one piece what argparse would print in three lines before it exits."""

    command = ""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.command)


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part the arguments at ``--``: whatever comes after it is a word."""
    given = list(argv)
    if "--" not in given:
        return given, []
    end = given.index("--")
    return given[:end], given[end + 1 :]


def top_parser() -> argparse.ArgumentParser:
    """Make the parser of what comes before and up to the command's name."""
    parser = _parser("reel", "reel [--socket PATH] [--json] COMMAND ...", f"{DESCRIPTION}\n\n{_listing()}", EPILOG)
    parser.add_argument(
        "--version",
        action="version",
        version=f"reel {__version__}, protocol {PROTOCOL}",
        help="print the versions; reel status has the daemon's",
    )
    parser.add_argument("--socket", metavar="PATH", help="the daemon's socket")
    parser.add_argument("--json", action="store_true", help="print JSON; lists: one a line")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def command_parser(command: Command) -> argparse.ArgumentParser:
    """Make the parser of what comes after a command's name."""
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
    """Give every option of a command but ``--help``: its own, and those that it shares with others."""
    agent = _AGENT if arity(command.positionals).agent else ()
    return (*command.options, *agent, *(_WRITES if command.writes else ()), *_COMMON)


def common_options() -> tuple[Option, ...]:
    """Give the options that every command has, and that may stand before it."""
    return _COMMON


def usage_of(option: Option) -> str:
    """Give an option with what it takes."""
    flags, details = option
    takes = details.get("metavar", "|".join(details.get("choices", ())))
    return " ".join([", ".join(flags), *([takes] if isinstance(takes, str) else takes)]).rstrip()


def examples_of(command: Command) -> list[str]:
    """Give a command's examples, one a line."""
    return [line.removeprefix("  ") for line in command.example.split("\n")]


def sentence(summary: str) -> str:
    """Make a sentence of what the table says."""
    return f"{summary[0].upper()}{summary[1:]}."


def find_command(name: str) -> Command:
    """Find a command.

    Raises:
        UsageError: there is none of this name.
    """
    for command in COMMANDS:
        if command.name == name:
            return command
    from difflib import get_close_matches  # noqa: PLC0415 - only who mistypes pays for it

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


def _width() -> int:
    try:
        return min(int(os.environ.get("COLUMNS") or os.get_terminal_size().columns) or 80, 100)
    except (ValueError, OSError):
        return 80
