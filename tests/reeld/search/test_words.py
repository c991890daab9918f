"""What counts as a word, in the index and in what a person types."""

import re
import sqlite3
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base import remembering
from reeld.search.words import alternatives, boundaries, indexed, parts, words
from tests.reeld.remembered import remembered

TEXTS = st.text() | st.text("aBé修한ท🎉 _.-/3\u0301\u200d", max_size=40)


@pytest.fixture(scope="module")
def table() -> Iterator[sqlite3.Connection]:
    """Return an FTS5 table with the tokenizer of the index, and a table of what it found."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (words, tokenize = 'ascii')")
    connection.execute("CREATE VIRTUAL TABLE found USING fts5vocab (texts, instance)")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Größe ÉTÉ naïve", ["grosse", "ete", "naive"]),
        ("e\u0301te\u0301", ["ete"]),
        ("\uff46\uff55ll", ["full"]),
        ("parse_http_url", ["parse", "http", "url"]),
        ("a.b.c /usr/bin --long-option", ["a", "b", "c", "usr", "bin", "long", "option"]),
        ("0x3fA9 E0425", ["0x3fa9", "e0425"]),
        ("修复auth模块", ["修", "复", "auth", "模", "块"]),
        ("カタカナ", ["カ", "タ", "カ", "ナ"]),
        ("검색", ["검", "색"]),
        ("ok👍🏽 🎉", ["ok", "👍", "🎉"]),
        ("“quoted” — dash…", ["quoted", "dash"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Case, accents and width are folded; punctuation separates; a CJK character and an emoji is a word."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parseHttpUrl", ["parse", "http", "url"]),
        ("HTTPServer", ["http", "server"]),
        ("utf8String x", ["utf8", "string"]),
        ("plain UPPER Title", []),
    ],
)
def test_parts_of_camel_case(text: str, expected: list[str]) -> None:
    """A word in camel case has parts; others have none."""
    assert parts(text) == expected


@given(text=st.text("aB3_é ", max_size=12))
def test_words_that_have_parts(text: str) -> None:
    """A word has parts if there is a boundary in it, wherever that is."""
    cuts = [(word, [0, *boundaries(word), len(word)]) for word in re.findall("[A-Za-z0-9]+", text)]
    divided = [word[begin:end].lower() for word, at in cuts if at[1:-1] for begin, end in pairwise(at)]

    assert divided == parts(text)


def test_no_part_of_a_long_word_is_kept() -> None:
    """A text that is shown may have data of any length, as the index has not: nothing of it stays in memory."""
    boundaries("warmUp")
    tracemalloc.start()
    try:
        assert 99_999 == len(boundaries("aB" * 99_999))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000


def test_names_are_forgotten() -> None:
    """The index prepares what is erased as well, to remove it; then no function has a name of it."""
    indexed("getSecretName secret_name-of a_secretName")
    assert any("secret" in text for text in remembered())

    remembering.forget()

    assert not [text for text in remembered() if "secret" in text.lower()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("get_user_name", ["getuser", "username", "getusername"]),
        ("x1__y2--z3_", ["x1y2", "y2z3", "x1y2z3"]),
        ("9_a _b c_ d-e", ["de"]),
    ],
)
def test_joined_parts_of_names(text: str, expected: list[str]) -> None:
    """Neighbouring parts of a name are words without what divides them; what begins with a digit is no name."""
    assert expected == indexed(text).joins.split()


@given(names=st.lists(st.text("aB1_-", min_size=1, max_size=8), max_size=5), between=st.sampled_from(" .é\n"))
def test_names_beside_each_other(names: list[str], between: str) -> None:
    """Each name in a text has the same joins as alone, and the text has each of them once."""
    alone = {join for name in names for join in indexed(name).joins.split()}

    assert sorted(alone) == sorted(indexed(between.join(names)).joins.split())


def test_alternatives_of_camel_case() -> None:
    """An identifier is searched for as one word and as its parts, so that it is found in each notation."""
    assert (("parsehttpurl",), ("parse", "http", "url")) == alternatives("parseHttpUrl")


def test_something_encoded_is_not_indexed() -> None:
    """A run of Base64 is left out, and what is around it is not."""
    assert ["before", "after"] == indexed(f"before {'aGVsbG8/' * 40} after").words.split()


@given(text=TEXTS)
def test_tokens_of_sqlite(table: sqlite3.Connection, text: str) -> None:
    """FTS5 finds the words in what the index gets of a text that we find in the text."""
    table.execute("DELETE FROM texts")
    table.execute("INSERT INTO texts VALUES (?)", (indexed(text.replace("\0", "")).words,))

    found = table.execute('SELECT term FROM found ORDER BY "offset"').fetchall()

    assert [term for (term,) in found] == words(text.replace("\0", ""))
