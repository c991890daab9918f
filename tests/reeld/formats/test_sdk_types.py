"""What the vendors' SDKs know of requests and responses is read and kept."""

import json
from typing import Any

import pytest

from reeld.core.validation import rows_from
from reeld.formats.ingest import read_response
from tests.reeld.formats.sdk_examples import example, keys, with_nulls

pytestmark = pytest.mark.slow

anthropic_types = pytest.importorskip("anthropic.types", reason="the SDKs are not installed")
beta_types = pytest.importorskip("anthropic.types.beta", reason="the SDKs are not installed")
chat_types = pytest.importorskip("openai.types.chat", reason="the SDKs are not installed")
responses_types = pytest.importorskip("openai.types.responses", reason="the SDKs are not installed")
gemini_types = pytest.importorskip("google.genai.types", reason="the SDKs are not installed")

Json = dict[str, Any]
ANSWERS = {
    "Message": ("anthropic", anthropic_types.Message),
    "BetaMessage": ("anthropic", beta_types.BetaMessage),
    "ChatCompletion": ("openai-chat", chat_types.ChatCompletion),
    "Response": ("openai-responses", responses_types.Response),
    "GenerateContentResponse": ("gemini", gemini_types.GenerateContentResponse),
}
each_answer = pytest.mark.parametrize(("name", "kind"), ANSWERS.values(), ids=ANSWERS)
# The keys of an answer with another name in the metadata, or that are its content.
READ = {
    **dict.fromkeys(("id", "responseId"), "response_id"),
    "modelVersion": "model",
    "usageMetadata": "usage",
    **dict.fromkeys(("stop_reason", "finish_reason", "finishReason"), "finish_reason"),
}
NOT_KEPT = {
    *("content", "choices", "output", "candidates", "message", "index"),
    *("object", "type", "role", "instructions", "tools", "sdkHttpResponse", "parsed"),
}


@each_answer
def test_everything_beside_an_answer_is_kept(name: str, kind: Any) -> None:
    """It is in the metadata of the message, whatever the SDK knows of (rules X15 and R11)."""
    body = example(kind, full=True)
    inside = {"openai-chat": "choices", "gemini": "candidates"}.get(name)
    beside = {**body, **(body[inside][0] if inside else {})}
    message = read_response(name, json.dumps(body))[0]
    kept = {key.removesuffix("_json") for key in message["provider_metadata"]}

    assert set() == {READ.get(key, key) for key in beside.keys() - NOT_KEPT} - kept
    assert rows_from([message])


@each_answer
def test_an_answer_with_nulls_is_that_without(name: str, kind: Any) -> None:
    """A model dumps every key that it lacks as null."""
    body = example(kind, full=False)
    whole = read_response(name, json.dumps({**body, **FINISHED.get(name, {})}))

    assert whole == read_response(name, json.dumps(with_nulls(kind, {**body, **FINISHED.get(name, {})})))
    assert keys(kind)


FINISHED: dict[str, Json] = {"gemini": {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}}
