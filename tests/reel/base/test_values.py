"""Which characters a text may contain, and which values every client can carry."""

import json
import math
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack import Timestamp

from reel.base.values import (
    MAX_INTEGER,
    Numeral,
    clean,
    clean_deep,
    fit_messagepack,
    has_large_number,
    has_number_as_text,
    is_clean,
    is_deeper,
    numbers_as_text,
    why_not_plain,
)

any_character = st.characters(exclude_categories=()) | st.sampled_from("\x00\ud7ff\ud800\udbff\udc00\udfff\ue000a")
any_text = st.text(any_character)

CLEAN = ["", "plain", "\x01\x7f\t\n", "é", "\ud7ff", "\ue000", "\ufffd", "\uffff", "\U0001f600", "\U0010ffff"]
DIRTY = [
    ("\x00", "\ufffd", 1),
    ("a\x00b", "a\ufffdb", 1),
    ("\x00\x00\x00", "\ufffd\ufffd\ufffd", 3),
    ("é\x00", "é\ufffd", 1),
    ("\ud800", "\ufffd", 1),
    ("\udfff", "\ufffd", 1),
    ("\udbff x \udc00", "\ufffd x \ufffd", 2),
    ("\ud83d\ude00", "\ufffd\ufffd", 2),
    ("\udcffé\x00\ufffd", "\ufffdé\ufffd\ufffd", 2),
]

LIMIT = 9_007_199_254_740_991
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-LIMIT, LIMIT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
clean_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
clean_values = st.recursive(
    clean_words | st.integers() | st.none() | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(clean_words, inner, max_size=3),
)
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(clean_words, inner, max_size=3)
)
# No backslash: the model replaces escapes of JSON, and must not meet a text that only looks escaped.
words = st.text(st.sampled_from("ab\x00\ud800\udfff\ufffdé\U0001f600"), max_size=4)
dirty = st.recursive(
    words | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
)


class Colour(IntEnum):
    """An integer subclass."""

    RED = 1


def nested(levels: int, innermost: Any = None) -> Any:
    """Nest a value in lists and maps, alternately."""
    value = innermost
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def depth(value: Any) -> int:
    """Count the levels of lists and maps."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def is_bad(character: str) -> bool:
    """Return whether a character is bad, by number: NUL and the surrogates."""
    return ord(character) == 0 or 0xD800 <= ord(character) <= 0xDFFF


@pytest.mark.parametrize("text", CLEAN)
def test_a_clean_text_stays_the_very_same(text: str) -> None:
    """A clean text is returned itself, not a copy."""
    cleaned, count = clean(text)

    assert is_clean(text)
    assert text is cleaned
    assert 0 == count


@pytest.mark.parametrize(("text", "expected", "count"), DIRTY)
def test_what_cannot_stand_is_replaced_and_counted(text: str, expected: str, count: int) -> None:
    """Each bad character becomes one U+FFFD, and only those are counted."""
    assert not is_clean(text)
    assert (expected, count) == clean(text)


@given(any_text)
def test_exactly_the_bad_characters_are_replaced(text: str) -> None:
    """Every other character stays where it was."""
    expected = "".join("\ufffd" if is_bad(character) else character for character in text)

    assert (expected, sum(map(is_bad, text))) == clean(text)


@given(any_text)
def test_a_text_is_clean_where_nothing_is_bad(text: str) -> None:
    """A text is clean if and only if it has no bad characters."""
    assert (not any(map(is_bad, text))) is is_clean(text)


@given(any_text)
def test_a_cleaned_text_goes_over_every_wire(text: str) -> None:
    """A cleaned text has no NUL, and survives UTF-8 unchanged."""
    cleaned, _ = clean(text)

    assert "\x00" not in cleaned
    assert cleaned == cleaned.encode().decode()


def test_the_limit_is_a_doubles() -> None:
    """The limit is the largest integer that a double distinguishes from its neighbours."""
    assert LIMIT == MAX_INTEGER
    assert float(LIMIT) != float(LIMIT - 1)
    assert float(LIMIT + 1) == float(LIMIT + 2)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, 10**400, Numeral("1e400"), -0.0, 1.5, 1e308, "", "\x00\ud800"),
        *([], {}, ["a", 1], {"": [{"b": None}]}),
    ],
)
def test_a_plain_value_has_no_flaw(value: Any) -> None:
    """The characters of a string are not checked here: free text is cleaned, not refused."""
    assert why_not_plain(value, 3) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
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
def test_a_flaw_is_named_wherever_it_stands(value: Any, reason: str) -> None:
    """A bad value is found behind good ones, in lists and in maps."""
    for holder in (value, ["fine", 1, value], {"fine": "x", "one": 1, "bad": value}):
        found = why_not_plain(holder, 3)

        assert found is not None, holder
        assert reason in found, holder


@pytest.mark.slow
@given(plain)
def test_a_value_may_be_as_deep_as_its_levels(value: Any) -> None:
    """A plain value is refused only for its depth, at one level below its own."""
    levels = depth(value)

    assert why_not_plain(value, levels) is None
    assert 0 == levels or "lists and maps nested too deep" == why_not_plain(value, levels - 1)


@pytest.mark.parametrize("levels", [17, 1_000, 100_000])
def test_a_deep_value_is_refused_at_any_depth(levels: int) -> None:
    """However deep a value is, it is only followed to the limit."""
    assert "lists and maps nested too deep" == why_not_plain(nested(levels), 16)


@pytest.mark.slow
@given(clean_values)
def test_a_clean_value_is_not_copied(value: Any) -> None:
    """If nothing is replaced, nothing is copied."""
    cleaned, count = clean_deep(value)

    assert value is cleaned
    assert 0 == count


@pytest.mark.slow
@given(dirty)
def test_every_string_is_cleaned_keys_included(value: Any) -> None:
    """Cleaning a value equals cleaning its JSON text."""
    text = json.dumps(value, ensure_ascii=False)
    count = sum(map(text.count, ("\\u0000", "\ud800", "\udfff")))
    for bad in ("\\u0000", "\ud800", "\udfff"):
        text = text.replace(bad, "\ufffd")

    assert (json.loads(text), count) == clean_deep(value)


def test_what_was_given_is_not_touched() -> None:
    """Cleaning makes a new value; the old one is unchanged."""
    value = {"k\x00": ["\ud800", "fine"]}
    clean_deep(value)

    assert {"k\x00": ["\ud800", "fine"]} == value


@pytest.mark.slow
@given(plain)
def test_depth_is_measured_in_levels_of_lists_and_maps(value: Any) -> None:
    """A value is not deeper than its own depth, and is deeper than one level less."""
    levels = depth(value)

    assert not is_deeper(value, levels)
    assert 0 == levels or is_deeper(value, levels - 1)


def test_measuring_depth_stops_at_the_limit() -> None:
    """However deep a value is, it is only followed as far as the limit."""
    assert is_deeper(nested(100_000), 16)


@pytest.mark.slow
@given(plain)
def test_a_value_without_large_numbers_stays_the_same(value: Any) -> None:
    """Nothing is copied if nothing is replaced."""
    found, count = numbers_as_text(value)

    assert value is found
    assert (0, False) == (count, has_large_number(value))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (LIMIT + 1, "9007199254740992"),
        (-LIMIT - 1, "-9007199254740992"),
        (10**400, "1" + "0" * 400),
        (Numeral("-1E400"), "-1E400"),
    ],
)
def test_large_numbers_become_text(number: Any, text: str) -> None:
    """Each large number is replaced by its digits, wherever it is, and counted."""
    value = {"a": number, "b": [1, LIMIT, "x", {"c": [number]}], "d": {"e": None}}

    assert ({"a": text, "b": [1, LIMIT, "x", {"c": [text]}], "d": {"e": None}}, 2) == numbers_as_text(value)
    assert has_number_as_text([{"a": text}])


def test_text_that_is_no_large_number() -> None:
    """Words, short numbers, and strings that only start like a number are left alone."""
    assert not has_number_as_text(["msg_1", "", "-", "12", "1700000000000s", 5, None, {"1700000000000000000": "x"}])


@pytest.mark.parametrize("number", [-(2**63), 2**64 - 1])
def test_what_messagepack_has_stays_a_number(number: int) -> None:
    """A client replaces only numbers that MessagePack cannot encode."""
    assert ([number, str(number * 2)], 1) == fit_messagepack([number, number * 2])
