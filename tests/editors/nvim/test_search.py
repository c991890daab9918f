"""Searching all conversations in Neovim."""

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.editors.alike import HITS, NO_MATCHES, PAST, PAST_NOTICE, QUERY, say_tapes, without_ages
from tests.editors.nvim.driver import Nvim


def search(nvim: Nvim, query: str) -> Nvim:
    """Search, and return the Neovim with the list of the hits."""
    nvim.command(f"Reel search {query}")
    nvim.until("vim.fn.bufname() == 'reel-search://'")
    return nvim


def test_a_hit_is_opened_at_its_message(nvim: Nvim, client: Client) -> None:
    """The list has the hits by conversation, and opens each at its match: what was rewound, as it was then."""
    say_tapes(client)
    search(nvim, QUERY)
    space = nvim.call("nvim_create_namespace", "reel-search")
    marks = nvim.call("nvim_buf_get_extmarks", 0, space, 0, -1, {"details": True})
    assert HITS == without_ages(nvim.lines())
    assert [[2, 11, 15], [2, 17, 21]] == [
        [row, column, details["end_col"]] for _, row, column, details in marks if details["hl_group"] == "ReelMatch"
    ][:2]
    nvim.command("6")
    nvim.call("nvim_input", "<CR>")
    nvim.until("vim.fn.getline('.') == 'tape two'")
    assert [*PAST, PAST_NOTICE.format(":Reel open demo")] == [line for line in nvim.lines() if line]
    nvim.command("Reel clone then")
    nvim.until("vim.fn.bufname() == 'reel://then'")
    assert 3 == client.agent("then").messages
    nvim.command("wincmd p")
    nvim.command("9")
    nvim.call("nvim_input", "<CR>")
    nvim.until("vim.fn.bufname() == 'reel://demo' and vim.fn.getline('.') == 'first tape'")

    assert 2 == nvim.lua("return vim.fn.winnr('$')")


def test_a_search_asks_and_shows_more(nvim: Nvim, client: Client) -> None:
    """A search without a query asks for one; more hits come below the others; without a hit it says so."""
    client.add("demo", [f"tape {number}" for number in range(60)], create=True)
    until_indexed(client)
    nvim.command("Reel search zebra")
    nvim.until("vim.fn.execute('messages'):find(a[1], 1, true)", NO_MATCHES)
    nvim.lua("vim.ui.input = function(options, done) asked = options.prompt; done('tape') end")
    nvim.command("Reel search")
    nvim.until("vim.fn.bufname() == 'reel-search://'")
    assert "Search: " == nvim.lua("return asked")
    assert "m shows more hits" == nvim.lines()[-1]
    nvim.call("nvim_input", "m")
    nvim.until("vim.fn.line('$') == 121")

    assert ["    tape 0"] == nvim.lines()[-1:]


def test_a_superseded_prompt_and_a_note(nvim: Nvim, client: Client) -> None:
    """A prompt that was replaced is shown as it was; of a note, which no editor shows, a line says where it is."""
    client.create("demo", system="first prompt")
    client.add("demo", [{"role": "system", "content": "second prompt"}, {"kind": "note", "content": "prompt noted"}])
    until_indexed(client)
    search(nvim, "prompt").command("2")
    nvim.call("nvim_input", "<CR>")
    nvim.until("vim.fn.execute('messages'):find('demo: #4 is a note; reel log demo shows it', 1, true)")
    for line, prompt, name in ((4, "second prompt", "reel://demo"), (6, "first prompt", "reel://demo#2")):
        search(nvim, "prompt").command(str(line))
        nvim.call("nvim_input", "<CR>")
        nvim.until("vim.fn.getline('.') == a[1] and vim.fn.bufname() == a[2]", prompt, name)
