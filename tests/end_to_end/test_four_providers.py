"""One conversation goes from provider to provider, through their own SDKs, and everybody takes what it is sent."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from reel import tool_result
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.end_to_end import answers
from tests.end_to_end.provider import Provider, serving
from tests.end_to_end.sdks import MODELS, ask

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
}


class Tour:
    """The conversation, and the four who answer in it."""

    def __init__(self, client: Client, providers: dict[str, Provider]) -> None:
        self.client = client
        self.providers = providers
        client.create("tour", system="Be brief")

    def say(self, words: str) -> None:
        self.client.add("tour", words)

    def answer(self, *calls: str) -> None:
        """Answer calls, in this order."""
        self.client.add("tour", [tool_result(call, "found") for call in calls])

    def ask(self, name: str, answer: Json | list[Json]) -> Json:
        """Have a provider answer, and give the body that it was sent."""
        provider = self.providers[name]
        provider.answers.append(answer)
        found = self.client.render("tour", name, model=MODELS[name], extra=EXTRA[name])
        assert found.ready
        body = json.loads(found.body)
        said = ask(name, provider.url, body, stream=isinstance(answer, list))
        self.client.ingest("tour", name, said, model=MODELS[name], names=found.names)

        assert [] == provider.problems
        return provider.bodies[-1]

    def open_calls(self) -> list[str]:
        return [call.id for call in self.client.agent("tour").open_calls]


@pytest.fixture
def tour() -> Iterator[Tour]:
    """A conversation in a daemon of its own, and four providers."""
    with short_directory() as directory, ExitStack() as stack:
        daemon = Daemon(directory).start()
        stack.callback(daemon.close)
        client = stack.enter_context(daemon.client())
        yield Tour(client, {name: stack.enter_context(serving(name.replace("-", "_"))) for name in MODELS})


def test_from_provider_to_provider(tour: Tour) -> None:
    """Calls are made by one and answered to another, whole and streamed; what each signed comes back to it alone."""
    tour.say("What is on the tapes?")
    tour.ask("anthropic", answers.anthropic("toolu_1", "toolu_2"))
    tour.answer("toolu_2", "toolu_1")
    tour.ask("openai-chat", answers.chat_stream("call_3"))
    tour.answer("call_3")
    tour.ask("gemini", answers.gemini("fc_4"))
    assert ["fc_4"] == tour.open_calls()
    tour.say("Never mind that one")
    tour.ask("openai-responses", answers.responses_stream("call_5"))
    tour.answer("call_5")
    again = tour.ask("openai-responses", answers.responses("call_6"))
    tour.answer("call_6")
    tour.ask("gemini", answers.gemini_stream("fc_7"))
    tour.answer("fc_7", "fc_4")
    back = tour.ask("gemini", answers.gemini("fc_8"))
    tour.answer("fc_8")
    home = tour.ask("anthropic", answers.anthropic_stream("toolu_9"))
    tour.answer("toolu_9")
    tour.ask("anthropic", answers.anthropic("toolu_10"))
    tour.say("Stop")
    last = tour.ask("openai-chat", answers.chat())
    everything = json.dumps([last, home, back, again])
    messages = tour.client.messages("tour").messages

    assert ["the last word"] == [block["text"] for block in messages[-1]["content"] if block["type"] == "text"]
    assert answers.ENCRYPTED in json.dumps(again)
    assert answers.SIGNED_BY_GEMINI in json.dumps(back)
    assert answers.SIGNED_BY_ANTHROPIC in json.dumps(home)
    assert 1 == everything.count(answers.ENCRYPTED)
    assert answers.SIGNED_BY_ANTHROPIC not in json.dumps([last, back, again])
    assert "Late result of look.up (fc_4)" in json.dumps(back)
    assert {"look.up"} == {
        block["name"] for message in messages for block in message["content"] if block["type"] == "tool_call"
    }
