"""What somebody else adds between a call and its result comes after the result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.integrations.results_first import results_first


def arranged(said: str) -> str:
    """Arrange messages, each one word.

    ``c1`` has the call 1, and ``r1`` answers it; ``c12`` has two calls. A word that begins with ``+`` was added by
    somebody else.
    """
    words = said.split()

    def ids(word: str, of: str) -> str:
        kind, rest = word.removeprefix("+")[0], word.removeprefix("+")[1:]
        return rest if kind == of else ""

    added = [place for place, word in enumerate(words) if word.startswith("+")]
    found = results_first(
        words, lambda word: ids(word, "c"), lambda word: ids(word, "r"), lambda word: word == "u", added
    )
    return " ".join(found)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("u c1 r1 +u", "u c1 r1 +u"),
        ("u c1 +u r1 a", "u c1 r1 +u a"),
        ("c12 +u r1 +a r2 a", "c12 r1 r2 +u +a a"),
        ("c1 +u c2 r1 r2 a", "c1 c2 r1 r2 +u a"),
        ("c1 +u +r1 a", "c1 +r1 +u a"),
        ("c1 +c2 +r2 r1", "c1 r1 +c2 +r2"),
        ("+c1 +u +r1", "+c1 +r1 +u"),
        # The result never comes, or the next prompt comes first.
        ("c1 +u", "c1 +u"),
        ("c1 +u u a", "c1 +u u a"),
        ("c12 +u r1", "c12 r1 +u"),
        ("c1 +u a r1", "c1 a r1 +u"),
        ("c1 u r1", "c1 u r1"),
        ("c1 r1 +u c1 +u r1", "c1 r1 +u c1 r1 +u"),
    ],
)
def test_where_a_message_goes(said: str, expected: str) -> None:
    """Behind the result, in the order in which they were added; without a result it stays where it is."""
    assert expected == arranged(said)


@given(st.lists(st.sampled_from(("u", "c1", "c2", "r1", "r2", "+u", "+c1", "+r1", "+c2", "+r2")), max_size=12))
def test_nothing_else_is_moved(words: list[str]) -> None:
    """Whatever was added where, nothing is lost, and what the program added itself keeps its order."""
    found = arranged(" ".join(words)).split()

    assert sorted(words) == sorted(found)
    assert [word for word in words if word[0] != "+"] == [word for word in found if word[0] != "+"]
