"""The list of conversations in Neovim, in a buffer and in the pickers of other plug-ins."""

import re
import socket

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.alike import say_tapes
from tests.editors.nvim.driver import Nvim

# As much of each plug-in as is called: it records the lines, and chooses the second.
PICKERS = {
    "select": """
        vim.ui.select = function(all, how, done) shown = vim.tbl_map(how.format_item, all); done(all[2]) end
    """,
    "telescope": """
        local chosen, replaced
        package.loaded['telescope.config'] = {values = {generic_sorter = function() end}}
        package.loaded['telescope.finders'] = {new_table = function(given)
          local entries = vim.tbl_map(given.entry_maker, given.results)
          shown, chosen = vim.tbl_map(function(entry) return entry.display end, entries), entries[2]
        end}
        package.loaded['telescope.actions'] = {
          close = function() end,
          select_default = {replace = function(_, done) replaced = done end},
        }
        package.loaded['telescope.actions.state'] = {get_selected_entry = function() return chosen end}
        package.loaded['telescope.pickers'] = {new = function(_, given)
          return {find = function() given.attach_mappings(0); replaced() end}
        end}
    """,
    "fzf-lua": """
        package.loaded['fzf-lua'] = {fzf_exec = function(lines, given)
          shown = vim.tbl_map(function(line) return line:match('\\t(.*)') end, lines)
          given.actions.default {lines[2]}
        end}
    """,
    "snacks": """
        package.loaded.snacks = {picker = {pick = function(given)
          shown = vim.tbl_map(function(item) return item.text end, given.items)
          given.confirm({close = function() end}, given.items[2])
        end}}
    """,
}


@pytest.mark.parametrize("picker", PICKERS)
def test_a_picker_shows_the_chosen_conversation(nvim: Nvim, client: Client, picker: str) -> None:
    """Each picker offers the live conversations, aligned, the last changed first, and hits; it shows the chosen one."""
    for name in ("old", "killed", "newer"):
        client.create(name)
    client.kill("killed")
    nvim.lua(PICKERS[picker])
    nvim.lua("require('reel').setup {picker = ...}", picker)
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel://old'")

    assert ["newer  20", "old    20"] == [line[:9] for line in nvim.lua("return shown")]
    say_tapes(client)
    nvim.command("Reel search tape")
    nvim.until("vim.fn.bufname() == 'reel://demo#5'")
    assert 3 == len(nvim.lua("return shown"))
    assert "demo #5  assistant" == " ".join(nvim.lua("return shown[2]").split(" ")[:4])


def test_the_list_opens_the_conversation_under_the_cursor(nvim: Nvim, client: Client) -> None:
    """The list is a buffer with a line for each conversation; the return key opens one."""
    client.create("deck", title="Tape decks")
    client.add("demo", "What is a\nreel?", create=True)
    client.draft("demo", "I th")
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel-list://'")
    demo, deck = nvim.lines()
    nvim.command("2")
    nvim.call("nvim_input", "<CR>")
    nvim.until("vim.fn.bufname() == 'reel://deck'")

    assert ["demo", "1", "What is a reel?  (writing: python)"] == [demo.split()[0], *demo.split(maxsplit=4)[3:]]
    assert ["deck", "0", "Tape decks"] == [deck.split()[0], *deck.split(maxsplit=4)[3:]]
    assert 1 == nvim.lua("return vim.fn.winnr('$')")


def test_short_names_in_neovim(nvim: Nvim, client: Client) -> None:
    """The list has the short form of a name with an id, and opens the conversation by its whole name."""
    client.create("codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b")
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel-list://'")
    (line,) = nvim.lines()
    nvim.call("nvim_input", "<CR>")

    assert "codex/64913c3b" == line.split()[0]
    nvim.until("vim.fn.bufname() == 'reel://codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b'")


def test_a_list_in_a_narrow_window(nvim: Nvim, client: Client) -> None:
    """However narrow the list, it has one row for each conversation, and no other window changes."""
    for name in ("demo", "deck"):
        client.create(name, title="long " * 50)
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel-list://'")
    nvim.command("wincmd L | vertical resize 20 | redraw")

    assert [1, 2] == nvim.lua("return {vim.fn.screenpos(0, 1, 1).row, vim.fn.screenpos(0, 2, 1).row}")
    nvim.command("wincmd p")
    assert nvim.lua("return vim.wo.wrap")


def test_the_list_shows_writers_without_a_name(nvim: Nvim, daemon: Daemon, client: Client) -> None:
    """A client that gave no name is in the list as somebody, beside the others that are writing."""
    client.create("demo")
    with socket.socket(socket.AF_UNIX) as nameless:
        nameless.connect(daemon.socket)
        nameless.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "draft", "params": ["demo", "I th"]}\n')
        assert b'"result"' in nameless.recv(1000)
        client.draft("demo", "I th")
        nvim.command("Reel list")
        nvim.until("vim.fn.bufname() == 'reel-list://'")

    (line,) = nvim.lines()
    assert {"(writing: somebody)", "(writing: python)"} == set(re.findall(r"\(.*?\)", line))


@pytest.mark.parametrize("command", ["Reel", "Reel open", "Reel list"])
def test_reel_without_a_name_lists_conversations(nvim: Nvim, client: Client, command: str) -> None:
    """``:Reel`` and ``:Reel open`` alone list the conversations; if there are none, they say so."""
    nvim.command(command)
    nvim.until("vim.fn.execute('messages'):find('no conversations (:Reel new NAME creates one)', 1, true)")
    client.create("demo")
    nvim.command(command)
    nvim.until("vim.fn.bufname() == 'reel-list://'")

    assert ["demo"] == [line.split()[0] for line in nvim.lines()]


def test_a_list_with_a_prefix(nvim: Nvim, client: Client) -> None:
    """``:Reel list PREFIX`` lists only the names that begin so, and says so if there are none."""
    for name in ("deck", "demo"):
        client.create(name)
    nvim.command("Reel list zed")
    nvim.until("vim.fn.execute('messages'):find('no conversation begins with zed (:Reel list shows all)', 1, true)")
    nvim.command("Reel list dem")
    nvim.until("vim.fn.bufname() == 'reel-list://'")

    assert ["demo"] == [line.split()[0] for line in nvim.lines()]


def test_a_list_of_many_pages(nvim: Nvim, client: Client) -> None:
    """A list of more conversations than one page has all of them."""
    for number in range(1100):
        client.create(f"x{number}")
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel-list://'")

    assert [f"x{number}" for number in range(1099, -1, -1)] == [line.split()[0] for line in nvim.lines()]
