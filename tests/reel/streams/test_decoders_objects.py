"""JSON objects one after the other come out one by one, whatever pieces they come in."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.streams.decoders import IN_SEQUENCE, JsonObjects
from reel.streams.stream import Stream
from tests.reel.streams.samples.openai_chat import CHAT
from tests.reel.streams.test_decoders_array import values


def objects(*pieces: str) -> list[str]:
    decoder = JsonObjects(IN_SEQUENCE)
    return [event.data for piece in pieces for event in decoder.feed(piece)] + [event.data for event in decoder.end()]


@pytest.mark.slow
@given(
    st.lists(st.dictionaries(st.text(alphabet='x"]}'), values, max_size=3), max_size=4),
    st.sampled_from([None, 1]),
    st.sampled_from(["\n", "", "\r\n \t"]),
    st.lists(st.integers(min_value=0, max_value=120), max_size=6),
)
def test_a_sequence_in_any_pieces(found: list[object], indent: int | None, between: str, cuts: list[int]) -> None:
    """However a sequence is cut and laid out, its objects come out as they are."""
    text = between.join(json.dumps(each, indent=indent, ensure_ascii=False) for each in found)
    places = [0, *sorted(cuts), len(text)]

    assert found == [json.loads(data) for data in objects(*(text[a:b] for a, b in itertools.pairwise(places)))]


def test_an_object_that_breaks_off() -> None:
    """An object that breaks off is dropped, those before it are not."""
    decoder = JsonObjects(IN_SEQUENCE)

    assert ['{"a":1}'] == [event.data for event in decoder.feed('{"a":1}\n{"b":')]
    assert decoder.inside_event


@pytest.mark.parametrize("stray", [',"a":{"b":1}}', "x", '"', "}", "]", "\\"])
def test_what_is_between_objects_is_an_event(stray: str) -> None:
    """It is a damaged object; nothing inside of it is taken for an object."""
    first, second, *_ = objects('{"a":1}\n', stray)

    assert '{"a":1}' == first
    assert stray.startswith(second)


def test_the_first_character_tells_a_sequence() -> None:
    """A stream that begins with an object is a sequence of objects, whatever its API."""
    events = [line.removeprefix("data: ") for line in CHAT.data.decode().split("\n\n")[:-2]]
    stream = Stream("openai-chat")
    text = stream.feed("\n".join(events))

    assert (CHAT.text, CHAT.body, True) == (text, stream.body(), stream.complete)


def test_a_damaged_object_ends_the_stream() -> None:
    """What is not an object is reported, and nothing after it is read."""
    stream = Stream("openai-chat")
    stream.feed('{"choices":[]}\nnull\n{"id":"x"}')

    assert "event 2 is not a JSON object" == stream.error
    assert "id" not in stream.body()
