"""Which words are near one that nobody used."""
# ruff: noqa: RUF001 - Cyrillic letters that look like Latin ones

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search import vocabulary, volumes

KNOWN = {"validator": 3, "validators": 1, "tape": 5, "tapes": 2, "type": 1, "recursion": 1, "база": 4, "utf8": 1}


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    """An index of full volumes with these words."""
    with closing(_with_words(KNOWN)) as opened:
        yield opened


def _with_words(words: Mapping[str, int]) -> sqlite3.Connection:
    opened = sqlite3.connect(":memory:")
    vocabulary.create(opened)
    volumes.create(opened)
    vocabulary.add(opened, words)
    return opened


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("validater", ["validator"]),  # a wrong letter
        ("validatorss", ["validators"]),  # one too many
        ("vlidator", ["validator"]),  # a missing one
        ("vaildator", ["validator"]),  # two in the wrong order
        ("valiidatr", ["validator"]),  # two mistakes in a long word
        ("tpae", ["tape"]),
        ("tapf", ["tape"]),
        ("tppf", []),  # two in a short one
        ("ape", []),  # another first letter, and short
        ("calidator", []),
        ("база1", []),
        ("базы", ["база"]),
        ("xylophone", []),
    ],
)
def test_nearest(connection: sqlite3.Connection, word: str, expected: list[str]) -> None:
    """A word with one typing mistake, or a long one with two, is near the known one, if its first letter is right."""
    assert expected == vocabulary.nearest(connection, word)


@given(word=st.text("abcd", min_size=4, max_size=10), data=st.data())
def test_one_mistake_is_always_found(word: str, data: st.DataObject) -> None:
    """Whatever single mistake somebody makes behind the first letter, the word is found."""
    at = data.draw(st.integers(1, len(word) - 1))
    typed = data.draw(
        st.sampled_from([f"{word[:at]}e{word[at:]}", f"{word[:at]}e{word[at + 1 :]}", word[:at] + word[at + 1 :]])
    )
    with closing(_with_words({word: 1})) as connection:
        expected = [word] if len(typed) >= 4 and typed != word else vocabulary.nearest(connection, typed)
        assert expected == vocabulary.nearest(connection, typed)


@pytest.mark.parametrize(
    ("word", "counted"),
    [("tape", True), ("sha256", True), ("2026", True), ("3f2a9c1b", False), ("20261128", False), ("x" * 41, False)],
)
def test_what_is_counted(word: str, *, counted: bool) -> None:
    """Words are counted; hashes and long numbers are not."""
    assert counted == vocabulary.is_counted(word)


@given(text=st.text(st.characters(codec="utf-8"), max_size=40) | st.text("aZ9_-\xa0é. ", max_size=40))
def test_length(text: str) -> None:
    """The length of a text is how many words FTS5 finds in it."""
    assert len(vocabulary.tokens(text)) == vocabulary.length(text)


@given(text=st.text(st.sampled_from("aZ109_- \xa0é"), max_size=20), letters=st.integers(0, 42))
def test_whether_all_are_counted(text: str, letters: int) -> None:
    """All words of a text are counted, or it is known that one is not; numbers do not matter."""
    text += letters * "x"
    expected = all(vocabulary.is_counted(word) for word in vocabulary.tokens(text) if not word.isdecimal())
    assert expected == vocabulary.are_counted(text)


@pytest.mark.parametrize(
    ("pieces", "most", "expected"),
    [
        (["ape"], 2, ["tape", "tapes"]),
        (["ape"], 1, None),
        (["va", "tor", "s"], 2, ["validators"]),
        (["tor", "va"], 2, []),
        (["utf8"], 0, None),
    ],
)
def test_words_with_pieces(
    connection: sqlite3.Connection, pieces: list[str], most: int, expected: list[str] | None
) -> None:
    """Words are found that have all pieces in their order, unless there are too many."""
    assert expected == vocabulary.with_pieces(connection, pieces, most)
