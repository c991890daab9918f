"""Arguments as an object and as text, and what can be sent as JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.values import clean
from reel.providers.json_values import arguments_as_object, arguments_as_text, is_sendable

DEEP = '{"a":' * 5000 + "1" + "}" * 5000


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1.0}', {"a": 1.0}),
        ("", {}),
        (" ", {"INVALID_JSON": " "}),
        ("[]", {"INVALID_JSON": "[]"}),
        ('{"a":', {"INVALID_JSON": '{"a":'}),
        ('{"a": NaN}', {"INVALID_JSON": '{"a": NaN}'}),
        ('{"a": 1e999}', {"INVALID_JSON": '{"a": 1e999}'}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        (DEEP, {"INVALID_JSON": DEEP}),
        ('{"a":[[1]]}', {"a": [[1]]}),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_that_are_no_object_are_wrapped(arguments: str, expected: Any) -> None:
    """Their text is kept under INVALID_JSON."""
    assert expected == arguments_as_object(arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1.0}', '{"a": 1.0}'),
        ("", "{}"),
        ("[]", '{"INVALID_JSON":"[]"}'),
        ('{"INVALID_JSON": 1}', '{"INVALID_JSON": 1}'),
        (r'{"a": "\u00e9\n\ud83d\ude00"}', r'{"a": "\u00e9\n\ud83d\ude00"}'),
        ('{"a":"\\ud800"}', '{"a":"\ufffd"}'),
    ],
)
def test_arguments_as_text_are_the_stored_text(arguments: str, expected: str) -> None:
    """The text of an object is sent as it is stored."""
    assert expected == arguments_as_text(arguments)


@given(st.text().map(lambda given: clean(given)[0]))
def test_any_stored_arguments_can_be_sent(arguments: str) -> None:
    """Whatever a model wrote, both forms are of the same object."""
    assert (
        arguments_as_object(arguments)
        == arguments_as_object(arguments_as_text(arguments))
        == json.loads(arguments_as_text(arguments))
    )


def test_deep_values_and_infinite_numbers_cannot_be_sent() -> None:
    """A parser of some provider would refuse them."""
    assert is_sendable([[]], 2)
    assert not is_sendable([[]], 1)
    assert not is_sendable([float("inf")])
