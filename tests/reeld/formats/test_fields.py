"""Reading the fields of a body."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.providers.elements import require_list, require_map, require_str
from reeld.formats.fields import raise_provider_error, report_unused_keys, require_history, response_metadata


@pytest.mark.parametrize(
    ("take", "value", "message"),
    [
        (require_str, 5, "a.b: expected a string, got an integer"),
        (require_map, [], "a.b: expected an object, got a list"),
        (require_list, None, "a.b: expected an array, got null"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_place(take: Any, value: Any, message: str) -> None:
    """The error has the path of the value."""
    with pytest.raises(InvalidMessage) as caught:
        take(value, "a.b")

    assert (message, "a.b") == (caught.value.message, caught.value.data["field"])


def test_a_value_of_the_right_type_is_returned() -> None:
    """It is the very same value."""
    assert ("x", {}, []) == (require_str("x", ""), require_map({}, ""), require_list([], ""))


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, "is missing; a request of Gemini's has one"), ([], "is empty; a history has at least one item")],
)
def test_a_request_without_a_history_is_refused(value: Any, why: str) -> None:
    """A single item may come without a list."""
    with pytest.raises(InvalidMessage) as caught:
        require_history(value, "contents", "Gemini's")

    assert (f"contents: {why}", "contents") == (caught.value.message, caught.value.data["field"])
    assert [{}] == require_history({}, "contents", "Gemini's")


@pytest.mark.parametrize("error", [{"message": "Rate limit reached"}, "Rate limit reached"])
def test_the_error_of_a_provider_is_quoted(error: Any) -> None:
    """An error body is refused with the provider's own message."""
    with pytest.raises(InvalidMessage, match=r"error: the provider refused: Rate limit reached"):
        raise_provider_error({"error": error})


def test_a_null_error_is_no_error() -> None:
    """A body with a null error is an answer."""
    raise_provider_error({"error": None, "id": "x"})


def test_unused_keys_have_a_report_line_each() -> None:
    """Every key of a request that is not part of its history is named."""
    report = report_unused_keys({"messages": [], "tools": [], "n": 1}, ("messages",))

    assert [(None, None, "dropped")] * 2 == [change[:3] for change in report]
    assert ["tools", "n"] == [change.why.split()[0] for change in report]


def test_null_metadata_are_left_out() -> None:
    """What a provider left out is not stored."""
    assert {"provider": "openai", "model": "m"} == response_metadata("openai", {"a": None}, (), model="m", usage=None)
