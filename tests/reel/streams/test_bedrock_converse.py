"""Pieces of newer kinds in a stream of Bedrock's."""

from typing import Any

import pytest

from reel.streams.bedrock_converse import BedrockConverse
from tests.reel.streams.samples.bedrock_converse import begun, piece


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            [piece(0, note={"words": "a"}), piece(0, note={"words": "b", "at": [1]})],
            [{"note": {"words": "ab", "at": [1]}}],
        ),
        ([begun(0, note={"of": "x"}), piece(0, note={"words": "a"})], [{"note": {"of": "x", "words": "a"}}]),
        ([begun(0, note={"of": "x"})], [{"note": {"of": "x"}}]),
        ([begun(0, note={})], []),
        ([piece(0, text="Hi"), piece(0, note="x"), piece(0, text="!")], [{"text": "Hi!"}, {"note": {"note": "x"}}]),
    ],
)
def test_no_piece_of_a_newer_kind_is_lost(events: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """It is a block by itself, behind what is known of its block: its texts and lists grow."""
    assembler = BedrockConverse()
    for event in events:
        assembler.feed("", event)

    assert expected == assembler.body().get("output", {"message": {"content": []}})["message"]["content"]
