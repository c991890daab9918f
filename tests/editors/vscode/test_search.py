"""Searching all conversations in VS Code."""

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.editors.alike import HITS, NO_MATCHES, PAST, PAST_NOTICE, QUERY, say_tapes, without_ages, without_times
from tests.editors.vscode.driver import VSCode
from tests.editors.vscode.test_text_of_others import ICON, LINK


def listed(editor: VSCode) -> list[str]:
    """Return the last list as the other editors show it."""
    lines: list[str] = []
    for label, description, detail, kind in editor.ask("found"):
        gone = (description or "").partition("  ")[2]
        lines += ["", label] if kind else [f"  {label}{'  ' if gone else ''}{gone}", f"    {detail}"]
    return without_ages(lines[1:])


def test_a_hit_is_opened_at_its_message_in_vs_code(client: Client, editor: VSCode) -> None:
    """The list follows what is typed, and opens each hit at its match: what was rewound, as it was then."""
    say_tapes(client)
    came = editor.run("search", answers=["zebra", QUERY, "second tape two"])
    assert HITS == listed(editor)
    assert "/demo#5.reel" == came["looksAt"]
    assert ["tape two", "tape"] == editor.ask("selected")
    shown = editor.ask("text", name="demo#5").splitlines()
    assert [*PAST, PAST_NOTICE.format("Reel: Open a Conversation")] == without_times(shown)
    assert "demo · as it was at #5" == editor.ask("status")
    editor.run("clone", answers=["then"])
    assert 3 == client.agent("then").messages
    editor.run("search", QUERY, answers=["first tape of all"])

    assert ["first tape", "tape"] == editor.ask("selected")


def test_more_hits_and_none_in_vs_code(client: Client, editor: VSCode) -> None:
    """More hits come below the others; without a hit an item says so; a note and a replaced prompt can be found."""
    client.create("demo", system="first prompt")
    client.add("demo", [{"role": "system", "content": "second prompt"}, {"kind": "note", "content": "prompt noted"}])
    client.add("demo", [f"tape {number}" for number in range(60)])
    until_indexed(client)
    editor.run("search", answers=["zebra"])
    assert NO_MATCHES == editor.ask("found")[0][0]
    editor.run("search", answers=["tape", "more hits"])
    assert (61, "tape 0") == (len(editor.ask("found")), editor.ask("found")[-1][2])
    came = editor.run("search", answers=["prompt", "prompt noted"])
    assert ["demo: #4 is a note; reel log demo shows it"] == came["said"]
    editor.run("search", answers=["prompt", "first prompt"])

    assert ["first prompt", "prompt"] == editor.ask("selected")


def test_hits_are_not_links(client: Client, editor: VSCode) -> None:
    """No title and no text of a hit becomes a link or an icon."""
    client.create("demo", title=f"tape {LINK} {ICON}")
    client.add("demo", f"tape {LINK} {ICON}")
    until_indexed(client)

    assert [] == editor.run("search", answers=["tape"])["markup"]
    assert "[Approve] (command:workbench.action.terminal.new)" in editor.ask("found")[1][2]
