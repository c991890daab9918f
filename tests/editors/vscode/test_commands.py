"""The commands of the extension for VS Code."""

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.texts import texts
from tests.editors.vscode.driver import MEGABYTE, VSCode, laid


def test_every_command_in_vs_code(daemon: Daemon, client: Client, editor: VSCode) -> None:
    """Each command changes the conversation, the document shows it, and the message says it."""
    assert "/demo.reel" == editor.run("new", answers=["demo"])["looksAt"]
    assert ["demo: added #2"] == editor.run("send", answers=["first"])["said"]
    assert laid(("user #2", "first")) == editor.shows("demo", "first")
    assert ["demo: marked as here (#3)"] == editor.run("mark", answers=["here"])["said"]
    editor.ask("select", text="second\nwith two lines")
    editor.run("send")
    assert laid(("user #2", "first"), ("user #4", "second\nwith two lines")) == editor.shows("demo", "second")
    came = editor.run("rewind", answers=["here"])
    assert ["the newest mark", "here"] == came["asked"][0]["choices"]
    assert ["demo: back at here (#3); 1 message set aside"] == came["said"]
    assert laid(("user #2", "first")) == editor.shows("demo", "second", gone=True)
    assert ["demo: undid the rewind (#5); Reel: Redo does it again"] == editor.run("undo")["said"]
    editor.shows("demo", "second")
    assert ["demo: redid the rewind (#5)"] == editor.run("redo")["said"]
    editor.shows("demo", "second", gone=True)
    assert "/other.reel" == editor.run("clone", answers=["other"])["looksAt"]
    assert ["other: cleared; Reel: Undo brings it back"] == editor.run("clear")["said"]
    assert "" == editor.shows("other", "first", gone=True)
    came = editor.run("open", answers=["demo"])
    assert (["other", "demo"], "/demo.reel") == (came["asked"][0]["choices"], came["looksAt"])
    (line,) = editor.run("info")["said"]
    assert line.startswith(f"demo: id {client.agent('demo').id}; messages 1; head #7; marks here #3; context about ")
    assert "vscode" == client.history("demo").events[1]["client"]
    assert daemon.process.poll() is None


def test_a_cancelled_question_changes_nothing(client: Client, editor: VSCode) -> None:
    """A command whose question is cancelled changes nothing."""
    client.add("demo", "here", create=True)
    editor.run("open", "demo")
    for command in ("open", "send", "new", "clone", "mark", "rewind"):
        assert [] == editor.run(command)["said"]

    assert (2, ["demo"]) == (client.agent("demo").head, [row.name for row in client.iter_agents()])


@pytest.mark.parametrize(("command", "answer"), [("send", "hi"), ("mark", "here"), ("rewind", "first")])
def test_a_command_keeps_its_conversation(client: Client, editor: VSCode, command: str, answer: str) -> None:
    """A command applies to the conversation that was active when it started to ask."""
    for name in ("one", "two"):
        client.create(name)
        client.mark(name, "first")
        client.add(name, "said")
        editor.run("open", name)
    editor.run("open", "one")
    editor.ask("run", command=command, answers=[answer], meanwhile="two")

    assert [4, 3] == [client.agent(name).head for name in ("one", "two")]


def test_an_empty_answer_is_not_sent(client: Client, editor: VSCode) -> None:
    """An empty text is not sent, and a message says so."""
    client.create("demo")
    editor.run("open", "demo")

    assert ["nothing sent"] == editor.run("send", answers=[""])["said"]
    assert 1 == client.agent("demo").head


def test_an_error_is_one_line_in_vs_code(client: Client, editor: VSCode) -> None:
    """An error is one line with what is wrong and what to do."""
    assert editor.refused("send", "hi").startswith("no conversation is open (Reel: Open a Conversation ")
    assert "no conversation zed (Reel: New Conversation creates it)" == editor.refused("open", "zed")
    client.create("demo")
    editor.run("open", "demo")
    assert "nothing to undo" in editor.refused("undo")
    assert editor.refused("send", "x" * (17 * MEGABYTE)).startswith("add: ")
    editor.run("send", "it goes on")
    editor.shows("demo", "it goes on")


def test_what_is_typed_while_a_composed_document_is_sent_stays(client: Client, editor: VSCode) -> None:
    """A composed document in which more was typed while it was sent is not closed."""
    client.create("demo")
    editor.run("open", "demo")
    editor.run("compose")
    editor.ask("write", text="hello")
    editor.ask("run", command="send", typed="hello and more")

    assert ["hello"] == texts(client)
    assert "hello and more" == editor.ask("active")


def test_no_other_document_is_closed_after_a_composed_one_was_sent(client: Client, editor: VSCode) -> None:
    """A document that the user goes to while a composed one is sent stays open."""
    for name in ("demo", "other"):
        client.create(name)
        editor.run("open", name)
    editor.run("open", "demo")
    editor.run("compose")
    editor.ask("write", text="hello")

    assert "/other.reel" == editor.ask("run", command="send", seen="other")["looksAt"]
    assert ["hello"] == texts(client)
