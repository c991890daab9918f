"""Reading the command line, without argparse if that is possible.

To import argparse and to make two parsers takes 6 of the 39 ms of `reel add` (CPU time, the least of 25 runs; Python
alone takes 10.5). Nearly every command line can do without: each of its arguments is an option as it is listed, the
value of one, or does not begin with a dash. As soon as an argument is anything else, such as ``--role=user``, ``-5`` or
a mistake, argparse reads them all again, and says what is wrong with them.
"""

from __future__ import annotations

from types import SimpleNamespace

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import InvalidValue, UsageError
from reel.cli.line.command import COMMON, common_options, particular_options
from reel.cli.line.options import Options
from reel.cli.line.table import SECOND_NAMES, command_names, look_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from reel.cli.line.command import Command, Option


class _Uncertain(Exception):
    """Only argparse can read this."""


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments at ``--``; what comes after it is positional."""
    given = list(argv)
    if "--" not in given:
        return given, []
    end = given.index("--")
    return given[:end], given[end + 1 :]


def find_command(name: str) -> Command:
    """Return the command of this name, which may be its second one.

    Raises:
        UsageError: there is no such command.
    """
    command = look_up(SECOND_NAMES.get(name, name))
    if command is None:
        from reel.cli.line.suggestions import like_command  # noqa: PLC0415 - only after a typing error

        raise UsageError(f"no command {name!r}{like_command(name, command_names())}")
    return command


def parse_beginning(argv: Sequence[str]) -> Options:
    """Return the common options up to the command's name, the name, and as ``rest`` what comes after it.

    Raises:
        UsageError: an option is wrong.
    """
    values: dict[str, Any] = dict.fromkeys(map(name_of, COMMON))
    words = iter(argv)
    try:
        first = next(_positional(words, COMMON, values), None)
    except _Uncertain:
        first = None
    if first is not None:
        return Options(**values, command=first, rest=[*words])
    from reel.cli.line.parser import top_parser  # noqa: PLC0415 - see above

    return Options(**vars(top_parser().parse_args(argv)))


def parse_arguments(command: Command, args: Options) -> Options:
    """Return the options of a command, and its positional arguments as ``words``.

    Args:
        command: the command.
        args: what :func:`parse_beginning` returned.

    Raises:
        UsageError: an option is wrong.
    """
    options = particular_options(command)
    values = {**vars(args), "agent": None, **{name_of(option): _default(option) for option in options}}
    try:
        words = [*_positional(iter(args.rest), (*options, *common_options(command)), values)]
    except _Uncertain:
        from reel.cli.line.parser import command_parser  # noqa: PLC0415 - see above

        # Not into options themselves, whose defaults would count as given.
        return Options(**vars(command_parser(command).parse_intermixed_args(args.rest, SimpleNamespace(**vars(args)))))
    return Options(**{**values, "words": words})


def _positional(words: Iterator[str], options: Iterable[Option], values: dict[str, Any]) -> Iterator[str]:
    """Yield the arguments that are neither options nor values of options, which go into ``values``."""
    known = {flag: option for option in options for flag in option[0]}
    for word in words:
        if not _looks_like_an_option(word):
            yield word
        elif word in known:
            _take(known[word], words, values)
        else:
            raise _Uncertain


def _take(option: Option, words: Iterator[str], values: dict[str, Any]) -> None:
    """Take the values of an option from the words after it."""
    _flags, details = option
    name, action, number = name_of(option), details.get("action"), details.get("nargs", 1)
    if action == "store_true":
        values[name] = True
        return
    given = [_value(next(words, None), details) for _ in range(number)]
    value = given if "nargs" in details else given[0]
    values[name] = [*(values[name] or ()), value] if action == "append" else value


def _value(word: str | None, details: dict[str, Any]) -> Any:
    if word is None or _looks_like_an_option(word):
        raise _Uncertain
    try:
        value = details.get("type", str)(word)
    except InvalidValue:
        raise _Uncertain from None
    if value not in details.get("choices", (value,)):
        raise _Uncertain
    return value


def _looks_like_an_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def name_of(option: Option) -> str:
    """Return the name under which argparse stores an option."""
    flags, details = option
    name: str = details.get("dest") or flags[-1].lstrip("-").replace("-", "_")
    return name


def _default(option: Option) -> bool | None:
    return False if option[1].get("action") == "store_true" else None
