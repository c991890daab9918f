"""Which agents a person means who types parts of their names, titles and tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.labels import label_filter

LABELS = "demo\nTape decks 和磁带\ntopic=Bänder\nproject=reel"


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
