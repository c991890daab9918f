"""Options may come before, between and after the positional arguments."""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.line.arguments import UsageError
from reel.cli.line.command import Command, options_of
from reel.cli.line.options import Options
from reel.cli.line.parser import command_parser, top_parser
from reel.cli.line.parsing import find_command, name_of, parse_arguments, parse_beginning, split_at_dashes
from reel.cli.line.table import all_commands, command_names
from reel.reading.positions import FORMS
from reel.said.formats import ANSWERING_FORMATS, FORMATS


def parsed(*argv: str) -> Options:
    args = parse_beginning(argv)
    return parse_arguments(find_command(args.command), args)


@pytest.mark.parametrize(
    "argv",
    [
        ("--socket", "/s", "--json", "add", "demo", "hi", "--role", "user"),
        ("add", "demo", "--role", "user", "hi", "--socket", "/s", "--json"),
        ("add", "--role=user", "--json", "demo", "--socket=/s", "hi"),
    ],
)
def test_options_may_come_anywhere(argv: tuple[str, ...]) -> None:
    """--socket and --json are accepted before and after the command."""
    args = parsed(*argv)

    assert (["demo", "hi"], "user", "/s", True) == (args.words, args.role, args.socket, args.json)


@pytest.mark.parametrize("word", ["-", "-5", "- a list", "-x marks the spot"])
def test_texts_that_begin_with_a_dash(word: str) -> None:
    """An argument that cannot be an option is positional."""
    assert ["demo", word] == parsed("add", "demo", word).words


def test_after_two_dashes_everything_is_positional() -> None:
    """After -- any text is accepted."""
    assert (["add", "demo"], ["--role", "--"]) == split_at_dashes(["add", "demo", "--", "--role", "--"])
    assert (["add"], []) == split_at_dashes(["add"])


@pytest.mark.parametrize(
    ("argv", "expected", "command"),
    [
        (["shw"], "no command 'shw' (did you mean show?)", ""),
        (["zzzzzz"], "no command 'zzzzzz'", ""),
        (
            ["add", "-x"],
            "unrecognized arguments: -x; put -- before arguments that begin with a dash",
            "add",
        ),
        (["add", "--rol", "user"], "unrecognized arguments: --rol (did you mean --role?)", "add"),
        (
            ["render", "--format", "openai"],
            (f"--format: 'openai' is not one of {', '.join(FORMATS)} (did you mean openai-chat?)"),
            "render",
        ),
        (
            ["ingest", "--format", "ai-sdk"],
            f"--format: 'ai-sdk' is not one of {', '.join(ANSWERING_FORMATS)}",
            "ingest",
        ),
        (["show", "--at", "x"], f"--at: 'x' is not a position; write {FORMS}", "show"),
        (
            ["add", "--if-seq", "@last"],
            "--if-seq: '@last' would always be right; write the seq that you have read, such as 12",
            "add",
        ),
        (
            ["render", "--budget", "9" * 20],
            f"--budget: {'9' * 20} is out of range; the limit is 9007199254740991",
            "render",
        ),
        (["add", "--tool-call", "a"], "--tool-call: expected 3 arguments", "add"),
    ],
)
def test_wrong_usage_is_raised_with_its_command(argv: list[str], expected: str, command: str) -> None:
    """Nothing is printed; the error names the command whose help explains more."""
    with pytest.raises(UsageError) as caught:
        parsed(*argv)

    assert (expected, command) == (caught.value.message, caught.value.command)


FLAGS = sorted({flag for command in all_commands() for flags, _ in options_of(command) for flag in flags})
COMMON = [[], ["--json"], ["--timeout", "5"], ["--socket", "/s", "--no-start"], ["--timeout", "-1"], ["--socket=/s"]]
VALUES = [
    "12",
    "-5",
    "0.5",
    "@~2",
    "-",
    "a=b",
    "demo",
    "user",
    "tsv",
    "auto",
    "anthropic",
    "--json",
    "--help",
    "--role=user",
    "--nope",
    "-x",
]
WORDS = st.sampled_from([*FLAGS, *VALUES, "", "two words", "- a"])


def by_argparse(argv: list[str]) -> SimpleNamespace:
    args = top_parser().parse_args(argv, SimpleNamespace())
    return command_parser(find_command(args.command)).parse_intermixed_args(args.rest, args)


def outcome(parse: Callable[[list[str]], SimpleNamespace], argv: list[str]) -> Any:
    try:
        return vars(parse(argv))
    except UsageError as error:
        return error.message, error.command
    except SystemExit:
        return "help"


def _types(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the name of each option of a command, and its type as its row says it."""
    for option in options_of(command):
        details = option[1]
        action = details.get("action")
        read = details.get("type", str)
        kind = read.__annotations__["return"] if "type" in details else "str"
        if "nargs" in details:
            kind = f"list[{kind}]"
        if action == "append":
            kind = f"list[{kind}]"
        yield name_of(option), "bool" if action == "store_true" else f"{kind} | None"


def test_the_options_are_those_of_the_tables() -> None:
    """Each has one type, whichever command has it; a position is a number by the time that a command runs."""
    declared = {
        name: kind for name, kind in Options.__annotations__.items() if name not in ("command", "rest", "words")
    }
    words = {name for name, kind in declared.items() if kind.startswith(("Literal", "Dialect"))}
    given: dict[str, set[str]] = {}
    for command in all_commands():
        for name, kind in _types(command):
            given.setdefault(name, set()).add("int | None" if name in ("at", "since") else kind)

    assert {name: {"str | None" if name in words else kind} for name, kind in declared.items()} == given
    assert {False, None} == {getattr(Options, name) for name in declared}


@pytest.mark.slow
@given(st.sampled_from(COMMON), st.sampled_from(command_names()), st.lists(WORDS, max_size=6))
def test_the_short_way_reads_what_argparse_reads(before: list[str], command: str, after: list[str]) -> None:
    """Whether a command line is read with argparse or without, the result is the same."""
    argv = [*before, command, *after]

    assert outcome(by_argparse, argv) == outcome(lambda argv: parsed(*argv), argv)


@pytest.mark.parametrize(
    "argv", [("--socket", "/s", "add", "demo", "hi", "--create"), ("render", "-a", "demo", "--format", "anthropic")]
)
def test_most_command_lines_need_no_argparse(argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Options and values as they are listed are read the short way."""
    monkeypatch.setitem(sys.modules, "reel.cli.line.parser", None)

    assert {"words", "agent", "socket"} <= vars(parsed(*argv)).keys()
