"""Plain values are what every client can carry, and nothing but them passes."""

import json
import math
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack import Timestamp

from reel.plain import MAX_INTEGER, clean_deep, flaw

LIMIT = 9_007_199_254_740_991
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-LIMIT, LIMIT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
clean_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
clean = st.recursive(
    clean_words | st.integers() | st.none() | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(clean_words, inner, max_size=3),
)
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(clean_words, inner, max_size=3)
)
# No backslash: the model replaces what JSON escapes, and must not meet what only looks escaped.
words = st.text(st.sampled_from("ab\x00\ud800\udfff\ufffdé\U0001f600"), max_size=4)
dirty = st.recursive(
    words | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
)


class Colour(IntEnum):
    """An integer that is more than one."""

    RED = 1


def nested(levels: int, innermost: Any = None) -> Any:
    """Put a value into lists and maps, in turns."""
    value = innermost
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def depth(value: Any) -> int:
    """Count the levels of lists and maps."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def test_the_limit_is_a_doubles() -> None:
    """The limit is the largest integer whose neighbours a double can still tell apart."""
    assert LIMIT == MAX_INTEGER
    assert float(LIMIT) != float(LIMIT - 1)
    assert float(LIMIT + 1) == float(LIMIT + 2)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, LIMIT, -LIMIT, -0.0, 1.5, 1e308, "", "\x00\ud800", [], {}, ["a", 1], {"": [{"b": None}]}],
)
def test_a_plain_value_has_no_flaw(value: Any) -> None:
    """A string's own characters are not judged here: free text is mended, not refused."""
    assert flaw(value, 3) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (LIMIT + 1, "an integer beyond"),
        (-LIMIT - 1, "an integer beyond"),
        (10**400, "an integer beyond"),
        (math.nan, "not finite"),
        (math.inf, "not finite"),
        (-math.inf, "not finite"),
        (b"raw", "base64"),
        (bytearray(b"raw"), "a bytearray"),
        ((1,), "a tuple"),
        ({1}, "a set"),
        (Colour.RED, "a Colour"),
        (Timestamp(1), "a Timestamp"),
        ({1: "a"}, "the key 1"),
        ({None: "a"}, "the key None"),
        ({b"k": "a"}, "the key b'k'"),
        ({"a\x00": "a"}, r"the key 'a\x00'"),
        ({"\ud800": "a"}, r"the key '\ud800'"),
    ],
)
@pytest.mark.parametrize("place", ["itself", "in a list", "in a map"])
def test_a_flaw_is_named_wherever_it_stands(value: Any, reason: str, place: str) -> None:
    """What is wrong is found behind what is right, in lists and in maps."""
    holder = {"itself": value, "in a list": ["fine", 1, value], "in a map": {"fine": "x", "one": 1, "bad": value}}

    found = flaw(holder[place], 3)

    assert found is not None
    assert reason in found


@given(plain)
def test_a_value_may_be_as_deep_as_its_levels(value: Any) -> None:
    """A plain value is refused for its depth alone, at one level below its own."""
    levels = depth(value)

    assert flaw(value, levels) is None
    assert levels == 0 or flaw(value, levels - 1) == "lists and maps nested too deep"


@pytest.mark.parametrize("levels", [17, 1_000, 100_000])
def test_depth_is_no_danger(levels: int) -> None:
    """However deep a value is, it is only followed as far as it may go."""
    assert flaw(nested(levels), 16) == "lists and maps nested too deep"


@given(clean)
def test_a_clean_value_stays_the_very_same(value: Any) -> None:
    """Where nothing is replaced nothing is copied."""
    cleaned, count = clean_deep(value)

    assert value is cleaned
    assert count == 0


@given(dirty)
def test_every_string_is_cleaned_keys_included(value: Any) -> None:
    """Cleaning a value is cleaning the JSON text that it makes."""
    text = json.dumps(value, ensure_ascii=False)
    count = sum(map(text.count, ("\\u0000", "\ud800", "\udfff")))
    for bad in ("\\u0000", "\ud800", "\udfff"):
        text = text.replace(bad, "\ufffd")

    assert (json.loads(text), count) == clean_deep(value)


def test_what_was_given_is_not_touched() -> None:
    """Cleaning makes a new value; who holds the old one still has what came."""
    value = {"k\x00": ["\ud800", "fine"]}
    clean_deep(value)

    assert value == {"k\x00": ["\ud800", "fine"]}
