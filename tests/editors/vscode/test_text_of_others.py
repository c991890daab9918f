"""VS Code executes nothing that other people wrote."""

from reel.said.new_messages import tool_call
from reel.sync.client import Client
from tests.editors.vscode.driver import VSCode

LINK = "[Approve](command:workbench.action.terminal.new)"
ICON = "$(trash)"


def test_texts_of_others_are_not_links(client: Client, editor: VSCode) -> None:
    """No title, label, name or id becomes a link or an icon, wherever VS Code shows it."""
    client.create("demo", title=f"{LINK} {ICON}")
    client.mark("demo", LINK)
    client.add("demo", [tool_call(LINK, "run", "{}")])
    editor.run("open", "demo")
    came = [
        editor.run("info"),
        editor.run("open", answers=["demo"]),
        editor.run("mark", f"{LINK}{ICON}"),
        editor.run("rewind", LINK),
        editor.run("rewind", answers=[LINK]),
        editor.ask("run", command="rewind", given=f"{LINK} again"),
        editor.ask("run", command="open", given=LINK),
    ]

    assert [[]] * len(came) == [each["markup"] for each in came]
    assert "[Approve] (command:workbench.action.terminal.new)" in came[0]["said"][0]


def test_a_conversation_is_not_a_markdown_document(client: Client, editor: VSCode) -> None:
    """A conversation has its own language: VS Code runs the ``command:`` links of a Markdown document on a click."""
    client.add("x.md", LINK, create=True)
    editor.run("open", "x.md")

    assert LINK in editor.shows("x.md", "Approve")
    assert "reel-conversation" == editor.ask("language", name="x.md")


def test_a_conversation_is_not_shown_under_another_ending(client: Client, editor: VSCode) -> None:
    """``reel:/x.md`` is refused: it would make a conversation a Markdown document."""
    for name in ("x", "x.md"):
        client.add(name, LINK, create=True)

    assert "*reel:/x.md is not a conversation; its path ends in .reel*\n" == editor.ask("read", path="/x.md")
