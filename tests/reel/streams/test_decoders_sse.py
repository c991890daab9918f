"""Server-sent events are decoded as the standard says, in pieces of any size."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.streams.decoders import Event, ServerSentEvents


def decode(*pieces: str) -> list[Event]:
    decoder = ServerSentEvents()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.end()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data: 1\n\n", [("", "1")]),
        ("data:1\n\n", [("", "1")]),
        ("data:  1\n\n", [("", " 1")]),
        ("event: ping\ndata: 1\n\ndata: 2\n\n", [("ping", "1"), ("", "2")]),
        ("data: a\ndata: b\n\n", [("", "a\nb")]),
        ("data\n\n", [("", "")]),
        ("data: 1\r\n\r\ndata: 2\r\r", [("", "1"), ("", "2")]),
        (": keep-alive\n\ndata: 1\n\n", [("", "1")]),
        ("event: ping\n\ndata: 1\n\n", [("", "1")]),
        ("id: 7\nretry: 10\nother: x\nother\ndata: 1\n\n", [("", "1")]),
        ("data: a:b\u2028c\x0bd\n\n", [("", "a:b\u2028c\x0bd")]),
        ("data: 1", [("", "1")]),
        ("data: 1\n", [("", "1")]),
        ("", []),
    ],
)
def test_events_are_decoded(text: str, expected: list[tuple[str, str]]) -> None:
    """Lines end in any of three ways; comments and other fields are ignored; several lines are one text."""
    assert expected == decode(text)


def test_the_second_half_of_a_line_end() -> None:
    """A line feed that comes later than its carriage return ends no second line."""
    assert [Event("", "1\n2")] == decode("data: 1\r", "\ndata: 2\r", "\n\r\n")


def test_an_event_comes_as_soon_as_it_can() -> None:
    """A blank line completes an event: the decoder does not wait for what may follow a carriage return."""
    decoder = ServerSentEvents()

    assert [Event("", "1")] == decoder.feed("data: 1\r\n\r")
    assert [] == decoder.feed("")
    assert [] == decoder.feed("\n")


@given(
    st.text(alphabet="data:event \r\n1", max_size=60),
    st.lists(st.integers(min_value=0, max_value=60), max_size=6),
)
def test_events_in_any_pieces(text: str, cuts: list[int]) -> None:
    """However a text is cut, the events are the same."""
    places = [0, *sorted(cuts), len(text)]

    assert decode(text) == decode(*(text[a:b] for a, b in itertools.pairwise(places)))
