"""Who said a message, and its tokens: as each framework stores them."""

import json
from typing import Any

import pytest

from reel.reading.attribution import answer_in, speaker_of, tokens_of
from reel.reading.tokens import Tokens


def message(form: Any, role: str = "assistant", text: str = "hello") -> Any:
    return {"role": role, "content": [{"type": "text", "text": text}], "provider_metadata": {"item": {"form": form}}}


_GRAPH = {"class": "AIMessage", "fields": {"name": "deck", "usage_metadata": {"input_tokens": 12, "output_tokens": 5}}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (message({"author": "deck"}), "deck"),
        (message({"author_name": "deck"}), "deck"),
        (message(_GRAPH), "deck"),
        ({**message(None), "provider_metadata": {"item": {"form_json": json.dumps(_GRAPH)}}}, "deck"),
        (message({"author": "@0"}, text="researcher"), "researcher"),
        (message({"author": "@7"}), ""),
        (message({"author": "@@me"}), "@me"),
        (message({"author": "user"}, "user"), ""),
        (message({"author": "anna"}, "user"), "anna"),
        (message({"author": "deck"}, "tool"), ""),
        (message({"author": 3, "name": "deck"}), "deck"),
        (message({"author": "a\nb"}), "a b"),
        (message("@0j"), ""),
        ({**message(None), "provider_metadata": {"item": {"part": 1}}}, ""),
        ({**message(None), "provider_metadata": {"item": 3}}, ""),
        ({**message(None), "provider_metadata": {}}, ""),
    ],
)
def test_speakers(found: Any, expected: str) -> None:
    """The name that a framework gives who speaks, if that is more than the role."""
    assert expected == speaker_of(found)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (message(_GRAPH), Tokens(12, 5)),
        (message({"usage_metadata": {"prompt_token_count": 12, "candidates_token_count": 5}}), Tokens(12, 5)),
        (message({"usage_metadata": {"candidates_token_count": 5, "thoughts_token_count": 2}}), Tokens(0, 7, 0, 2)),
        (message({"usage": {"input_tokens": 12, "cache_read_tokens": 4, "output_tokens": 5}}), Tokens(12, 5, 4)),
        (message({"message": {"metadata": {"usage": {"inputTokens": 12, "outputTokens": 5}}}}), Tokens(12, 5)),
        (
            message(
                {"usage_metadata": {"input_tokens": 12, "output_tokens": 5, "input_token_details": {"cache_read": 3}}}
            ),
            Tokens(12, 5, 3),
        ),
        (message({"usage": {"input_tokens": 12}}, "user"), None),
        (message({"usage": "12"}), None),
        (message({}), None),
    ],
)
def test_tokens(found: Any, expected: Tokens | None) -> None:
    """The tokens that a framework has counted for an answer."""
    assert expected == tokens_of(found)


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({"response_metadata": {"model_name": "m-1"}}, "m-1"),
        ({"model_version": "m-2", "response_metadata": 5}, "m-2"),
        ({"model_name": 5}, ""),
        # A text that the message has as well is a reference.
        ({"model_name": "@0"}, "hello there"),
        ({"model_name": "@3"}, ""),
    ],
)
def test_what_an_answer_took(fields: Any, model: str) -> None:
    """Its tokens, and its model where a framework has that; what is damaged or says nothing is no answer."""
    form = {"class": "AIMessage", "fields": {"usage_metadata": {"input_tokens": 12}, **fields}}
    data = {
        "provider_metadata": {"item": {"form": form, "check": "c1"}},
        "blocks": [{"type": "text", "text": "hello there"}],
    }
    event: Any = {"kind": "assistant", "content": "hello there", "data_json": json.dumps(data), "seq": 1, "time": 0}
    assert (Tokens(12), model, "c1") == answer_in(event)
    for other in ({"damaged": True}, {"data_json": "5"}, {"data_json": None}, {"kind": "note"}):
        changed: Any = {**event, **other}
        assert answer_in(changed) is None
