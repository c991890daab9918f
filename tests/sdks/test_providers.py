"""One conversation goes from provider to provider, through their SDKs, and each accepts the body that it gets."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, cast

import pytest

from reel import Format, tool_result
from reel.sync.client import Client
from reeld.formats.table import FORMATS
from tests.daemon import short_directory
from tests.end_to_end import answers
from tests.end_to_end.provider import Provider, serving
from tests.forkserver import ForkedDaemon
from tests.sdks.clients import MODELS, ask

Json = dict[str, Any]
_SCHEMA = {"type": "object", "properties": {"tape": {"type": "integer"}}}
_FUNCTION = {"name": "look.up", "description": "Look a tape up", "parameters": _SCHEMA}
EXTRA: dict[str, Json] = {
    "openai-chat": {"tools": [{"type": "function", "function": _FUNCTION}]},
    "openai-responses": {
        "tools": [{"type": "function", **_FUNCTION, "strict": False}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    },
    "anthropic": {
        "tools": [{"name": "look.up", "input_schema": _SCHEMA}],
        "max_tokens": 1024,
        "thinking": {"type": "adaptive"},
    },
    "gemini": {"tools": [{"functionDeclarations": [_FUNCTION]}]},
    "gemini-interactions": {"tools": [{"type": "function", **_FUNCTION}]},
}
# An answer of each provider that calls a tool: one whole, one streamed.
ANSWERS: dict[str, Callable[[str], Json | list[Json]]] = {
    "openai-chat": answers.chat_stream,
    "openai-responses": answers.responses,
    "anthropic": answers.anthropic,
    "gemini": answers.gemini,
    "gemini-interactions": answers.interactions,
}
STREAMED: dict[str, Callable[[str], Json | list[Json]]] = {
    **ANSWERS,
    "openai-responses": answers.responses_stream,
    "anthropic": answers.anthropic_stream,
    "gemini": answers.gemini_stream,
    "gemini-interactions": answers.interactions_stream,
}


def maker(name: str) -> str:
    """Return whose signatures are accepted in a format."""
    return FORMATS[name].provider


class Tour:
    """The conversation, and the providers that answer in it."""

    def __init__(self, client: Client, providers: dict[str, Provider]) -> None:
        self.client = client
        self.providers = providers
        client.create("tour", system="Be brief")
        self.say("What is on the tapes?")

    def say(self, words: str) -> None:
        self.client.add("tour", words)

    def answer(self, *calls: str) -> None:
        """Add the results of calls, in this order."""
        self.client.add("tour", [tool_result(call, "found") for call in calls])

    def ask(self, name: str, answer: Json | list[Json]) -> Json:
        """Render for a provider, send the body, and ingest the answer; return the body that the provider accepted."""
        provider = self.providers[name]
        provider.answers.append(answer)
        found = self.client.render("tour", cast("Format", name), model=MODELS[name], extra=EXTRA[name])
        assert found.ready
        body = json.loads(found.body)
        said = ask(name, provider.url, body, stream=isinstance(answer, list))
        self.client.ingest("tour", cast("Format", name), said, model=MODELS[name], names=found.names)

        assert [] == provider.problems
        return provider.bodies[-1]

    def turn(self, name: str, call: str) -> Json:
        """Have a provider call a tool, and add the result; return the body that the provider accepted."""
        body = self.ask(name, ANSWERS[name](call))
        self.answer(call)
        return body

    def open_calls(self) -> list[str]:
        return [call.id for call in self.client.agent("tour").open_calls]


@pytest.fixture
def tour() -> Iterator[Tour]:
    """A conversation that begins with a question, in its own daemon, and every provider."""
    with short_directory() as directory, ExitStack() as stack:
        daemon = ForkedDaemon(directory).start()
        stack.callback(daemon.close)
        client = stack.enter_context(daemon.client())
        yield Tour(client, {name: stack.enter_context(serving(name.replace("-", "_"))) for name in MODELS})


def test_a_tour_of_all_providers(tour: Tour) -> None:
    """Each provider accepts the calls and results of all others, whole and streamed."""
    for number, name in enumerate([*ANSWERS, *reversed(ANSWERS)]):
        kind = ANSWERS if number < len(ANSWERS) else STREAMED
        tour.ask(name, kind[name](f"call_{number}"))
        tour.answer(f"call_{number}")
    last = tour.ask("openai-chat", answers.chat())

    assert 2 * len(ANSWERS) == json.dumps(last).count("found")
    assert "the last word" in json.dumps(tour.client.messages("tour", last=1).messages)


@pytest.mark.parametrize(
    ("name", "answer", "signature"),
    [
        ("anthropic", answers.anthropic("call_1"), answers.SIGNED_BY_ANTHROPIC),
        ("openai-responses", answers.responses_stream("call_1"), answers.ENCRYPTED),
        ("gemini", answers.gemini("call_1"), answers.SIGNED_BY_GEMINI),
        ("gemini", answers.gemini_stream("call_1"), answers.SIGNED_BY_GEMINI),
        ("gemini-interactions", answers.interactions_stream("call_1"), answers.SIGNED_BY_GEMINI),
    ],
)
def test_a_signature_goes_back_to_its_provider_alone(
    tour: Tour, name: str, answer: Json | list[Json], signature: str
) -> None:
    """A provider gets back what it signed, and no other provider does."""
    tour.ask(name, answer)
    tour.answer("call_1")
    others = [tour.turn(other, f"call_{other}") for other in ANSWERS if maker(other) != maker(name)]
    back = tour.turn(name, "call_9")

    assert signature in json.dumps(back)
    assert signature not in json.dumps(others)


@pytest.mark.parametrize("name", ANSWERS)
def test_results_in_another_order(tour: Tour, name: str) -> None:
    """A provider accepts the results of two calls in the opposite order of the calls."""
    tour.ask("anthropic", answers.anthropic("toolu_1", "toolu_2"))
    tour.answer("toolu_2", "toolu_1")
    body = tour.turn(name, "call_3")

    assert 2 == json.dumps(body).count("found")


def test_a_late_result_of_gemini(tour: Tour) -> None:
    """A result that comes after the conversation went on is sent to Gemini as a text."""
    tour.ask("gemini", answers.gemini("fc_4"))
    assert ["fc_4"] == tour.open_calls()
    tour.say("Never mind that one")
    tour.ask("openai-chat", answers.chat())
    tour.answer("fc_4")
    back = tour.turn("gemini", "fc_5")

    assert "Late result of look.up (fc_4)" in json.dumps(back)
    assert [] == tour.open_calls()


@pytest.mark.parametrize("name", ANSWERS)
def test_the_tools_name_is_restored(tour: Tour, name: str) -> None:
    """A name that had to be changed for a provider is stored as the tool's own."""
    tour.ask(name, ANSWERS[name]("call_1"))
    (answered,) = tour.client.messages("tour", last=1).messages

    assert ["look.up"] == [block["name"] for block in answered["content"] if block["type"] == "tool_call"]
