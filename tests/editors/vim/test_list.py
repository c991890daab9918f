"""The list of conversations in Vim."""

from reel.sync.client import Client
from tests.editors.vim.driver import Vim


def test_the_lines_of_the_list(vim: Vim, client: Client) -> None:
    """A line has the name, the time, the number of messages, and the title or the first words; and who is writing."""
    client.create("deck", title="Tape decks")
    client.add("demo", "What is a\nreel?", create=True)
    client.draft("demo", "I th")
    vim.run("Reel list")
    demo, deck = vim.lines()

    assert ["demo", "1", "What is a reel?  (writing: python)"] == [demo.split()[0], *demo.split(maxsplit=4)[3:]]
    assert ["deck", "0", "Tape decks"] == [deck.split()[0], *deck.split(maxsplit=4)[3:]]


def test_short_names_in_vim(vim: Vim, client: Client) -> None:
    """The list has the short form of a name with an id, and opens the conversation by its whole name."""
    client.create("codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b")
    vim.run("Reel list")

    assert ["codex/64913c3b"] == [line.split()[0] for line in vim.lines()]
    assert ["codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b"] == vim.eval("b:reel_names")


def test_a_list_in_a_narrow_window_of_vim(vim: Vim, client: Client) -> None:
    """However narrow the list, it has one row for each conversation, and no other window changes."""
    for name in ("demo", "deck"):
        client.create(name, title="long " * 50)
    vim.run("Reel list", "wincmd L", "vertical resize 20", "redraw")

    assert [1, 2] == vim.eval("[screenpos(0, 1, 1).row, screenpos(0, 2, 1).row]")
    vim.run("wincmd p")
    assert 1 == vim.eval("&wrap")


def test_all_pages_are_in_the_list(vim: Vim, client: Client) -> None:
    """A list of more conversations than one page has all of them, the last changed first."""
    for number in range(1100):
        client.create(f"x{number}")
    vim.run("Reel list")

    assert [f"x{number}" for number in range(1099, -1, -1)] == [line.split()[0] for line in vim.lines()]


def test_q_closes_the_list(vim: Vim, client: Client) -> None:
    """The key ``q`` closes the window of the list."""
    client.create("demo")
    vim.run("Reel list", "normal q")

    assert [1, ""] == vim.eval("[winnr('$'), bufname()]")


def test_the_return_key_on_an_empty_list(vim: Vim) -> None:
    """The return key on the line that says that there are no conversations opens nothing."""
    vim.run("Reel list", 'execute "normal \\<CR>"')

    assert ["no conversations (:Reel new NAME creates one)"] == vim.lines()
    assert [] == vim.said()
