"""A model has the name that was asked for and the name that answered; what it signed goes back to both (rule X16)."""

import json
from typing import Any

import pytest

from reeld.formats.ingest import read_response
from tests.reeld.formats.histories import Json, call, model, user
from tests.reeld.formats.sending import sent

ANTHROPIC: Json = {
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "SIGNED"},
        {"type": "redacted_thinking", "data": "SIGNED"},
        {"type": "text", "text": "Hi"},
    ]
}
RESPONSES: Json = {
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SIGNED"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
    ]
}
GEMINI: Json = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "hm", "thought": True, "thoughtSignature": "SIGNED"},
                    {"text": "Hi", "thoughtSignature": "SIGNED"},
                    {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "SIGNED"},
                ]
            }
        }
    ]
}
PROFILE = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
CASES = [
    ("anthropic", ANTHROPIC, "claude-opus-4-6@default", "claude-opus-4-6"),
    ("anthropic", ANTHROPIC, "claude-opus-4-6[1m]", "claude-opus-4-6-20260205"),
    ("anthropic", ANTHROPIC, PROFILE, "claude-opus-4-6"),
    ("openai-responses", RESPONSES, "my-deployment", "gpt-5-2025-08-07"),
    ("gemini", GEMINI, "gemini-flash-latest", "gemini-3-flash"),
]


def answered(name: str, body: Json, asked: str | None, answers: str | None) -> Any:
    """Return the message of an answer."""
    named = {} if answers is None else {"modelVersion" if name == "gemini" else "model": answers}
    return read_response(name, json.dumps({**body, **named}), asked)[0]


def signed(name: str, message: Any, target: str | None) -> tuple[int, int]:
    """Render an answer; return how much that is signed is sent, and how much is reported."""
    body, report = sent(name, ["Hi", message, user("And?")], target)
    return json.dumps(body).count("SIGNED"), sum(change.action == "dropped" for change in report)


@pytest.mark.parametrize(("name", "body", "asked", "answers"), CASES)
def test_either_name_gets_back_what_is_signed(name: str, body: Json, asked: str, answers: str) -> None:
    """Another model does not, and that is reported."""
    message = answered(name, body, asked, answers)
    whole = json.dumps(body).count("SIGNED")

    assert [(whole, 0)] * 3 == [signed(name, message, target) for target in (asked, answers, None)]
    assert (0, whole) == signed(name, message, "another-model-9")


@pytest.mark.parametrize(("name", "body", "asked", "answers"), CASES)
def test_an_answer_without_the_name_that_was_asked_for_has_one_name(
    name: str, body: Json, asked: str, answers: str
) -> None:
    """So do answers that were stored before, and bodies that name no model."""
    whole = json.dumps(body).count("SIGNED")

    assert (whole, 0) == signed(name, answered(name, body, None, answers), answers)
    assert (whole, 0) == signed(name, answered(name, body, asked, None), asked)
    assert "asked_model" not in json.dumps(answered(name, body, answers, answers))


def test_the_name_that_was_asked_for_is_kept_where_it_matters() -> None:
    """A text or a call without a signature is read by every model."""
    plain = {"content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "c1", "name": "look", "input": {}}]}
    message = answered("anthropic", plain, PROFILE, "claude-opus-4-6")

    assert {"provider": "anthropic", "model": "claude-opus-4-6", "asked_model": PROFILE} == message["provider_metadata"]
    assert [False, False] == ["provider_metadata" in block for block in message["content"]]


@pytest.mark.parametrize(
    ("metadata", "target", "why"),
    [
        ({"provider": "gemini", "signature": "s"}, "anthropic", "the signature of gemini"),
        ({"signature": "s"}, "gemini", "the signature of an unknown provider"),
        ({"provider": "gemini", "model": "m-1", "signature": "s"}, "gemini", "the signature of another model, m-1"),
        ({"provider": "gemini", "model": 5, "signature": "s"}, "gemini", None),
        ({"provider": "gemini", "model": "m-1"}, "gemini", None),
    ],
)
def test_a_signature_that_is_not_sent_is_reported(metadata: Json, target: str, why: str | None) -> None:
    """Whether it is left out or a placeholder takes its place."""
    history = [user("Hi"), model("Hi", call(provider_metadata=metadata)), user("So?")]
    _, report = sent(target, history, "m-2")

    assert [why] * (why is not None) == [change.why for change in report if change.action == "dropped"]
