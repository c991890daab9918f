"""An error about a word that does not exist says which one was meant."""

import pytest

from reel.cli.line.suggestions import like, like_argument, like_command
from reel.cli.line.table import command_names


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("shw", " (did you mean show?)"),
        ("tail", " (did you mean follow?)"),
        ("rm", " (did you mean kill?)"),
        ("fork", " (did you mean clone?)"),
        ("cat", " (did you mean show?)"),
        ("ps", " (did you mean list?)"),
        ("version", " (did you mean `reel --version`?)"),
        ("zzzzzz", ""),
        ("foo", ""),
        ("lst", " (did you mean list?)"),
        ("exprot", " (did you mean export?)"),
    ],
)
def test_command_that_does_not_exist(typed: str, meant: str) -> None:
    """Words that other programs use stand for our commands; other words for the one that is spelled most alike."""
    assert meant == like_command(typed, command_names())


def test_synonym_of_a_command_that_does_not_exist() -> None:
    """If the command that is meant does not exist, a command that is only spelled alike is not offered."""
    assert "" == like_command("grep", ["replay"])
    assert " (did you mean replay?)" == like_command("grepay", ["replay"])


def test_first_synonym_that_exists() -> None:
    """Of several commands that may be meant, the first that exists is offered."""
    assert " (did you mean chat?)" == like_command("talk", ["add", "chat"])
    assert " (did you mean add?)" == like_command("talk", ["add"])


def test_argument_with_a_value() -> None:
    """The value of an option does not count for its spelling."""
    assert " (did you mean --last?)" == like_argument("--lst=3", ["--last", "--at"])


def test_options_that_have_only_their_dashes_in_common() -> None:
    """An option that is not spelled alike is not offered."""
    assert "; put -- before arguments that begin with a dash" == like_argument("--last", ["--agent", "-a"])


@pytest.mark.parametrize(("typed", "meant"), [("open", " (did you mean openai-chat?)"), ("", ""), ("zz", "")])
def test_choice_that_is_typed_in_part(typed: str, meant: str) -> None:
    """The beginning of a choice is taken for it."""
    assert meant == like(typed, ["openai-chat", "openai-responses"])
