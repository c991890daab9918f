"""The sub-commands of :Reel in Neovim."""

from typing import Any

import pytest

from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import heading
from tests.editors.texts import texts

ANSWER: Any = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "text": "I must\nlook."},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
    ],
}


def test_send_keeps_special_characters(demo: Nvim, client: Client) -> None:
    """A text is sent exactly, including bars, quotes and umlauts."""
    demo.command('Reel send say "hé" | <CR> % #')

    demo.shows(*heading("user", 2, 'say "hé" | <CR> % #'))
    assert "nvim" == next(iter(client.iter_history("demo", since=1)))["client"]


def test_send_a_range_in_nvim(demo: Nvim) -> None:
    """``:Reel send`` with a range sends its lines, from any buffer."""
    demo.command("enew")
    demo.call("nvim_buf_set_lines", 0, 0, -1, False, ["no", "yes", "", "  also", "no"])
    demo.command("2,4Reel send")
    demo.command("buffer reel://demo")

    demo.shows("## user #2", "", "yes", "", "  also", "")


def test_send_puts_the_text_above_the_range(demo: Nvim, client: Client) -> None:
    """``:Reel send`` with a text and a range sends the text above the lines."""
    demo.command("enew")
    demo.call("nvim_buf_set_lines", 0, 0, -1, False, ["x = 1", "y = 2"])
    demo.command("%Reel send What is this?")
    demo.command("buffer reel://demo")
    demo.shows(*heading("user", 2, "What is this?"), "x = 1", "y = 2", "")

    assert ["What is this?\n\nx = 1\ny = 2"] == texts(client)


def test_send_asks_for_a_text_in_nvim(demo: Nvim, client: Client) -> None:
    """``:Reel send`` alone asks for a text; without an answer nothing is sent."""
    demo.lua("vim.ui.input = function(options, done) asked = options.prompt; done(nil) end")
    demo.command("Reel send")
    assert "To demo: " == demo.lua("return asked")
    assert "nothing sent" == demo.said()[-1]
    demo.lua("vim.ui.input = function(_, done) done('typed') end")
    demo.command("Reel send")

    demo.shows(*heading("user", 2, "typed"))
    assert 1 == client.agent("demo").messages


def test_mark_rewind_undo_redo_and_clear_in_nvim(demo: Nvim) -> None:
    """Each command that edits changes the buffer and says what it did."""
    demo.command("Reel mark here")
    demo.command("Reel send a")
    demo.shows(*heading("user", 3, "a"))
    demo.command("Reel rewind here")
    demo.shows("")
    demo.command("Reel undo")
    demo.shows(*heading("user", 3, "a"))
    demo.command("Reel redo")
    demo.shows("")
    demo.command("Reel undo")
    demo.shows(*heading("user", 3, "a"))
    demo.command("Reel clear")
    demo.shows("")
    demo.command("Reel undo")
    demo.shows(*heading("user", 3, "a"))
    demo.command("Reel mark")
    demo.command("Reel send b")
    demo.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 8")
    demo.command("Reel rewind")

    demo.shows(*heading("user", 3, "a"))
    demo.until("vim.fn.execute('messages'):find('demo: back at mark #10', 1, true)")
    assert [
        "demo: marked as here (#2)",
        "demo: added #3",
        "demo: back at here (#2); 1 message set aside",
        "demo: undid the rewind (#4); :Reel redo does it again",
        "demo: redid the rewind (#4)",
        "demo: undid the rewind (#4); :Reel redo does it again",
        "demo: cleared; :Reel undo brings it back",
        "demo: undid the clear (#8); :Reel redo does it again",
        "demo: marked (#10)",
        "demo: added #11",
        "demo: back at mark #10; 1 message set aside",
    ] == demo.said()
    assert [] == demo.notified()


def test_new_shows_the_conversation_in_nvim(nvim: Nvim, client: Client) -> None:
    """A new conversation is created and shown; without a name the daemon chooses one."""
    nvim.command("Reel new fresh")
    nvim.until("vim.fn.bufname() == 'reel://fresh'")
    nvim.command("Reel new")
    nvim.until("vim.fn.bufname() ~= 'reel://fresh'")

    made = nvim.call("nvim_eval", "bufname()").removeprefix("reel://")
    assert {"fresh", made} == {row.name for row in client.iter_agents()}


def test_clone_is_shown_in_nvim(demo: Nvim, client: Client) -> None:
    """A clone is shown, and its messages do not go into the original."""
    demo.command("Reel send a")
    demo.shows(*heading("user", 2, "a"))
    demo.command("Reel clone twin")
    demo.until("vim.fn.bufname() == 'reel://twin'")
    demo.shows(*heading("user", 2, "a"))
    demo.command("Reel send b")
    demo.shows(*heading("user", 2, "a"), *heading("user", 4, "b"))

    assert 1 == client.agent("demo").messages


def test_info_in_nvim(demo: Nvim, client: Client) -> None:
    """``:Reel info`` shows the facts about a conversation, a line for each."""
    client.mark("demo", "here")
    client.add("demo", ["a", ANSWER])
    demo.command("Reel info")
    demo.until("vim.fn.execute('messages'):find('followers', 1, true)")

    said = demo.said()
    assert [
        "name         demo",
        f"id           {client.agent('demo').id}",
        "messages     2",
        "head         #4",
    ] == said[:4]
    assert ["marks        here #2", "turn         weather c1"] == said[4:6]
    assert "followers    1" == said[-1]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("Reel open zed", "no conversation zed (:Reel new zed creates it)"),
        ("Reel send hi", "no conversation is open (:Reel open NAME opens one)"),
        ("Reel dance", 'no command "dance"; there are: answer ask clear clone code compose info '),
        ("Reel new a/../b c", "agent: "),
    ],
)
def test_an_error_is_one_line_in_nvim(nvim: Nvim, command: str, line: str) -> None:
    """A mistake shows one line with what is wrong and what to do."""
    nvim.command(command)
    nvim.complains(line)

    (shown,) = nvim.notified()
    assert shown.startswith(line)
    assert "\n" not in shown


def test_errors_of_the_daemon_in_nvim(demo: Nvim) -> None:
    """An error of the daemon is shown in its own words."""
    demo.command("Reel rewind nowhere")
    demo.complains("nowhere")
    demo.command("Reel undo")

    demo.complains("nothing to undo")
