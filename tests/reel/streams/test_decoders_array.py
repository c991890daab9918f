"""The elements of a JSON array come out one by one, whatever pieces it comes in."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.streams.decoders import IN_ARRAY, JsonObjects

values = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\{}[],\n\u00e9'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='"\\{'), inner, max_size=3),
    max_leaves=6,
)


def elements(pieces: list[str]) -> list[Any]:
    decoder = JsonObjects(IN_ARRAY)
    events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.end()
    return [json.loads(event.data) for event in events]


@pytest.mark.slow
@given(
    st.lists(st.dictionaries(st.text(alphabet='x"]}'), values, max_size=3), max_size=4),
    st.sampled_from([None, 1]),
    st.lists(st.integers(min_value=0, max_value=120), max_size=6),
)
def test_an_array_in_any_pieces(array: list[Any], indent: int | None, cuts: list[int]) -> None:
    """However an array is cut and laid out, its objects come out as they are, brackets in texts and all."""
    text = json.dumps(array, indent=indent, ensure_ascii=False)
    places = [0, *sorted(cuts), len(text)]

    assert array == elements([text[a:b] for a, b in itertools.pairwise(places)])


def test_an_element_comes_as_soon_as_it_ends() -> None:
    """Nothing waits for the comma or the end."""
    assert [{"a": 1}] == elements(['[{"a": 1}'])


def test_an_element_that_breaks_off() -> None:
    """An element that breaks off is dropped, those before it are not."""
    assert [{"a": 1}] == elements(['[{"a": 1}, {"b": {}'])
