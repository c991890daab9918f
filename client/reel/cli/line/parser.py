"""The argument parsers and the help, made from the table of commands."""

from __future__ import annotations

import argparse
import os

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import InvalidValue, UsageError
from reel.cli.line.command import COMMON, Command, Option, common_options, particular_options
from reel.version import VERSIONS

if TYPE_CHECKING:
    from typing import Any, NoReturn

_UNKNOWN = "unrecognized arguments: "


class _Help(argparse.RawDescriptionHelpFormatter):
    """A formatter with a given width; argparse would import shutil to determine it, once per argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error, where argparse would print three lines and exit."""

    command = ""

    def error(self, message: str) -> NoReturn:
        if message.startswith(_UNKNOWN):
            from reel.cli.line.suggestions import like_argument  # noqa: PLC0415 - only after a typing error

            words = message.removeprefix(_UNKNOWN)
            message = f"{_UNKNOWN}{words}{like_argument(words.split()[0], self._option_string_actions)}"
        raise UsageError(message.removeprefix("argument "), self.command)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except InvalidValue as error:
            raise argparse.ArgumentError(action, str(error)) from None

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            from reel.cli.line.suggestions import like  # noqa: PLC0415 - only after a typing error

            choices = [str(choice) for choice in action.choices]
            wrong = f"{value!r} is not one of {', '.join(choices)}{like(str(value), choices)}"
            raise argparse.ArgumentError(action, wrong)


class _TopParser(_Parser):
    """The parser of ``reel`` itself. Its help has every command, so it is made only if it is printed."""

    def format_help(self) -> str:
        from reel.cli.line.overview import CLOSING, DESCRIPTION, listing  # noqa: PLC0415 - a command that runs needs one row

        self.description, self.epilog = f"{DESCRIPTION}\n\n{listing()}", CLOSING
        return super().format_help()


def top_parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments up to and including the command's name."""
    parser = _TopParser(
        prog="reel",
        usage="reel [options] COMMAND ...",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=VERSIONS,
        help="print the versions (reel status prints the daemon's)",
    )
    for flags, details in COMMON:
        parser.add_argument(*flags, **{**details, "default": None})
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def command_parser(command: Command) -> argparse.ArgumentParser:
    """Return the parser of the arguments after a command's name."""
    usage = f"reel {command.name} {command.positionals}".rstrip() + " [options]"
    about = sentence(command.summary) + (f"\n\n{command.notes}" if command.notes else "")
    parser = _Parser(
        prog=f"reel {command.name}",
        usage=usage,
        description=about,
        epilog=f"example:\n  {command.example}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.command = command.name
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.set_defaults(agent=None)
    for flags, details in particular_options(command):
        parser.add_argument(*flags, **details)
    for flags, details in common_options(command):
        # Without a default, which would undo what came before the name of the command.
        parser.add_argument(*flags, **{**details, "default": argparse.SUPPRESS})
    return parser


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


def _width() -> int:
    try:
        return min(int(os.environ.get("COLUMNS") or os.get_terminal_size().columns) or 80, 100)
    except (ValueError, OSError):
        return 80
