"""Options may come before, between and after the positional arguments."""

from argparse import Namespace

import pytest

from reel.cli.arguments import UsageError
from reel.cli.parser import command_parser, find_command, split_at_dashes, top_parser
from reel.cli.positions import FORMS


def parsed(*argv: str) -> Namespace:
    args = top_parser().parse_args(argv)
    return command_parser(find_command(args.command)).parse_intermixed_args(args.rest, args)


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

    assert (args.words, args.role, args.socket, args.json) == (["demo", "hi"], "user", "/s", True)


@pytest.mark.parametrize("word", ["-", "-5", "- a list", "-x marks the spot"])
def test_texts_that_begin_with_a_dash(word: str) -> None:
    """An argument that cannot be an option is positional."""
    assert ["demo", word] == parsed("add", "demo", word).words


def test_after_two_dashes_everything_is_positional() -> None:
    """After -- any text is accepted."""
    assert split_at_dashes(["add", "demo", "--", "--role", "--"]) == (["add", "demo"], ["--role", "--"])
    assert split_at_dashes(["add"]) == (["add"], [])


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
            (
                "--format: 'openai' is not one of openai-chat, openai-responses, anthropic, gemini"
                " (did you mean openai-chat?)"
            ),
            "render",
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
