"""Searching all conversations in Vim."""

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.editors.alike import HITS, NO_MATCHES, PAST, PAST_NOTICE, QUERY, say_tapes, without_ages
from tests.editors.hostile_text import EXPRESSIONS, MODELINE, converse
from tests.editors.vim.driver import Vim


def test_a_hit_is_opened_at_its_message_in_vim(vim: Vim, client: Client) -> None:
    """The list has the hits by conversation, and opens each at its match: what was rewound, as it was then."""
    say_tapes(client)
    vim.run(f"Reel search {QUERY}")
    assert HITS == without_ages(vim.lines())
    marked = "filter(prop_list(3), {_, each -> each.type == 'ReelMatch'})"
    assert [[12, 4], [18, 4]] == vim.eval(f"map({marked}, {{_, each -> [each.col, each.length]}})")
    vim.run("6", 'execute "normal \\<CR>"')
    vim.until(lambda: vim.eval("[bufname(), getline('.')]"), ["reel://demo#5", "tape two"])
    vim.shows(*PAST, PAST_NOTICE.format(":Reel open demo"))
    vim.run("Reel clone then")
    assert 3 == client.agent("then").messages
    vim.run("wincmd p", "9", 'execute "normal \\<CR>"')
    vim.until(lambda: vim.eval("[bufname(), getline('.')]"), ["reel://demo", "first tape"])

    assert 2 == vim.eval("winnr('$')")


def test_a_search_asks_and_shows_more_in_vim(vim: Vim, client: Client) -> None:
    """A search without a query asks for one; more hits come below the others; without a hit it says so."""
    client.create("demo", system="first prompt")
    client.add("demo", [{"role": "system", "content": "second prompt"}, {"kind": "note", "content": "prompt noted"}])
    client.add("demo", [f"tape {number}" for number in range(60)])
    until_indexed(client)
    assert NO_MATCHES == vim.run("Reel search zebra")
    vim.keys(":Reel search\rtape\r")
    vim.until(lambda: vim.eval("getline('$')"), "m shows more hits")
    vim.run("normal m")
    assert ["    tape 0"] == vim.lines()[-1:]
    assert 121 == len(vim.lines())
    vim.run("Reel search prompt", "2")
    assert "demo: #4 is a note; reel log demo shows it" == vim.run('execute "normal \\<CR>"')
    vim.run("Reel search prompt", "6", 'execute "normal \\<CR>"')

    vim.until(lambda: vim.eval("[bufname(), getline('.')]"), ["reel://demo#2", "first prompt"])


def test_hits_are_inert_in_vim(vim: Vim, client: Client) -> None:
    """No text in the list of hits sets an option or is evaluated, and what is opened from it is inert as well."""
    converse(client, f"tape {EXPRESSIONS}\n{MODELINE}")
    until_indexed(client)
    vim.run("set modeline modelineexpr modelines=50 laststatus=2 title statusline=%F titlestring=%F")
    vim.run("autocmd User Any let g:any = 1", "Reel search tape", "doautocmd User Any", "redraw!")

    assert [True, True] == [any(text in line for line in vim.lines()) for text in ("tabstop=77", "let g:ran")]
    vim.run("2", 'execute "normal \\<CR>"', "redraw!")
    assert [8, 0] == vim.eval("[&tabstop, exists('g:ran')]")


def test_a_hit_in_a_long_conversation_of_vim(vim: Vim, client: Client) -> None:
    """A hit is gone to when its message is there, which may be after the newest ones."""
    client.create("demo")
    client.add("demo", ["one", "tape deck", *(f"n{number}" for number in range(2000))])
    until_indexed(client)
    vim.run("Reel search tape", "2", 'execute "normal \\<CR>"')
    vim.until(lambda: vim.eval("[getline('.'), reel#status#Text()]"), ["tape deck", "demo"])

    assert [] == vim.said()
