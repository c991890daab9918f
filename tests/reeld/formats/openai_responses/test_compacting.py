"""What ``/responses/compact`` answers: the user's messages as they were, and a compaction of the rest (rule R14)."""

import json
from typing import Any

import pytest

from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_request, read_response
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from tests.formats.checker import check
from tests.reeld.formats.histories import call, entries_of, model, result, tool

MODEL = "gpt-5.5"
SUMMARY = {"type": "compaction", "encrypted_content": "gAAAA"}


def heard(words: str, role: str = "user") -> dict[str, Any]:
    """Return a message that the model was sent, as the answer repeats it."""
    part = {"type": "input_text", "text": words}
    return {"id": "msg_1", "type": "message", "status": "completed", "role": role, "content": [part]}


WINDOW = [heard("Q1"), heard("Be brief", "developer"), heard("Q2"), {**SUMMARY, "id": "cmp_1"}]
ANSWER = {"id": "resp_1", "object": "response.compaction", "created_at": 1, "output": WINDOW, "usage": {}}


def answered() -> dict[str, Any]:
    """Return the message of the answer."""
    message, *_ = read_response("openai-responses", json.dumps(ANSWER), MODEL)
    return message


def sent(history: list[Any], to: str = MODEL) -> list[Any]:
    """Render a history from its first message on to its last, check each body, and return the last one's items."""
    kept: RenderState | None = None
    request = RenderRequest("openai-responses", to, {"store": False})
    for end in range(1, len(history) + 1):
        entries = entries_of(history[:end])
        found, kept = render(request, entries, None, kept)
        assert found.body == render(request, entries, None)[0].body
        body = json.loads(found.body)
        assert not found.ready or [] == check("openai_responses", body, to)
    items: list[Any] = body["input"]
    return items


def said(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


LOG = ["Q1", model("A1"), "Q2", model("Look", call()), tool(result()), model("A2")]


def test_nobodys_words_change_sides() -> None:
    """What the user said is in the history already; the answer is the compaction."""
    (block,) = answered()["content"]

    assert {**SUMMARY, "id": "cmp_1"} == json.loads(block["data_json"])


def test_what_the_assistant_says_in_it_stays_the_assistants() -> None:
    """Nothing of an answer is lost."""
    part = {"type": "output_text", "text": "A1", "annotations": []}
    output = [{"type": "message", "id": "msg_2", "role": "assistant", "content": [part]}, *WINDOW]
    message, *_ = read_response("openai-responses", json.dumps({**ANSWER, "output": output}), MODEL)

    assert ["text", "opaque"] == [block["type"] for block in message["content"]]


@pytest.mark.parametrize("then", [[], ["Q3"], ["Q3", model("A3"), "Q4"]])
def test_what_the_user_said_goes_back_before_it(then: list[Any]) -> None:
    """Once, and what the assistant said and did before does not."""
    after = [said(each) if isinstance(each, str) else {"role": "assistant", "content": "A3"} for each in then]

    assert [said("Q1"), said("Q2"), SUMMARY, *after] == sent([*LOG, answered(), *then])


def test_the_next_compaction_stands_for_it() -> None:
    """One of a response leaves nothing before it, one of another window the user's messages again."""
    inline = {"type": "opaque", "provider": "openai", "data_json": json.dumps(SUMMARY), "model": MODEL}

    assert [SUMMARY, said("Q4")] == sent([*LOG, answered(), "Q3", model(inline), "Q4"])
    history = [*LOG, answered(), "Q3", model("A3"), answered(), "Q4"]
    assert [said("Q1"), said("Q2"), said("Q3"), SUMMARY, said("Q4")] == sent(history)


def test_another_model_is_sent_everything_once() -> None:
    """It cannot read the compaction."""
    items = sent([*LOG, answered(), "Q3"], "gpt-6-sol")

    assert [1, 1, 1, 0] == [json.dumps(items).count(words) for words in ("Q1", "A1", "Q2", "compaction")]


def test_a_window_that_was_loaded_goes_back_as_it_came() -> None:
    """Nothing of the user's is left out, because no answer comes before the compaction."""
    body = {"model": MODEL, "input": [WINDOW[0], WINDOW[2], WINDOW[3], heard("Q3")]}
    messages = read_request("openai-responses", json.dumps(body)).messages

    assert ["user", "user", "assistant", "user"] == [message["role"] for message in messages]
    assert [said("Q1"), said("Q2"), SUMMARY, said("Q3")] == sent(messages)
