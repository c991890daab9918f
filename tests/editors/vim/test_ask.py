"""The command that the user has set to let a model answer, run by Vim."""

import json

from tests.editors.vim.driver import Vim

ANSWER = 'echo "out"; reel add "$REEL_AGENT" --role assistant "an answer"'


def demo(vim: Vim, command: str) -> None:
    """Open an empty conversation, and set the command."""
    vim.run("Reel new demo", f"let g:reel_ask = {json.dumps(command)}")


def test_ask_sends_and_runs_the_command_in_vim(vim: Vim) -> None:
    """``:Reel ask TEXT`` sends the text, then runs the command for the conversation."""
    demo(vim, ANSWER)

    assert "demo: added #2" == vim.run("Reel ask What?")
    vim.shows("## user #2", "What?", "## assistant #3", "an answer")
    assert [] == vim.said()


def test_ask_without_a_text_in_vim(vim: Vim) -> None:
    """``:Reel ask`` alone runs the command for what was sent before."""
    demo(vim, ANSWER)
    vim.run("Reel ask")

    vim.shows("## assistant #2", "an answer")


def test_a_command_that_fails_in_vim(vim: Vim) -> None:
    """If the command fails, the last line of its errors is shown."""
    demo(vim, "echo first >&2; echo no such model >&2; exit 1")
    vim.run("Reel ask")

    vim.until(lambda: vim.said()[-1:], ["demo: no such model"])


def test_stop_ends_the_command_in_vim(vim: Vim) -> None:
    """``:Reel stop`` ends the command that runs, without an error; a second one is refused meanwhile."""
    demo(vim, "sleep 600")
    vim.until(lambda: vim.eval("reel#status#Text()"), "demo")
    vim.run("Reel ask")
    assert "demo · asking" == vim.eval("reel#status#Text()")
    assert "demo: the command is still running (:Reel stop ends it)" == vim.run("Reel ask")
    vim.run("Reel stop")

    assert "demo" == vim.eval("reel#status#Text()")
    assert "demo: no command is running" == vim.run("Reel stop")
