"""The command that the user has set to let a model answer, run by VS Code."""

from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.editors.texts import texts
from tests.editors.vscode.driver import VSCode, script

ANSWER = 'echo "out"; reel add "$REEL_AGENT" --role assistant "an answer"'


@pytest.mark.parametrize(("text", "sent"), [("What?", ["What?"]), ("", [])])
def test_ask_in_vs_code(built: Path, environment: dict[str, str], client: Client, text: str, sent: list[str]) -> None:
    """The text is sent unless it is empty, then the command runs for the conversation."""
    client.create("demo")
    editor = VSCode(built, environment | {"SETTING_ask": ANSWER})
    editor.run("open", "demo")
    editor.run("ask", answers=[text])
    editor.shows("demo", "an answer")

    assert [*sent, "an answer"] == texts(client)
    assert 0 == editor.close()


def test_stop_ends_the_command_in_vs_code(built: Path, environment: dict[str, str], client: Client) -> None:
    """The command that runs is ended without an error; a second one is refused meanwhile."""
    client.create("demo")
    editor = VSCode(built, environment | {"SETTING_ask": "sleep 600"})
    editor.run("open", "demo")
    editor.run("ask", answers=[""])
    assert "demo · asking" == editor.ask("status")
    assert "demo: the command is still running (Reel: Stop Asking ends it)" == editor.refused("ask")
    editor.run("stop")

    assert "demo" == editor.ask("status")
    assert "demo: no command is running" == editor.refused("stop")
    assert 0 == editor.close()


def test_closing_vs_code_ends_the_command(built: Path, environment: dict[str, str], client: Client) -> None:
    """A command that runs does not outlive the window."""
    client.create("demo")
    editor = VSCode(built, environment | {"SETTING_ask": "sleep 600"})
    editor.run("open", "demo")
    editor.run("ask", answers=[""])

    assert 0 == editor.close()


def test_no_command_to_ask_with_in_vs_code(built: Path, environment: dict[str, str]) -> None:
    """If the command is not found, the error says so, and what to do."""
    body = """
        const {Asking} = require('./out/src/editor/asking');
        const asking = new Asking(['reel-is-not-here', 'ask'], '/no/socket', () => {});
        say(await new Promise((failed) => asking.start('demo', failed)));
    """
    said = "there is no command reel-is-not-here to ask with: install reel as its README says, or set reel.command"

    assert [f"demo: {said}"] == script(built, environment, body)
