"""Vim executes nothing that other people wrote."""

import pytest

from reel.sync.client import Client
from tests.editors.hostile_text import EXPRESSIONS, MODELINE, converse
from tests.editors.vim.driver import Vim

AGAIN = [
    ["doautocmd User Any"],
    ["doautocmd FileType"],
    ["doautoall User Any"],
    ["new", "edit reel://demo"],
    ["new", "buffer reel://demo"],
    ["split"],
    ["edit"],
    ["bdelete", "Reel open demo"],
]
OPTIONS = "[&tabstop, &foldminlines, &foldexpr]"


@pytest.fixture
def modeline(vim: Vim) -> Vim:
    """A Vim with the option 'modeline' set."""
    vim.run("set modeline modelineexpr modelines=50", "autocmd User Any let g:any = 1")
    return vim


@pytest.mark.parametrize("again", AGAIN, ids=" ".join)
def test_modelines_of_a_conversation_are_not_read(modeline: Vim, client: Client, again: list[str]) -> None:
    """No line of a conversation sets an option, however it is opened and whatever event follows."""
    converse(client, MODELINE)
    modeline.run("Reel open demo")
    modeline.until(lambda: modeline.eval("search('tabstop=77', 'nw') > 0"), 1)
    before = modeline.eval(OPTIONS)
    modeline.run(*again)
    modeline.until(lambda: modeline.eval("search('tabstop=77', 'nw') > 0"), 1)

    assert before == modeline.eval(OPTIONS)


def test_modelines_of_the_list_are_not_read(modeline: Vim, client: Client) -> None:
    """A title in the list sets no option."""
    client.create("demo", title=MODELINE)
    modeline.run("Reel list")
    before = modeline.eval(OPTIONS)
    modeline.run("doautocmd User Any")

    assert "tabstop=77" in modeline.lines()[0]
    assert before == modeline.eval(OPTIONS)


def test_expressions_are_not_evaluated_in_vim(vim: Vim, client: Client) -> None:
    """Neither status lines, folds, messages nor the list evaluate an expression in a text."""
    converse(client, EXPRESSIONS)
    vim.run("set laststatus=2 showtabline=2 title ruler statusline=%F tabline=%F titlestring=%F", "Reel open demo")
    vim.until(lambda: vim.eval("search('let g:ran', 'nw') > 0"), 1)
    vim.run("redraw!")
    vim.until(lambda: "let g:ran" in vim.eval("join(map(range(1, line('$')), 'foldtextresult(v:val)'))"), True)
    vim.until(lambda: "let g:ran" in vim.run("Reel info"), True)
    vim.run("Reel list")
    vim.until(lambda: "let g:ran" in vim.lines()[0], True)
    vim.run("redraw!", 'execute "normal \\<CR>"')

    assert ["reel://demo", 0] == vim.eval("[bufname(), exists('g:ran')]")


LABELS = ["a | let g:ran = 1", "a\nlet g:ran = 1", "a\x12=execute('let g:ran = 1')\rb"]


@pytest.mark.parametrize("label", LABELS)
def test_a_completed_label_is_not_executed_in_vim(vim: Vim, client: Client, label: str) -> None:
    """A bar, a line break or a control character in a completed label stays part of the label."""
    client.create("demo")
    client.mark("demo", label)
    client.add("demo", "hello")
    vim.run("Reel open demo")
    vim.keys(":Reel rewind \t\r:let g:done = 1\r")
    vim.until(lambda: vim.eval("exists('g:done')"), 1)

    assert [0, 0] == [vim.eval("exists('g:ran')"), client.agent("demo").messages]
