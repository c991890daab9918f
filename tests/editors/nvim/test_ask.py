"""The command that the user has set to let a model answer, run by Neovim."""

import pytest

from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import heading

ANSWER = 'echo "out"; reel add "$REEL_AGENT" --role assistant "an answer"'


def setup(nvim: Nvim, command: str) -> None:
    """Set the command."""
    nvim.lua("require('reel').setup {ask = ...}", command)


def test_ask_sends_and_runs_the_command(demo: Nvim) -> None:
    """``:Reel ask TEXT`` sends the text, then runs the command for the conversation."""
    setup(demo, ANSWER)
    demo.command("Reel ask What?")

    demo.shows(*heading("user", 2, "What?"), *heading("assistant", 3, "an answer"))
    assert [] == demo.notified()


def test_ask_without_a_text_only_runs_the_command(demo: Nvim) -> None:
    """``:Reel ask`` alone runs the command for what was sent before."""
    setup(demo, ANSWER)
    demo.command("Reel ask")

    demo.shows(*heading("assistant", 2, "an answer"))


def test_ask_shows_why_the_command_failed(demo: Nvim) -> None:
    """If the command fails, the last line of its errors is shown."""
    setup(demo, "echo first >&2; echo no such model >&2; exit 1")
    demo.command("Reel ask")

    demo.complains("demo: no such model")


def test_ask_with_a_program_that_is_not_there(demo: Nvim) -> None:
    """A program that cannot be run is named, also one that is given as a list."""
    demo.lua("require('reel').setup {ask = {'no-such-program'}}")
    demo.command("Reel ask")

    demo.complains('cannot run { "no-such-program" }')


@pytest.mark.parametrize("command", ["exec sleep 600", "sleep 600"])
def test_stop_ends_the_command(demo: Nvim, command: str) -> None:
    """``:Reel stop`` ends the command that runs, without an error; a second one is refused meanwhile."""
    setup(demo, command)
    demo.command("Reel ask")
    demo.until("require('reel').status() == 'demo · asking'")
    demo.command("Reel ask")
    demo.complains("demo: the command is still running (:Reel stop ends it)")
    demo.command("Reel stop")
    demo.until("require('reel').status() == 'demo'")
    demo.command("Reel stop")

    demo.complains("demo: no command is running")
    assert 2 == len(demo.notified())
