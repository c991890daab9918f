"""Neovim executes nothing that other people wrote."""

import pytest

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.editors.hostile_text import EXPRESSIONS, MODELINE, converse
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import opened, shows

AGAIN = [
    ["doautocmd User Any"],
    ["doautocmd FileType"],
    ["doautoall User Any"],
    ["enew", "edit reel://demo"],
    ["enew", "buffer reel://demo"],
    ["split"],
    ["edit"],
    ["bdelete", "Reel open demo"],
]
OPTIONS = "[&tabstop, &foldminlines, &foldexpr]"


@pytest.mark.parametrize("again", AGAIN, ids=" ".join)
def test_modelines_are_not_read_in_nvim(nvim: Nvim, client: Client, again: list[str]) -> None:
    """No line of a conversation sets an option, however it is opened and whatever event follows."""
    converse(client, MODELINE)
    nvim.command("set modeline modelineexpr modelines=50")
    nvim.command("autocmd User Any let g:any = 1")
    shows(opened(nvim), client)
    before = nvim.call("nvim_eval", OPTIONS)
    for command in again:
        nvim.command(command)
    nvim.until("vim.fn.search('tabstop=77', 'nw') > 0")

    assert before == nvim.call("nvim_eval", OPTIONS)


def test_expressions_are_not_evaluated_in_nvim(nvim: Nvim, client: Client) -> None:
    """Neither status lines, folds, messages nor the list evaluate an expression in a text."""
    converse(client, EXPRESSIONS)
    nvim.command("set laststatus=2 showtabline=2 title ruler")
    shows(opened(nvim), client)
    nvim.command("Reel info")
    nvim.until("vim.fn.execute('messages'):find('let g:ran', 1, true)")
    folded = nvim.call("nvim_eval", "join(map(range(1, line('$')), 'foldtextresult(v:val)'))")
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel-list://'")
    for name in ("statusline", "tabline", "titlestring", "winbar"):
        if nvim.call("nvim_eval", f"exists('+{name}')"):
            nvim.command(f"let &{name} = '%F ' .. &{name}")
    nvim.command("redraw!")

    assert all("let g:ran" in text for text in (folded, *nvim.lines()))
    assert 0 == nvim.call("nvim_eval", "exists('g:ran')")


LABELS = ["a | let g:ran = 1", "a\nlet g:ran = 1", "a\x12=execute('let g:ran = 1')\rb"]


@pytest.mark.parametrize("label", LABELS)
def test_a_completed_label_is_not_executed_in_nvim(nvim: Nvim, client: Client, label: str) -> None:
    """A bar, a line break or a control character in a completed label stays part of the label."""
    client.create("demo")
    client.mark("demo", label)
    client.add("demo", "hello")
    shows(opened(nvim), client)
    nvim.call("nvim_feedkeys", ":Reel rewind \t\r", "xt", False)
    nvim.shows("")

    assert (0, []) == (nvim.call("nvim_eval", "exists('g:ran')"), nvim.notified())


def test_modelines_of_the_list_are_not_read_in_nvim(nvim: Nvim, client: Client) -> None:
    """A title in the list sets no option, whatever event follows."""
    nvim.command("set modeline modelineexpr modelines=50")
    nvim.command("autocmd User Any let g:any = 1")
    client.create("demo", title=MODELINE)
    nvim.command("Reel list")
    nvim.until("vim.fn.bufname() == 'reel-list://'")
    nvim.command("doautocmd User Any")

    assert "tabstop=77" in nvim.lines()[0]
    assert 8 == nvim.lua("return vim.o.tabstop")


def test_hits_are_inert_in_nvim(nvim: Nvim, client: Client) -> None:
    """No text in the list of hits sets an option or is evaluated, and what is opened from it is inert as well."""
    converse(client, f"tape {EXPRESSIONS}\n{MODELINE}")
    until_indexed(client)
    nvim.command("set modeline modelineexpr modelines=50 laststatus=2 title statusline=%F")
    nvim.command("autocmd User Any let g:any = 1")
    nvim.command("Reel search tape")
    nvim.until("vim.fn.bufname() == 'reel-search://'")
    nvim.command("doautocmd User Any")
    nvim.command("redraw!")

    assert [True, True] == [any(text in line for line in nvim.lines()) for text in ("tabstop=77", "let g:ran")]
    assert (8, 0) == (nvim.call("nvim_eval", "&tabstop"), nvim.call("nvim_eval", "exists('g:ran')"))
