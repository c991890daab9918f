"""What is shown of a text that was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.query import parse_query
from reeld.search.snippets import SIZE, score, snippet, wanted_of


def matches(text: str, query: str) -> list[str]:
    """Return what a snippet marks."""
    found = snippet(text, wanted_of(parse_query(query).terms))
    return [found.text[begin:end] for begin, end in found.matches]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("say Hello to hello", "hello", ["Hello", "hello"]),
        ("call parseHttpUrl now", "url", ["Url"]),
        ("call parseHttpUrl now", "parse_http_url", ["parseHttpUrl"]),
        ("die Größe", "grosse", ["Größe"]),
        ("请修复auth模块", "复auth", ["复auth"]),
        ("prefixes and words", "pref*", ["prefixes"]),
        ("a.b.c", "b", ["b"]),
        (f"{'x ' * 100_000}needle", "needle", ["needle"]),
        ("a title", "", []),
    ],
)
def test_matches(text: str, query: str, expected: list[str]) -> None:
    """A snippet has the first match, and marks what was written."""
    assert matches(text, query) == expected


@given(text=st.text(), query=st.text())
def test_any_snippet(text: str, query: str) -> None:
    """A snippet is a part of the text, and its matches are in it, in order."""
    found = snippet(text, wanted_of(parse_query(query).terms))

    assert found.text in text
    assert len(found.text) <= SIZE
    places = [place for match in found.matches for place in match]
    assert places == sorted(places)
    assert all(0 <= place <= len(found.text) for place in places)


@pytest.mark.parametrize("size", [12, 100])
def test_what_a_text_has(size: int) -> None:
    """A snippet tells what is anywhere in the text, wherever it begins."""
    found = snippet("tape and some more words, deck", wanted_of(parse_query("deck cards tape").terms), size)

    assert {0, 2} == found.has
    assert found.text.startswith("tape")


def test_a_match_that_is_longer_than_a_snippet() -> None:
    """It is worth nothing beside one that fits, and is cut where nothing else is found."""
    wanted = wanted_of(parse_query("tape").terms)

    assert [(0, 4)] == snippet(f"{'x' * 40} tape", wanted, 12, [[(0, 40)]]).matches[-1:]
    assert [(0, 12)] == snippet("x" * 40, wanted, 12, [[(0, 40)]]).matches


@pytest.mark.parametrize(
    "character", ["a\u0301", "\U0001f44d\U0001f3fd", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\u26a0\ufe0f"]
)
@pytest.mark.parametrize("size", range(20, 40))
def test_no_character_is_cut(character: str, size: int) -> None:
    """A snippet begins and ends with whole characters, as people see them, and has the match."""
    found = snippet(f"{character * 50}-tape-{character * 50}", wanted_of(parse_query("tape").terms), size)
    before, behind = found.text.split("-tape-")

    assert [(len(before) + 1, len(before) + 5)] == found.matches
    assert {before, behind} == {character * (len(text) // len(character)) for text in (before, behind)}
    assert size - 2 * len(character) < len(found.text) <= size


def test_score() -> None:
    """A short text with more matches is better than a long one with fewer."""
    terms = wanted_of(parse_query("tape deck").terms)

    assert score("tape deck, tape deck", terms) > score("tape deck", terms) > score(f"tape deck {'x ' * 5000}", terms)
