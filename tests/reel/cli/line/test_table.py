"""Every row of the table of commands can be run and explained."""

import inspect
import re
from importlib import import_module

import pytest

from reel.cli.line.arguments import InvalidValue, UsageError, text, words_of
from reel.cli.line.command import options_of
from reel.cli.line.names import UNLIMITED
from reel.cli.line.parser import command_parser, top_parser
from reel.cli.line.parsing import find_command
from reel.cli.line.table import GROUPS, Group, all_commands, look_up
from tests.documents import DOCS


@pytest.mark.parametrize("group", GROUPS, ids=[group.module for group in GROUPS])
def test_index_names_the_rows_of_a_group(group: Group) -> None:
    """The index has the names of a group's rows, in their order."""
    assert [command.name for command in group.commands] == list(group.names)


def test_command_is_found_by_its_name() -> None:
    """The index finds the row of each command."""
    for command in all_commands():
        assert look_up(command.name) is command


def test_commands_that_do_not_start_the_daemon_are_documented() -> None:
    """docs/cli.md lists the commands that do not start the daemon."""
    documented = re.search(r"These\ndo not: (.*?)\.\n", (DOCS / "cli.md").read_text(), re.DOTALL)

    assert documented is not None
    assert {each.name for each in all_commands() if not each.starts_daemon} == set(
        re.findall(r"`([\w-]+)`", documented[1])
    )


def test_commands_without_a_time_limit_are_documented() -> None:
    """docs/cli.md lists the commands that have no time limit in a script."""
    documented = re.search(r"limit is 60 seconds\. (.*?) have\s+none", (DOCS / "cli.md").read_text(), re.DOTALL)
    commands = {each.name for each in all_commands()}

    assert documented is not None
    assert UNLIMITED & commands == set(re.findall(r"`([\w-]+)`", documented[1]))


def test_function_of_each_command() -> None:
    """A row names a function in the file of the command, which takes a context."""
    for command in all_commands():
        function = getattr(import_module(f"reel.cli.commands.{command.module}"), command.function)

        assert ["ctx"] == list(inspect.signature(function).parameters), command.name


def test_no_option_has_an_optional_value() -> None:
    """An option takes a fixed number of arguments: it cannot take the agent for its value."""
    counts = {option[1].get("nargs", 1) for command in all_commands() for option in options_of(command)}

    assert {1, 2, 3} == counts


def test_help_fits_80_columns_and_has_an_example() -> None:
    """Each command's help has its usage and an example."""
    for command in all_commands():
        lines = command_parser(command).format_help().splitlines()

        assert f"usage: reel {command.name} {command.positionals}".rstrip() + " [options]" == lines[0]
        assert f"  {command.example.splitlines()[0]}" in lines
        assert [] == [line for line in lines if len(line) > 80]


def test_overview_fits_80_columns_and_lists_every_command() -> None:
    """The help lists every command in its group."""
    lines = top_parser().format_help().splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert [command.name for command in all_commands()] == [line.split()[0] for line in lines if _is_row(line)]
    assert {group.title for group in GROUPS} <= set(lines)


def _is_row(line: str) -> bool:
    return any(line.startswith(f"  {command.name} ") and line.endswith(command.summary) for command in all_commands())


def test_options_in_the_table_exist() -> None:
    """The options that a row refers to exist."""
    for command in all_commands():
        args = vars(command_parser(command).parse_intermixed_args([]))

        assert set(command.replaces_text) <= set(args), command.name
        assert (command.writes and "[NAME]" in command.positionals) == ("if_seq" in args), command.name


def test_arguments_are_text() -> None:
    """Bytes that are not UTF-8 are refused, with these bytes."""
    assert "é" == text("é")
    with pytest.raises(InvalidValue, match=r"b'caf\\xe9' is not UTF-8, so it is no text; convert it"):
        text("caf\udce9")


@pytest.mark.parametrize("positionals", ["[NAME] [FILE]", "[TOOL] [PATH...]", "DATABASE"])
def test_paths_are_any_bytes(positionals: str) -> None:
    """The name of a file need not be text."""
    assert ["a\udcff"] == words_of("load", positionals, ["a\udcff"])
    with pytest.raises(UsageError):
        words_of("add", "[NAME] [TEXT]", ["a\udcff"])


@pytest.mark.parametrize(("second", "first"), [("archive", "kill"), ("unarchive", "revive"), ("migrate", "copy")])
def test_second_names(second: str, first: str) -> None:
    """Some commands have a second name, which the help of the first one says."""
    assert first == find_command(second).name
    assert f"reel {second} is the same command." in " ".join(find_command(second).notes.split())
