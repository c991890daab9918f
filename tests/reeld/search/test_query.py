"""What a person types, as what is searched for."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reeld.search.query import Filters, Query, Term, label_filter, match_expression, parse_query

# Of what a query consists, so that random ones have syntax.
PIECES = (
    "word",
    '"',
    "-",
    " ",
    "OR",
    "*",
    "role:",
    "tool",
    "before:",
    "2026-11-01",
    ":",
    "(",
    "修复",
    "aB",
    "NOT",
    "^",
)
LABELS = "demo\nTape decks 和磁带\ntopic=Bänder\nproject=reel"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two", '("one") AND ("two")'),
        ('"one two"', '("one two")'),
        ('"never closed', '("never closed")'),
        ("one -two", '(("one")) NOT ("two")'),
        ("one OR two three", '("one" OR "two") AND ("three")'),
        ("OR one OR", '("one")'),
        ("pre*", '("pre" *)'),
        ("p*", '("p")'),
        ("a.b.c", '("a b c")'),
        ("--long-option", '("long option")'),
        ("-rf", '("rf")'),
        ("fooBar", '("foobar" OR "foo bar")'),
        ("修复auth", '("修 复 auth")'),
        ("before:tomorrow", '("before tomorrow")'),
        ("NEAR(a b)^{", '("near a") AND ("b")'),
        ("* :: () -", None),
    ],
)
def test_expressions(text: str, expected: str | None) -> None:
    """A query is what FTS5 understands; syntax that is not ours is text."""
    assert match_expression(parse_query(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("role:tool role:USER", Filters(roles=("tool", "user"))),
        ('agent:"my agent"', Filters(agent="my agent")),
        ("tag:topic=tapes tag:done", Filters(tags=(("topic", "tapes"), ("done", None)))),
        ("live:no", Filters(live=False)),
        ("after:2026-11-01 before:2026-12", Filters(since=1793491200000, until=1796083200000)),
    ],
)
def test_filters(text: str, expected: Filters) -> None:
    """What a filter says is no text."""
    assert parse_query(text) == Query(filters=expected)


def test_words_of_our_own_are_required() -> None:
    """An event must have one word of each group that says what it is."""
    assert '("one") AND ("k1" OR "k2") AND ("a7")' == match_expression(parse_query("one"), [["k1", "k2"], ["a7"]])


@given(text=st.text() | st.lists(st.sampled_from(PIECES), max_size=400).map("".join))
@example(text="one OR two three -four")
def test_every_text_is_a_query(text: str) -> None:
    """Whatever is typed, SQLite finds the texts that have a phrase of each group and none that is excluded."""
    query = parse_query(text)
    expression = match_expression(query)
    if expression is None:
        assert not query.terms
        return
    phrases = [" ".join(group[0].phrases[0]) for group in query.groups]
    unwanted = [" ".join(term.phrases[0]) for term in query.excluded[:1]]
    texts = [" filler ".join(each) for each in ([], phrases[1:], phrases, [*phrases, *unwanted])]

    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (words, tokenize = 'ascii')")
        connection.executemany("INSERT INTO texts VALUES (?)", zip(texts))
        found = connection.execute(
            "SELECT words FROM texts WHERE texts MATCH ? ORDER BY rowid", (expression,)
        ).fetchall()

    assert [words for (words,) in found] == [words for words in texts if is_wanted(query, words)]


def is_wanted(query: Query, words: str) -> bool:
    """Return whether a text has a phrase of each group, and none that is excluded."""

    def has(term: Term) -> bool:
        end = "" if term.is_prefix else " "
        return any(f" {' '.join(phrase)}{end}" in f" {words} " for phrase in term.phrases)

    return all(any(map(has, group)) for group in query.groups) and not any(map(has, query.excluded))


def test_long_query() -> None:
    """What comes after the first words of a query of 100 kB is ignored."""
    assert 64 == len(parse_query("word " * 20_000).groups)


def test_many_prefixes() -> None:
    """After the first prefixes of a query, a word with a star is a whole word."""
    assert [True] * 5 + [False] * 2 == [term.is_prefix for term in parse_query("ab* " * 7).terms]


@pytest.mark.parametrize(
    ("query", "accepted"),
    [
        ("dem", True),
        ("DEMO tape", True),
        ("deck demo", True),
        ("topic=bander", True),
        ("磁带", True),
        ("  ", True),
        ("demo tubes", False),
        ("demotape", False),
    ],
)
def test_words_of_a_query(query: str, accepted: bool) -> None:
    """Each word is a part of the name, the title or a tag, without differences of case and accents."""
    assert label_filter(query).accepts(LABELS) is accepted


@given(labels=st.text())
def test_any_text_is_a_query(labels: str) -> None:
    """Whatever an agent is called, it is found by that."""
    assert label_filter(labels).accepts(labels)
