"""What reading a body shares between the providers."""

from typing import Any

import pytest

from reel.errors import InvalidMessage
from reeld.formats.fields import (
    raise_provider_error,
    report_unused_keys,
    require_history,
    require_list,
    require_map,
    require_str,
    response_metadata,
)


@pytest.mark.parametrize(
    ("take", "value", "message"),
    [
        (require_str, 5, "a.b: expected a string, got an integer"),
        (require_map, [], "a.b: expected an object, got a list"),
        (require_list, None, "a.b: expected an array, got null"),
    ],
)
def test_a_wrong_type_names_its_place(take: Any, value: Any, message: str) -> None:
    """What is of the wrong type is refused with the path of it."""
    with pytest.raises(InvalidMessage) as caught:
        take(value, "a.b")

    assert (message, "a.b") == (caught.value.message, caught.value.data["field"])


def test_the_right_types_pass() -> None:
    """What is of the right type is given as it is."""
    assert ("x", {}, []) == (require_str("x", ""), require_map({}, ""), require_list([], ""))


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, "is missing; a request of Gemini's has one"), ([], "is empty; a history has at least one item")],
)
def test_a_request_has_a_history(value: Any, why: str) -> None:
    """A body without one is for another API, or has nothing to load; one entry may stand without a list."""
    with pytest.raises(InvalidMessage) as caught:
        require_history(value, "contents", "Gemini's")

    assert (f"contents: {why}", "contents") == (caught.value.message, caught.value.data["field"])
    assert [{}] == require_history({}, "contents", "Gemini's")


@pytest.mark.parametrize("error", [{"message": "Rate limit reached"}, "Rate limit reached"])
def test_an_error_is_quoted(error: Any) -> None:
    """A provider's error is no answer; what it said is in ours."""
    with pytest.raises(InvalidMessage, match=r"error: the provider did not answer: Rate limit reached"):
        raise_provider_error({"error": error})


def test_no_error() -> None:
    """A null error is none."""
    raise_provider_error({"error": None, "id": "x"})


def test_what_is_left_to_extra_is_named() -> None:
    """Every key of a request that is no history has a line of its own."""
    report = report_unused_keys({"messages": [], "tools": [], "n": 1}, ("messages",))

    assert [(None, None, "dropped")] * 2 == [change[:3] for change in report]
    assert ["tools", "n"] == [change.why.split()[0] for change in report]


def test_what_an_answer_does_not_say() -> None:
    """Nulls are no metadata."""
    assert {"provider": "openai", "model": "m"} == response_metadata("openai", model="m", usage=None)
