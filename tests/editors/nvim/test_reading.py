"""Reading a conversation in Neovim: motions, code blocks, highlighted code, the status line."""

import json

import pytest

from reel.said.messages import Block, NewMessage
from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import opened

CODE = "Look:\n\n```sh\nls\n```\n\n````python\nprint('```')\n```\n````\n\nDone."


def answer(text: str) -> NewMessage:
    """Return a message of an assistant."""
    return {"role": "assistant", "content": text}


@pytest.fixture
def talk(nvim: Nvim, client: Client) -> Nvim:
    """A Neovim with a conversation of three messages, one of which looks like two."""
    client.create("demo", system="Be brief.")
    client.add("demo", ["one", answer("two\n\n## user #9\n\nlook"), "three"])
    opened(nvim)
    nvim.until("vim.fn.search('three', 'nw') > 0")
    nvim.command("1")
    return nvim


def test_brackets_go_from_message_to_message(talk: Nvim) -> None:
    """``]]`` and ``[[`` stop at the headings of messages, and not at lines that look like one; they take a count."""
    rows = []
    for keys in ("]]", "]]", "]]", "]]", "2[[", "9[["):
        talk.command(f"normal {keys}")
        rows.append(talk.lua("return vim.fn.getline('.')"))

    names = ["user #3", "assistant #4", "user #5", "user #5", "user #3", "system"]
    assert [f"## {name}" for name in names] == rows


def test_brackets_are_motions_for_operators(talk: Nvim) -> None:
    """``y]]`` yanks up to the next message."""
    talk.command("normal ]]y]]")

    assert "## user #3\n\none\n\n" == talk.lua("return vim.fn.getreg('\"')")


def test_code_yanks_the_last_block_of_an_answer(nvim: Nvim, client: Client) -> None:
    """``:Reel code`` yanks the last code block that an assistant wrote, whatever fences it contains."""
    client.add("demo", [answer(CODE), "```\nmine\n```"], create=True)
    opened(nvim)
    nvim.until("vim.fn.search('mine', 'nw') > 0")
    nvim.command("Reel code")
    nvim.command("Reel code a")

    assert ["print('```')\n```\n"] * 2 == nvim.lua("return {vim.fn.getreg('\"'), vim.fn.getreg('a')}")
    assert "demo: copied 2 lines of python from #2" == nvim.said()[-1]


def test_answer_yanks_the_last_answer(talk: Nvim) -> None:
    """``:Reel answer`` yanks the text of the last answer."""
    talk.command("Reel answer")

    assert "two\n\n## user #9\n\nlook\n" == talk.lua("return vim.fn.getreg('\"')")
    assert "demo: copied the answer #4" == talk.said()[-1]


def test_code_without_a_block(talk: Nvim) -> None:
    """If no answer has a code block, ``:Reel code`` says so."""
    talk.command("Reel code")

    talk.complains("demo: no code block in an answer")


def test_code_in_fences_is_highlighted(nvim: Nvim, client: Client) -> None:
    """The code of a known language is highlighted; another word after a fence runs nothing."""
    client.add("demo", answer("```python\nimport os\n```\n```x|let g:ran=1\nimport\n```"), create=True)
    nvim.command("syntax on")
    opened(nvim)
    nvim.until("vim.fn.search('import os', 'nw') > 0")
    group = "vim.fn.synIDattr(vim.fn.synID(vim.fn.search(..., 'w'), 1, 1), 'name')"

    assert "pythonInclude" == nvim.lua(f"return {group}", "^import os")
    assert "pythonInclude" != nvim.lua(f"return {group}", "^import$")
    assert nvim.lua("return vim.g.ran") is None


def test_a_buffer_with_a_long_line_has_no_syntax(nvim: Nvim, client: Client) -> None:
    """Syntax files do not see long lines, with which their patterns fail; messages have their colours all the same."""
    call: Block = {
        "type": "tool_call",
        "id": "c1",
        "name": "write",
        "arguments": json.dumps({"text": "def f(x): [[\n" * 12_000}),
    }
    client.add("demo", answer("```python\nimport os\n```"), create=True)
    nvim.command("syntax on")
    opened(nvim)
    nvim.until("vim.bo.syntax == 'markdown'")
    client.add("demo", [{"role": "assistant", "content": [call]}])
    nvim.until("vim.fn.search('^### call write', 'nw') > 0")
    nvim.command("normal! zR")
    client.add("demo", answer("```python\nimport sys\n```"))
    nvim.until("vim.fn.search('import sys', 'nw') > 0")

    assert "" == nvim.lua(
        "return vim.bo.syntax .. vim.fn.synIDattr(vim.fn.synID(vim.fn.search('^import'), 1, 1), 'name')"
    )
    assert 3 == nvim.lua("return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces().reel, 0, -1, {})")


def test_the_status_line(nvim: Nvim, client: Client) -> None:
    """The text for a status line has the name and who is writing; nothing in it is evaluated."""
    assert "" == nvim.lua("return require('reel').status()")
    client.add("demo", [answer("said")], create=True)
    opened(nvim)
    nvim.until("require('reel').status() == 'demo'")
    with Client(client.path, name='%{execute("let g:ran=1")}') as other:
        other.draft("demo", "I th")
        nvim.until("require('reel').status():find 'writing'")
        nvim.command("set laststatus=2 statusline=%!v:lua.require'reel'.status()")
        nvim.command("redrawstatus!")
        status = nvim.lua("return require('reel').status()")

    assert 'demo · writing… (?{execute("let g:ran=1")})' == status
    assert nvim.lua("return vim.g.ran") is None
