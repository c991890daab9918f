"""The command that the user has set to let a model answer, run by Emacs."""

import json

import pytest

from reel.sync.client import Client
from tests.editors.emacs.driver import Emacs
from tests.editors.texts import texts

pytestmark = pytest.mark.usefixtures("daemon")

ANSWER = 'echo "out"; reel add "$REEL_AGENT" --role assistant "an answer"'


@pytest.fixture
def demo(client: Client, emacs: Emacs) -> Emacs:
    """An Emacs with an empty conversation."""
    client.create("demo")
    emacs.command("reel-open", "demo")
    emacs.until(lambda: client.agent("demo").attached == 1)
    return emacs


def setup(emacs: Emacs, command: str) -> None:
    """Set the command."""
    emacs.eval(f"(ignore (setq reel-ask-command {json.dumps(command)}))")


def test_ask_sends_and_runs_the_command_in_emacs(demo: Emacs, client: Client) -> None:
    """``reel-ask`` sends the text, then runs the command for the conversation."""
    setup(demo, ANSWER)
    demo.type("aWhat?\r")
    demo.until(lambda: "an answer" in demo.text())

    assert ["What?", "an answer"] == texts(client)


def test_ask_without_a_text_in_emacs(demo: Emacs, client: Client) -> None:
    """An empty text is not sent; the command runs for what was sent before."""
    setup(demo, ANSWER)
    demo.type("a\r")
    demo.until(lambda: "an answer" in demo.text())

    assert ["an answer"] == texts(client)


def test_a_command_that_fails_in_emacs(demo: Emacs) -> None:
    """If the command fails, the last line of its errors is shown."""
    setup(demo, "echo first >&2; echo no such model >&2; exit 1")
    demo.type("a\r")

    demo.until_said("demo: no such model")


def test_stop_ends_the_command_in_emacs(demo: Emacs) -> None:
    """``reel-stop`` ends the command that runs, without an error; a second one is refused meanwhile."""
    setup(demo, "exec sleep 600")
    demo.type("a\r")
    demo.until(lambda: demo.eval("(reel--activity)") == ":asking")
    demo.type("a")
    demo.until_said("demo: the command is still running (M-x reel-stop ends it)")
    demo.type("k")
    demo.until(lambda: demo.eval("(reel--activity)") == "")
    demo.type("k")

    demo.until_said("demo: no command is running")
