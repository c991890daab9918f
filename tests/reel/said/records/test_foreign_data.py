"""Data that is not in our own form becomes the message's metadata, with numbers that every client can hold."""

import json
from typing import Any

import pytest

from reel.said.records import read_row


@pytest.mark.parametrize("kind", ["user", "assistant"])
@pytest.mark.parametrize(
    "data",
    [
        {},
        {"model": "m", "usage": {"in": 1}},
        {"provider_metadata": {"a": 1}},
        {"blocks": [5], "model": "m"},
        {"blocks": None, "provider_metadata": {}, "model": "m"},
        {"n": [2**53 - 1, -1.5, None, True]},
    ],
)
def test_foreign_data_is_metadata(kind: str, data: dict[str, Any]) -> None:
    """Data that is not in our own form is the provider's, even if it has a key ``blocks``."""
    assert (kind, [{"type": "text", "text": "hi"}], data) == read_row(kind, "hi", json.dumps(data))


LARGE = ["9007199254740992", "-9223372036854775809", "18446744073709551616", "1e400", "-1E+999", "7" * 5_000]


@pytest.mark.parametrize("number", LARGE)
def test_a_large_number_is_text_in_a_message(number: str) -> None:
    """In metadata of a message or a block, a number that some clients cannot hold becomes its digits."""
    metadata = f'{{"provider":"p","at":{{"ns":[1,{number}]}}}}'
    text = f'{{"type":"text","text":"x","provider_metadata":{metadata}}}'
    inside = f'{{"type":"tool_result","tool_call_id":"c","content":[{text}]}}'
    told = {"provider": "p", "at": {"ns": [1, number]}}
    foreign, blocks = read_row("user", "hi", metadata), read_row("tool_result", None, f'{{"blocks":[{inside}]}}')

    assert foreign is not None
    assert told == foreign.provider_metadata
    assert blocks is not None
    assert told == blocks.content[0]["content"][0]["provider_metadata"]  # type: ignore[index,typeddict-item]


@pytest.mark.parametrize("number", LARGE)
def test_a_large_number_beside_a_message(number: str) -> None:
    """A number outside the message may be of any size."""
    call = f'{{"tool_call_id":"c","name":"n","arguments":"{{}}","ns":{number}}}'

    assert read_row("tool_call", None, call) == read_row("tool_call", None, call.replace(number, "1"))
