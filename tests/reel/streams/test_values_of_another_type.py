"""A stream with a value of another type anywhere is folded without a traceback."""

import json
from copy import deepcopy
from typing import Any

import pytest

from reel.streams.stream import Stream
from tests.reel.streams.samples import SAMPLES
from tests.reel.streams.samples.sample import Sample
from tests.reeld.formats.mutations import places

OTHERS: list[Any] = [[{}], {"a": [1]}]


def events_of(sample: Sample) -> list[Any]:
    """Return the events of a sample that has one a line."""
    lines = [line.removeprefix("data: ") for line in sample.data.decode().splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"gemini-array", "bedrock-whole", "ollama-whole"}))
def test_a_value_of_another_type_anywhere(name: str) -> None:
    """Lists and maps cannot be looked up as texts can, wherever a server puts them."""
    events = events_of(SAMPLES[name])
    for number, event in enumerate(events):
        for path, _ in places(event):
            for value in OTHERS if path else ():
                changed = deepcopy(event)
                at = changed
                for step in path[:-1]:
                    at = at[step]
                at[path[-1]] = value
                stream = Stream(SAMPLES[name].format)
                for found in (*events[:number], changed, *events[number + 1 :]):
                    stream.feed(f"data: {json.dumps(found)}\n\n")
                stream.end()

                assert isinstance(stream.body(), dict)
    assert events
