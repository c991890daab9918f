"""Arguments as an object and as the text of one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.values import clean
from reeld.formats.json_values import arguments_as_object, arguments_as_text, is_sendable

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
def test_as_object(arguments: str, expected: Any) -> None:
    """What is no object is kept as it stands, under a name that says so."""
    assert expected == arguments_as_object(arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1.0}', '{"a": 1.0}'),
        ("", "{}"),
        ("[]", '{"INVALID_JSON":"[]"}'),
        ('{"INVALID_JSON": 1}', '{"INVALID_JSON":1}'),
        ('{"a":"\\ud800"}', '{"a":"\ufffd"}'),
    ],
)
def test_as_text(arguments: str, expected: str) -> None:
    """The text of an object is sent as it is stored."""
    assert expected == arguments_as_text(arguments)


@given(st.text().map(lambda given: clean(given)[0]))
def test_any_text_is_sendable(arguments: str) -> None:
    """Whatever a model wrote and was stored, both forms are of one object."""
    assert (
        arguments_as_object(arguments)
        == arguments_as_object(arguments_as_text(arguments))
        == json.loads(arguments_as_text(arguments))
    )


def test_what_is_too_deep_is_not_sendable() -> None:
    """Depth has its limit, numbers are finite."""
    assert is_sendable([[]], 2)
    assert not is_sendable([[]], 1)
    assert not is_sendable([float("inf")])
