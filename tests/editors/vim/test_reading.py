"""Reading a conversation in Vim: motions, code blocks, highlighted code, the status line."""

import pytest

from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.editors.vim.driver import Vim

CODE = "Look:\n\n```sh\nls\n```\n\n````python\nprint('```')\n```\n````\n\nDone."


def answer(text: str) -> NewMessage:
    """Return a message of an assistant."""
    return {"role": "assistant", "content": text}


@pytest.fixture
def talk(vim: Vim, client: Client) -> Vim:
    """A Vim with a conversation of three messages, one of which looks like two."""
    client.create("demo", system="Be brief.")
    client.add("demo", ["one", answer("two\n\n## user #9\n\nlook"), "three"])
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("search('three', 'nw') > 0"), 1)
    vim.run("1")
    return vim


def test_brackets_go_from_message_to_message_in_vim(talk: Vim, client: Client) -> None:
    """``]]`` and ``[[`` stop at the headings of messages, and not at lines that look like one; they take a count."""
    client.add("demo", "four")
    talk.until(lambda: talk.eval("search('four', 'nw') > 0"), 1)
    talk.run("1")
    rows = []
    for keys in ("]]", "]]", "]]", "]]", "]]", "2[[", "9[["):
        talk.run(f"normal {keys}")
        rows.append(talk.eval("getline('.')").split(" ·")[0])

    names = ["user #3", "assistant #4", "user #5", "user #6", "user #6", "assistant #4", "system"]
    assert [f"## {name}" for name in names] == rows


def test_brackets_are_motions_for_operators_in_vim(talk: Vim) -> None:
    """``y]]`` yanks up to the next message."""
    talk.run("normal ]]jy]]")

    assert "\none\n\n" == talk.eval("getreg('\"')")


def test_code_yanks_the_last_block_in_vim(vim: Vim, client: Client) -> None:
    """``:Reel code`` yanks the last code block that an assistant wrote, whatever fences it contains."""
    client.add("demo", [answer(CODE), "```\nmine\n```"], create=True)
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("search('mine', 'nw') > 0"), 1)

    assert "demo: copied 2 lines of python from #2" == vim.run("Reel code")
    vim.run("Reel code a")
    assert ["print('```')\n```\n"] * 2 == vim.eval("[getreg('\"'), getreg('a')]")


def test_answer_yanks_the_last_answer_in_vim(talk: Vim) -> None:
    """``:Reel answer`` yanks the text of the last answer."""
    assert "demo: copied the answer #4" == talk.run("Reel answer")
    assert "two\n\n## user #9\n\nlook\n" == talk.eval("getreg('\"')")


def test_code_in_fences_is_highlighted_in_vim(vim: Vim, client: Client) -> None:
    """The code of a known language is highlighted; another word after a fence runs nothing."""
    client.add("demo", answer("```python\nimport os\n```\n```x|let g:ran=1\nimport\n```"), create=True)
    vim.run("syntax on", "Reel open demo")
    vim.until(lambda: vim.eval("search('import os', 'nw') > 0"), 1)

    def group(pattern: str) -> str:
        return str(vim.eval(f"synIDattr(synID(search('{pattern}', 'w'), 1, 1), 'name')"))

    vim.until(lambda: group("^import os"), "pythonInclude")
    assert "pythonInclude" != group("^import$")
    assert 0 == vim.eval("exists('g:ran')")


def test_a_buffer_with_a_long_line_has_no_syntax_file(vim: Vim, client: Client) -> None:
    """Long lines are never highlighted, which may take Vim minutes; headings still are."""
    client.add("demo", answer("```python\nimport os\n```\n" + "[[" * 5000), create=True)
    vim.run("syntax on", "Reel open demo")
    vim.until(lambda: vim.eval("search('import os', 'nw') > 0"), 1)
    names = [vim.eval(f"synIDattr(synID(search('{each}', 'w'), 1, 1), 'name')") for each in ("^## ", "^import", "^.[")]

    assert ["reelHeading", "", ""] == names
    client.add("demo", answer("```python\nimport sys\n```"))
    vim.until(lambda: vim.eval("search('import sys', 'w') > 0"), 1)
    assert "" == vim.eval("synIDattr(synID(line('.'), 1, 1), 'name')")


def test_the_status_line_in_vim(vim: Vim, client: Client) -> None:
    """The text for a status line has the name and who is writing; nothing in it is evaluated."""
    assert "" == vim.eval("reel#status#Text()")
    with Client(client.path, name="%{execute('let g:ran=1')}") as other:
        other.create("demo")
        vim.run("Reel open demo", "set laststatus=2 statusline=%!reel#status#Text()")
        vim.until(lambda: vim.eval("reel#status#Text()"), "demo")
        other.draft("demo", "I th")
        vim.until(lambda: vim.eval("reel#status#Text()"), "demo · writing… (?{execute('let g:ran=1')})")
    vim.run("redrawstatus!")

    assert 0 == vim.eval("exists('g:ran')")
