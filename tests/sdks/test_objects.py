"""The objects that the official SDKs return are answers as they are: events of a stream, and whole responses."""

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import pytest

import reel
from tests.daemon import Daemon
from tests.end_to_end import answers
from tests.end_to_end.answers import Json
from tests.end_to_end.provider import serving

anthropic = pytest.importorskip("anthropic", reason="the SDKs are not installed")
openai = pytest.importorskip("openai", reason="the SDKs are not installed")
genai = pytest.importorskip("google.genai", reason="the SDKs are not installed")


@pytest.fixture
def tidied() -> Iterator[None]:
    """Close what the SDKs leave open within the test, which ignores the warnings about it, not in a later one."""
    yield
    gc.collect()


def _chat(url: str, request: Json) -> Any:
    return openai.OpenAI(api_key="none", base_url=f"{url}/v1").chat.completions.create(**request)


def _responses(url: str, request: Json) -> Any:
    return openai.OpenAI(api_key="none", base_url=f"{url}/v1").responses.create(**request)


def _anthropic(url: str, request: Json) -> Any:
    return anthropic.Anthropic(api_key="none", base_url=url).messages.create(**request)


GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "the last word"}]}, "finishReason": "STOP"}],
    "modelVersion": "gemini-3-pro-preview",
}


def _gemini(url: str, request: Json) -> Any:
    client = genai.Client(api_key="none", http_options={"base_url": url})
    return client.models.generate_content(model="gemini-3-pro-preview", contents=request["contents"])


def _interactions(url: str, request: Json) -> Any:
    client = genai.Client(api_key="none", http_options={"base_url": url})
    found = client.interactions.create(**request)
    return list(found) if request.get("stream") else found


@pytest.mark.usefixtures("tidied")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("name", "ask", "response", "expected"),
    [
        ("openai-chat", _chat, answers.chat(), ("the last word", [])),
        ("openai-chat", _chat, answers.chat_stream("c1"), ("One more tape", [{"tape": 1}])),
        ("openai-responses", _responses, answers.responses("c1"), ("", [{"tape": 1}])),
        ("openai-responses", _responses, answers.responses_stream("c1"), ("", [{"tape": 1}])),
        ("anthropic", _anthropic, answers.anthropic("c1"), ("Let me look", [{"tape": 1}])),
        ("anthropic", _anthropic, answers.anthropic_stream("c1"), ("And once more", [{"tape": 1}])),
        ("gemini", _gemini, GEMINI, ("the last word", [])),
        ("gemini-interactions", _interactions, answers.interactions("c1"), ("", [{"tape": 1}])),
        ("gemini-interactions", _interactions, answers.interactions_stream("c1"), ("On it", [{"tape": 1}])),
    ],
)
def test_an_answer_of_an_sdk(
    daemon: Daemon, name: str, ask: Callable[[str, Json], Any], response: Json | list[Json], expected: tuple[str, Any]
) -> None:
    """An SDK takes the request as keyword arguments, and what it returns is fed as it is."""
    tokens = {"max_tokens": 9, "model": "claude-opus-4-8"} if name == "anthropic" else {"model": "gpt-5"}
    extra = {**tokens, "stream": True} if isinstance(response, list) else tokens
    with serving(name.replace("-", "_")) as provider, daemon.client() as client:
        provider.answers.append(response)
        agent = client.create().name
        client.add(agent, "What?")
        with client.answer(agent, cast("reel.Format", name), extra if name != "gemini" else None) as answer:
            returned = ask(provider.url, answer.request)
            for piece in cast("Iterable[Any]", returned) if isinstance(response, list) else [returned]:
                answer.feed(piece)

        assert expected == (answer.text, [call.arguments for call in answer.calls])
        assert [] == provider.problems


def test_ingest_of_an_sdks_response(daemon: Daemon) -> None:
    """A response of an SDK is ingested as it is, and so is a map."""
    message = openai.types.chat.ChatCompletion.model_validate(answers.chat())
    with daemon.client() as client:
        agent = client.create().name
        client.ingest(agent, "openai-chat", message)
        client.ingest(agent, "openai-chat", answers.chat())

        assert ["the last word"] * 2 == [
            block["text"]
            for each in client.messages(agent).messages
            for block in each["content"]
            if block["type"] == "text"
        ]
        with pytest.raises(reel.InvalidParams, match="expected text, a map, or an object"):
            client.ingest(agent, "openai-chat", 5)  # type: ignore[arg-type]
