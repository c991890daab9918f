"""Thinking that its model bound to what was before it goes back, over restarts and from another daemon (rule A8)."""

import json
from typing import Any

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon

pytestmark = pytest.mark.usefixtures("on_each_engine")

MODEL = "claude-opus-5-5"


def answer(client: Client, words: str, **how: Any) -> None:
    """Ask, render and add an answer with thinking, as a loop does it."""
    client.add("demo", f"{words}?")
    with client.answer("demo", "anthropic", {"model": MODEL, "max_tokens": 9}, **how) as found:
        thought = {"type": "thinking", "thinking": words, "signature": "c2ln"}
        blocks = [thought, {"type": "text", "text": f"{words}."}]
        found.feed(json.dumps({"role": "assistant", "model": MODEL, "content": blocks, "stop_reason": "end_turn"}))


def thoughts(client: Client) -> list[str]:
    """Return the thinking that goes back with the next question."""
    body = json.loads(client.render("demo", "anthropic", extra={"model": MODEL, "max_tokens": 9}).body)
    return [block["thinking"] for said in body["messages"] for block in said["content"] if block["type"] == "thinking"]


def test_bound_thinking_goes_back_after_another_rendering_and_a_restart(daemon: Daemon, client: Client) -> None:
    """What was sent is kept with the answer: neither memory nor a second rendering in between counts."""
    client.create("demo", system="Be brief")
    answer(client, "one")
    client.render("demo", "anthropic", extra={"model": "claude-opus-4-8"})
    client.render("demo", "openai-chat", extra={"model": "gpt-5.2"})
    answer(client, "two")
    daemon.end()
    daemon.start()
    answer(client, "three")

    assert ["one", "two", "three"] == thoughts(client)

    client.add("demo", {"role": "system", "content": "Be long"})
    answer(client, "four")
    assert ["four"] == thoughts(client)
    client.undo("demo")
    client.undo("demo")
    client.undo("demo")
    assert ["one", "two", "three"] == thoughts(client)


def test_a_program_that_passes_no_prefix_answers_the_only_rendering(client: Client) -> None:
    """With two different ones it is not known which one was answered, and nothing is sent that may be refused."""
    body = {"role": "assistant", "model": MODEL, "stop_reason": "end_turn"}
    client.create("demo")
    other: list[dict[str, Any]] = [{"model": MODEL, "tools": []}]
    for words, others in (("one", []), ("two", other)):
        client.add("demo", f"{words}?")
        for extra in ({"model": MODEL, "max_tokens": 9}, *others):
            client.render("demo", "anthropic", extra=extra)
        thought = {"type": "thinking", "thinking": words, "signature": "c2ln"}
        client.ingest("demo", "anthropic", {**body, "content": [thought, {"type": "text", "text": words}]})

    assert ["one"] == thoughts(client)


def test_a_redaction_takes_the_thinking_that_was_bound_to_it(client: Client) -> None:
    """What was thought before it goes back."""
    client.create("demo")
    answer(client, "one")
    answer(client, "secret")
    answer(client, "three")
    client.redact("demo", text="secret?")

    assert ["one"] == thoughts(client)
