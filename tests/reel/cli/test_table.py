"""Every row of the table of commands can be run and explained."""

import inspect
import re
from importlib import import_module

import pytest

from reel.cli.arguments import text
from reel.cli.command import Command
from reel.cli.parser import command_parser, top_parser
from reel.cli.table import GROUPS, Group, all_commands, look_up
from tests.documents import DOCS

each_command = pytest.mark.parametrize("command", all_commands(), ids=[command.name for command in all_commands()])


@pytest.mark.parametrize("group", GROUPS, ids=[group.module for group in GROUPS])
def test_index_names_the_rows_of_a_group(group: Group) -> None:
    """The index has the names of a group's rows, in their order."""
    assert [command.name for command in group.commands] == list(group.names)


@each_command
def test_command_is_found_by_its_name(command: Command) -> None:
    """The index finds the row of each command."""
    assert look_up(command.name) is command


def test_commands_that_do_not_start_the_daemon_are_documented() -> None:
    """docs/cli.md lists the commands that do not start the daemon."""
    documented = re.search(r"These\ndo not: (.*?)\.\n", (DOCS / "cli.md").read_text(), re.DOTALL)

    assert documented is not None
    assert {each.name for each in all_commands() if not each.starts_daemon} == set(
        re.findall(r"`([\w-]+)`", documented[1])
    )


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
    """The help lists every command in its group."""
    lines = top_parser().format_help().splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert [command.name for command in all_commands()] == [line.split()[0] for line in lines if _is_row(line)]
    assert {group.title for group in GROUPS} <= set(lines)


def _is_row(line: str) -> bool:
    return any(line.startswith(f"  {command.name} ") and line.endswith(command.summary) for command in all_commands())


@each_command
def test_options_in_the_table_exist(command: Command) -> None:
    """The options that a row refers to exist."""
    args = vars(command_parser(command).parse_intermixed_args([]))

    assert set(command.replaces_text) <= set(args)
    assert (command.writes and "[AGENT]" in command.positionals) == ("if_seq" in args)


@pytest.mark.parametrize(("argument", "expected"), [("é", "é"), ("a\udcff", "a\ufffd")])
def test_arguments_are_text(argument: str, expected: str) -> None:
    """Bytes that are not UTF-8 are replaced, as in the daemon."""
    assert expected == text(argument)
