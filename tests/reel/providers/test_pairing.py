"""Pairing of calls and results without ids (rule X12)."""

import pytest

from reel.base.errors import InvalidMessage
from reel.providers.pairing import Pairing


def pairing() -> Pairing:
    """Return calls of two tools: one with an id, two without."""
    found = Pairing()
    found.add_call("c1", "look")
    found.add_call_without_id("made_1", "look", "messages[1]")
    found.add_call_without_id("made_2", "find", "messages[2]")
    return found


def test_a_result_with_an_id_answers_that_call() -> None:
    """The name of its tool does not matter."""
    assert "c1" == pairing().id_for_result("c1", "find", "at")


def test_a_result_with_a_made_up_id_answers_a_call_of_its_tool() -> None:
    """Only a call that came without an id: its client may have made one up."""
    assert "made_1" == pairing().id_for_result("other", "look", "at")


def test_a_result_with_only_a_name_answers_the_first_call_of_its_tool() -> None:
    """Each call is answered once."""
    calls = pairing()

    assert ["c1", "made_1"] == [calls.id_for_result(None, "look", "at") for _ in range(2)]


def test_results_without_id_and_name_answer_in_order() -> None:
    """If no call is left, the place of the result is its id."""
    calls = pairing()

    assert ["c1", "made_1", "made_2", "at"] == [calls.id_for_result("", None, "at") for _ in range(4)]


def test_calls_that_were_given_an_id_are_reported() -> None:
    """The line has the place and the new id."""
    assert ["messages[1] has no id; it is now the call made_1", "messages[2] has no id; it is now the call made_2"] == [
        change.why for change in pairing().report
    ]


def test_an_id_that_is_no_string_is_refused() -> None:
    """The error names its place."""
    with pytest.raises(InvalidMessage, match=r"^invalid_message: at: expected a string"):
        pairing().id_for_result(1, None, "at")


def test_calls_of_one_id_are_answered_in_order() -> None:
    """Each result answers one of them, and then none is left."""
    calls = Pairing()
    calls.add_call("c1", "look")
    calls.add_call("c1", "find")

    assert ["c1", "c1", "at"] == [
        calls.id_for_result("c1", None, "at"),
        calls.id_for_result(None, "find", "at"),
        calls.id_for_result(None, "find", "at"),
    ]
