"""The official SDKs send what ``render`` returns, and parse the responses into their own types."""

import json
from typing import Any

import pytest

from tests.end_to_end.provider import event

anthropic = pytest.importorskip("anthropic", reason="the SDKs are not installed")
openai = pytest.importorskip("openai", reason="the SDKs are not installed")
genai = pytest.importorskip("google.genai", reason="the SDKs are not installed")

Json = dict[str, Any]
MODELS = {
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro-preview",
    "gemini-interactions": "gemini-3-pro-preview",
}


def ask(name: str, url: str, body: Json, *, stream: bool) -> str:
    """Send a body, and give the answer, or its event stream, as the SDK says it.

    Args:
        name: the format.
        url: where the provider is.
        body: what ``render`` gave.
        stream: whether the answer is to come in pieces.
    """
    asking = {
        "openai-chat": _chat,
        "openai-responses": _responses,
        "anthropic": _anthropic,
        "gemini": _gemini,
        "gemini-interactions": _interactions,
    }
    return asking[name](url, body, stream)


def _chat(url: str, body: Json, stream: bool) -> str:
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:
        found = client.chat.completions.create(**body, stream=stream)
        return "".join(map(_written, found)) + "data: [DONE]\n\n" if stream else found.model_dump_json()


def _responses(url: str, body: Json, stream: bool) -> str:
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:
        found = client.responses.create(**body, stream=stream)
        return "".join(map(_written, found)) if stream else found.model_dump_json()


def _anthropic(url: str, body: Json, stream: bool) -> str:
    with anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client:
        found = client.messages.create(**body, stream=stream)
        return "".join(map(_written, found)) if stream else found.model_dump_json()


def _gemini(url: str, body: Json, stream: bool) -> str:
    """Parse JSON into the SDK's own types; a field of bytes is base64 in JSON."""
    contents = [genai.types.Content.model_validate_json(json.dumps(content)) for content in body.pop("contents")]
    config = genai.types.GenerateContentConfig.model_validate_json(json.dumps(body))
    asked = {"model": MODELS["gemini"], "contents": contents, "config": config}
    client = genai.Client(api_key="none", http_options={"base_url": url})
    try:
        if stream:
            return "".join(map(_written, client.models.generate_content_stream(**asked)))
        return str(client.models.generate_content(**asked).model_dump_json())
    finally:
        client.close()


def _interactions(url: str, body: Json, stream: bool) -> str:
    client = genai.Client(api_key="none", http_options={"base_url": url})
    try:
        found = client.interactions.create(**body, stream=stream)
        return "".join(map(_written, found)) if stream else str(found.model_dump_json())
    finally:
        client.close()


def _written(found: Any) -> str:
    return event(json.loads(found.model_dump_json()))
