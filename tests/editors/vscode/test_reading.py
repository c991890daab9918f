"""Reading and writing in VS Code: composing, code blocks, messages, the status bar, the list."""

from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.daemon import later, until
from tests.editors.texts import texts
from tests.editors.vscode.driver import VSCode

CODE = "Look:\n\n```sh\nls\n```\n\n````python\nprint('```')\n```\n````\n\nDone."


def answer(text: str) -> NewMessage:
    """Return a message of an assistant."""
    return {"role": "assistant", "content": text}


def test_send_sends_a_composed_document(client: Client, editor: VSCode) -> None:
    """A document that was opened to compose a message is sent whole, to its conversation, and closed."""
    for name in ("one", "two"):
        client.create(name)
        editor.run("open", name)
    editor.run("open", "one")
    assert ["To one: the command Reel: Send sends this document"] == editor.run("compose")["said"]
    editor.ask("write", text="What is\n\na reel?")

    assert ["one: added #2"] == editor.run("send")["said"]
    assert (["What is\n\na reel?"], []) == (texts(client, "one"), texts(client, "two"))
    assert "reel" == editor.ask("scheme")


def test_a_composed_document_stays_if_it_is_not_sent(client: Client, editor: VSCode) -> None:
    """A document that is blank, or cannot be sent, stays open."""
    client.create("demo")
    editor.run("open", "demo")
    editor.run("compose")
    assert ["nothing sent"] == editor.run("send")["said"]
    editor.ask("write", text="hello")
    client.kill("demo")

    assert "killed" in editor.refused("send")
    assert "untitled" == editor.ask("scheme")


def test_code_copies_the_last_block_in_vs_code(client: Client, editor: VSCode) -> None:
    """The last code block that an assistant wrote goes to the clipboard."""
    client.add("demo", [answer(CODE), "```\nmine\n```"], create=True)
    editor.run("open", "demo")

    assert ["demo: copied 2 lines of python from #2"] == editor.run("code")["said"]
    assert "print('```')\n```\n" == editor.ask("clipboard")


def test_answer_copies_the_last_answer_in_vs_code(client: Client, editor: VSCode) -> None:
    """The text of the last answer goes to the clipboard."""
    client.add("demo", [answer(CODE), "mine"], create=True)
    editor.run("open", "demo")

    assert ["demo: copied the answer #2"] == editor.run("answer")["said"]
    assert f"{CODE}\n" == editor.ask("clipboard")


def test_next_and_previous_go_from_message_to_message(client: Client, editor: VSCode) -> None:
    """The commands stop at the headings of messages, and not at lines that look like one."""
    client.add("demo", ["one", answer("two\n\n## user #9"), "three"], create=True)
    editor.run("open", "demo")
    lines = editor.ask("shows", name="demo", text="three").split("\n")
    until(lambda: editor.ask("line") == len(lines) - 1)  # it opens with the first lines, and goes on to the end
    found = []
    for command in ("previous", "previous", "previous", "previous", "next"):
        editor.run(command)
        found.append(lines[editor.ask("line")].split(" ·")[0])

    names = ["user #4", "assistant #3", "user #2", "user #2", "assistant #3"]
    assert [f"## {name}" for name in names] == found


def test_the_status_bar(client: Client, editor: VSCode) -> None:
    """The status bar has the conversation of the active editor, and who is writing, without icons."""
    client.create("demo")
    editor.run("open", "demo")
    with Client(client.path, name="$(trash)") as other:
        other.draft("demo", "I th")
        editor.shows("demo", "I th")

        assert "demo · writing… ($ (trash))" == editor.ask("status")
    editor.ask("write", text="")
    editor.run("compose")
    assert editor.ask("status") is None


def test_the_list_describes_each_conversation(client: Client, editor: VSCode) -> None:
    """The list has the last changed first."""
    for number in range(1100):
        client.create(f"x{number}")
    later()
    client.add("x7", "What is a reel?")
    came = editor.run("open", answers=["x7"])

    assert ["x7", "x1099", "x1098"] == came["asked"][0]["choices"][:3]
    assert 1100 == len(came["asked"][0]["choices"])


def test_rename_and_title(client: Client, editor: VSCode) -> None:
    """A conversation gets another name and a title, and is shown under its name."""
    client.create("demo")
    editor.run("open", "demo")
    came = editor.run("rename", answers=["deck"])

    assert (["demo renamed to deck"], "/deck.reel") == (came["said"], came["looksAt"])
    assert ["deck: Tape decks"] == editor.run("title", answers=["Tape decks"])["said"]
    assert ["deck: no title"] == editor.run("title", answers=[""])["said"]
