"""Only NUL and lone surrogates may not stand in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.characters import clean, is_clean

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


def is_bad(character: str) -> bool:
    """Say it by number: NUL and the surrogates' range."""
    return ord(character) == 0 or 0xD800 <= ord(character) <= 0xDFFF


@pytest.mark.parametrize("text", CLEAN)
def test_a_clean_text_stays_the_very_same(text: str) -> None:
    """What may stand as it is is handed back, not copied."""
    cleaned, count = clean(text)

    assert is_clean(text)
    assert text is cleaned
    assert count == 0


@pytest.mark.parametrize(("text", "expected", "count"), DIRTY)
def test_what_cannot_stand_is_replaced_and_counted(text: str, expected: str, count: int) -> None:
    """Each character that cannot stand becomes one U+FFFD, and only those are counted."""
    assert not is_clean(text)
    assert (expected, count) == clean(text)


@given(any_text)
def test_exactly_the_bad_characters_are_replaced(text: str) -> None:
    """Character by character, all others stay where they were."""
    expected = "".join("\ufffd" if is_bad(character) else character for character in text)

    assert (expected, sum(map(is_bad, text))) == clean(text)


@given(any_text)
def test_a_text_is_clean_where_nothing_is_bad(text: str) -> None:
    """Clean and free of bad characters are the same."""
    assert (not any(map(is_bad, text))) is is_clean(text)


@given(any_text)
def test_a_cleaned_text_goes_over_every_wire(text: str) -> None:
    """What was cleaned has no NUL, and comes back from UTF-8 as it went."""
    cleaned, _ = clean(text)

    assert "\x00" not in cleaned
    assert cleaned == cleaned.encode().decode()
