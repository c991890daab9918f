"""The documents that show conversations in VS Code."""

from pathlib import Path

import pytest

from reel.said.new_messages import tool_call
from reel.sync.client import Client
from tests.editors.vscode.driver import MEGABYTE, VSCode, laid


def test_changes_by_others_appear_in_vs_code(client: Client, editor: VSCode) -> None:
    """A change by another client is in the document, whatever its kind."""
    client.create("demo", system="Be brief.")
    editor.run("open", "demo")
    client.draft("demo", "I am wri")
    assert editor.shows("demo", "I am wri").startswith(
        "## system\n\nBe brief.\n\n## assistant · writing… (python)\n\nI am wri"
    )
    client.add("demo", [f"n{number}." for number in range(2500)])
    shown = [(f"user #{seq}", f"n{seq - 3}.") for seq in range(3, 2503)]
    editor.shows("demo", "n2399.")  # the newest come first, or last
    assert laid(("system", "Be brief."), *shown) == editor.shows("demo", "n2499.")
    client.clear("demo")
    editor.shows("demo", "n0.", gone=True)
    client.undo("demo")
    editor.shows("demo", "n2399.")
    assert laid(("system", "Be brief."), *shown) == editor.shows("demo", "n2499.")
    client.clone("demo", "other")
    client.change("demo", name="renamed")
    editor.run("send", "by its id")
    editor.shows("demo", "by its id")
    client.clone("other", into="renamed")
    assert laid(("system", "Be brief."), *shown) == editor.shows("demo", "by its id", gone=True)
    _, bottom, count = editor.ask("sight")
    assert count - 1 == bottom


def test_who_reads_keeps_the_place_when_lines_come_above(client: Client, editor: VSCode) -> None:
    """What is in sight stays there, with the cursor, when the prompt becomes longer."""
    client.add("demo", [f"n{number}." for number in range(50)], create=True)
    editor.run("open", "demo")
    row = editor.shows("demo", "n49.").split("\n").index("n20.")
    editor.ask("go", line=row + 1)
    editor.ask("scroll", line=row)
    client.add("demo", [{"role": "system", "content": "Be\nbrief."}])
    editor.shows("demo", "brief.")

    assert "n20." == editor.ask("sight")[0]
    assert row + 1 + len(["## system", "", "Be", "brief.", ""]) == editor.ask("line")


def test_a_name_that_another_conversation_has_now_in_vs_code(client: Client, editor: VSCode) -> None:
    """Opening a conversation shows the one that has the name now, not the one that had it before."""
    client.add("demo", "old", create=True)
    editor.run("open", "demo")
    client.change("demo", name="moved")
    client.add("demo", "new", create=True)
    editor.run("open", "demo")
    assert laid(("user #2", "new")) == editor.shows("demo", "new")
    editor.run("send", "more")

    assert laid(("user #2", "new"), ("user #3", "more")) == editor.shows("demo", "more")
    assert 1 == client.agent("moved").messages


def test_calls_can_be_folded(client: Client, editor: VSCode) -> None:
    """A tool call is in a fence and can be folded."""
    client.add("demo", [tool_call("c1", "run", "{}")], create=True)
    editor.run("open", "demo")

    assert laid(("assistant #2", "### call run c1\n```json\n{}\n```")) == editor.shows("demo", "c1")
    assert [[2, 5]] == editor.ask("folds", name="demo")


def test_the_outline_lists_messages_only(client: Client, editor: VSCode) -> None:
    """The outline lists the messages, and no headings inside them."""
    client.create("demo", system="Be brief.")
    client.add("demo", ["# one", "two"])
    editor.run("open", "demo")
    editor.shows("demo", "two")
    names = editor.ask("outline", name="demo")

    assert ["system", "user #3", "user #4"] == [" ".join(name.split()[:2]) for name in names]


def test_the_outline_of_a_long_conversation(client: Client, editor: VSCode) -> None:
    """The outline lists the newest 2,000 messages: VS Code asks for all of them after each change."""
    client.add("demo", [f"n{number}" for number in range(2100)], create=True)
    editor.run("open", "demo")
    for text in ("n1999", "n2099"):  # the newest 100 come first, or last
        editor.shows("demo", f"{text}\n")
    names = editor.ask("outline", name="demo")

    assert (2000, "user #102") == (len(names), " ".join(names[0].split()[:2]))


def test_a_document_that_is_closed_and_opened_again(client: Client, editor: VSCode) -> None:
    """A closed document has no subscription; opened again, it has everything."""
    client.add("demo", "one", create=True)
    editor.run("open", "demo")
    assert 1 == client.agent("demo").attached
    editor.ask("close", name="demo")
    client.add("demo", "two")
    assert editor.run("info")["said"]
    assert 0 == client.agent("demo").attached
    editor.run("open", "demo")

    assert laid(("user #2", "one"), ("user #3", "two")) == editor.shows("demo", "two")


def test_a_document_of_an_unknown_conversation(client: Client, editor: VSCode) -> None:
    """A document of an unknown conversation says what creates it."""
    assert client.ping()
    editor.ask("opened", name="zed")

    assert editor.ask("text", name="zed").startswith("*no conversation zed (Reel: New Conversation creates it)*")


def test_a_document_of_a_conversation_that_is_created_later(client: Client, editor: VSCode) -> None:
    """A document that was opened before its conversation was created shows it when it is opened again."""
    assert client.ping()
    editor.ask("opened", name="zed")
    client.add("zed", "here", create=True)
    editor.run("open", "zed")

    assert laid(("user #2", "here")) == editor.shows("zed", "here")


def test_one_byte_at_a_time_in_vs_code(built: Path, environment: dict[str, str], dripping: str, client: Client) -> None:
    """A message that arrives in single bytes is read whole."""
    client.create("demo")
    editor = VSCode(built, environment | {"REEL_SOCKET": dripping})
    editor.run("open", "demo")
    editor.run("send", "hé")
    client.add("demo", "wörld")

    assert laid(("user #2", "hé"), ("user #3", "wörld")) == editor.shows("demo", "wörld")
    assert 0 == editor.close()


@pytest.mark.large
def test_three_megabytes_in_vs_code(client: Client, editor: VSCode) -> None:
    """A message of three megabytes is sent and shown."""
    client.create("demo")
    editor.run("open", "demo")
    long = "xé\n" * MEGABYTE
    editor.run("send", f"{long}!")

    assert laid(("user #2", f"{long}!")) == editor.shows("demo", "!")


def test_a_stopped_vs_code_catches_up(client: Client, editor: VSCode) -> None:
    """An editor that was stopped while pushes were dropped ends with all messages, in order."""
    client.create("demo")
    editor.run("open", "demo")
    with editor.stopped():
        for number in range(60):
            client.add("demo", f"{number}." + "x" * 100_000)
    assert client.stats()

    text = editor.shows("demo", "59.")
    assert [f"{number}." for number in range(60)] == [
        line.partition("x")[0] for line in text.splitlines() if "." in line
    ]
