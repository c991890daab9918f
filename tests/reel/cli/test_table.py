"""Every row of the table of commands can be run and explained."""

import inspect
from importlib import import_module

import pytest

from reel.cli.arguments import text
from reel.cli.parser import command_parser, top_parser
from reel.cli.table import COMMANDS, Command

each_command = pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])


@each_command
def test_function_of_each_command(command: Command) -> None:
    """A row names a function that takes a context."""
    module, _, name = command.function.partition(".")

    assert list(inspect.signature(getattr(import_module(f"reel.cli.{module}"), name)).parameters) == ["ctx"]


@each_command
def test_help_fits_80_columns_and_has_an_example(command: Command) -> None:
    """Each command's help has its usage and an example."""
    lines = command_parser(command).format_help().splitlines()

    assert f"usage: reel {command.name} {command.positionals}".rstrip() + " [options]" == lines[0]
    assert f"  {command.example.splitlines()[0]}" in lines
    assert all(len(line) <= 80 for line in lines)


def test_overview_fits_80_columns_and_lists_every_command() -> None:
    """The help lists every command and the exit statuses."""
    lines = top_parser().format_help().splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert [command.name for command in COMMANDS] == [line.split()[0] for line in lines if _is_row(line)]
    assert "exit status:" in lines


def _is_row(line: str) -> bool:
    return any(line.startswith(f"  {command.name} ") and line.endswith(command.summary) for command in COMMANDS)


@each_command
def test_options_in_the_table_exist(command: Command) -> None:
    """The options that a row refers to exist."""
    args = vars(command_parser(command).parse_intermixed_args([]))

    assert set(command.replaces_text) <= set(args)
    assert command.writes == ("if_seq" in args)


@pytest.mark.parametrize(("argument", "expected"), [("é", "é"), ("a\udcff", "a\ufffd")])
def test_arguments_are_text(argument: str, expected: str) -> None:
    """Bytes that are not UTF-8 are replaced, as in the daemon."""
    assert expected == text(argument)
