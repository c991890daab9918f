"""Fixtures with an Emacs, and the text that its buffers must have."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reel.said.messages import Message
from reel.sync.client import Client
from tests.editors.emacs.driver import Emacs
from tests.editors.surroundings import Require

Shown = Callable[[str], str]


@pytest.fixture
def start(require: Require, directory: Path, environment: dict[str, str]) -> Iterator[Callable[..., Emacs]]:
    """A function that starts an Emacs with additional environment variables; it ends with the test."""
    started: list[Emacs] = []

    def start(**variables: str) -> Emacs:
        started.append(Emacs(require("emacs"), directory, environment | variables))
        return started[-1]

    yield start
    for emacs in started:
        emacs.close()


@pytest.fixture
def emacs(start: Callable[..., Emacs]) -> Emacs:
    """An Emacs with the plug-in."""
    return start()


@pytest.fixture
def shown(client: Client) -> Shown:
    """A function that returns the text that the buffer of a conversation must show."""

    def text(agent: str) -> str:
        system = client.agent(agent).system
        prompt = "" if system is None else f"## system\n\n{system}\n\n"
        return prompt + "".join(_message(message) for message in client.iter_messages(agent))

    return text


def _message(message: Message) -> str:
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(message["time"] // 1000))
    texts = "".join(f"{block['text']}\n\n" for block in message["content"] if block["type"] == "text")
    return f"## {message['role']} #{message['seq']} · {moment}\n\n{texts}"
