"""Answers beside other clients, with a real daemon on each engine: none is lost."""

import json
from typing import Literal

import pytest

import reel
from reel.sync.client import Client
from tests.daemon import Daemon

pytestmark = pytest.mark.usefixtures("on_each_engine")

FORMAT: Literal["openai-chat"] = "openai-chat"


def whole(text: str) -> str:
    """Return the response of a provider."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "choices": [choice]})


def answer_what_is_taken_back(client: Client, other: Client) -> None:
    """Answer a conversation whose newest message another client undoes meanwhile."""
    with client.answer("demo", FORMAT) as answer:
        other.undo("demo")
        answer.feed(whole("A2"))


def test_answers_that_come_late(daemon: Daemon, client: Client) -> None:
    """A late answer is behind its question in the next request, and one to what is gone is kept, also after a crash."""
    client.add("demo", "U1", create=True)
    with daemon.client() as other:
        with client.answer("demo", FORMAT) as first:
            other.change("demo", title="T")
            other.add("demo", "U2")
            first.feed(whole("A1"))
        with pytest.raises(reel.Conflict) as refused:
            answer_what_is_taken_back(client, other)
    daemon.kill()
    daemon.start()
    client.redo("demo")

    assert 1 == first.late
    assert ["U1", "A1", "U2"] == [
        said["content"] for said in json.loads(client.render("demo", FORMAT).body)["messages"]
    ]
    assert refused.value.data["kept"] == client.history("demo", kinds=["note"]).events[-1]["seq"]
    assert [] == client.verify().problems
