"""Records beside a conversation: notes, and the usage of answers."""

from tests.reel.importing.adding.test_conversation import commands, existing, note, said
from tests.reel.importing.adding.test_conversation import read as read_steps


def test_records_before_the_first_message() -> None:
    """They wait for the agent, and come first."""
    assert ["create tool/demo", "add note+u1 over 1"] == commands(note("n1"), said("u1"))


def test_records_that_are_there() -> None:
    """They are not added again."""
    made = read_steps(said("u1"), note("n1"), target=existing("u1", "n1"))

    assert (2, 0) == (made.known, made.writer.added)
