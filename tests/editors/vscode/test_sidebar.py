"""The list of conversations in the side bar of VS Code."""

from pathlib import Path

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.vscode.driver import VSCode


def test_the_list_in_the_side_bar(client: Client, editor: VSCode) -> None:
    """It has the live conversations, the last changed first, with what each is about; a click opens one."""
    assert [[], "no conversations (Reel: New Conversation creates one)"] == editor.ask("list")
    client.create("deck", title="Tape decks")
    client.create("gone")
    client.kill("gone")
    client.add("demo", "What is a\nreel?", create=True)
    client.draft("demo", "I th")
    (demo, deck), message = editor.ask("list")

    assert ["demo", ["demo"], "1  What is a reel?  (writing: python)"] == [demo[0], demo[2], demo[1][18:]]
    assert ["deck", ["deck"], "0  Tape decks"] == [deck[0], deck[2], deck[1][18:]]
    assert "" == message
    assert "/deck.reel" == editor.run("open", *deck[2])["looksAt"]


def test_short_names_in_the_side_bar(client: Client, editor: VSCode) -> None:
    """The list has the short form of a name with an id, and opens the conversation by its whole name."""
    client.create("codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b")
    ((name, _, opened),), _ = editor.ask("list")

    assert ("codex/64913c3b", ["codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b"]) == (name, opened)


def test_the_list_is_read_again(client: Client, editor: VSCode) -> None:
    """Commands that change what it shows have it read again, and so do its own button and coming back to the window."""
    editor.run("new", "demo")
    editor.run("send", "hello")
    assert 2 == editor.ask("refreshed")
    editor.run("info")
    editor.run("next")
    assert 2 == editor.ask("refreshed")
    editor.run("refresh")
    editor.ask("focus")

    assert 4 == editor.ask("refreshed")
    assert "1  hello" == editor.ask("list")[0][0][1][18:]
    assert 1 == client.agent("demo").messages


def test_the_list_without_a_daemon(built: Path, environment: dict[str, str], daemon: Daemon) -> None:
    """If the daemon cannot be reached, the list says why; it is not started if it was stopped on purpose."""
    editor = VSCode(built, environment | {"SETTING_command": ""})
    daemon.end()

    items, message = editor.ask("list")
    assert [] == items
    assert message.startswith(f"no daemon answers on {daemon.socket}")
    assert 0 == editor.close()
