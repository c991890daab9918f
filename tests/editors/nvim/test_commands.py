"""Every command of :Reel, in a real Neovim with a real daemon."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors import alike
from tests.editors.alike import without_times
from tests.editors.nvim.driver import PLUGIN, Nvim
from tests.editors.nvim.shown import opened
from tests.editors.texts import texts

ANSWER: Any = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "text": "I must\nlook."},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
    ],
}
RESULT: Any = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "18 degrees"}]}


def heading(role: str, seq: int, text: str) -> list[str]:
    """Give the lines of a message of one text."""
    return [f"## {role} #{seq}", "", text, ""]


# --- open


def test_open(nvim: Nvim, client: Client) -> None:
    """The prompt, each message under its role and seq, tool calls and thinking are there as markdown."""
    client.create("demo", system="Be brief.\nBe kind.")
    client.add("demo", ["How warm is it\nin Paris?", ANSWER, RESULT])
    nvim.command("Reel open demo")

    nvim.shows(
        *("## system", "", "Be brief.", "Be kind.", ""),
        *("## user #3", "", "How warm is it", "in Paris?", ""),
        *("## assistant #4", "", "### thinking", "I must", "look.", "", "Let me see.", ""),
        *("### call weather c1", "```json", '{"city": "Paris"}', "```", ""),
        *("## tool #5", "", "### result of weather c1", "```", "18 degrees", "```", ""),
    )
    assert ("reel://demo", "markdown") == (nvim.call("nvim_eval", "bufname()"), nvim.call("nvim_eval", "&filetype"))


def test_every_block(nvim: Nvim, client: Client) -> None:
    """A buffer shows what the other editors show; the times are virtual text."""
    alike.converse(client)
    nvim.command("Reel open demo")
    nvim.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) > a[1]", len(alike.SHOWN))

    assert alike.SHOWN == without_times(nvim.lines())


def test_folds(nvim: Nvim, client: Client) -> None:
    """Thinking, calls and results are folded; another buffer in the same window is not."""
    client.create("demo")
    client.add("demo", ["a", ANSWER, RESULT])
    nvim.command("Reel open demo")
    nvim.until("vim.fn.search('degrees', 'nw') > 0")
    closed = "map(range(1, line('$')), 'foldclosed(v:val) == v:val ? foldclosedend(v:val) : 0')"
    folds = [(start, end) for start, end in enumerate(nvim.call("nvim_eval", closed), 1) if end]
    lines = nvim.lines()

    assert ["### thinking", "### call weather c1", "### result of weather c1"] == [lines[s - 1] for s, _ in folds]
    assert ["look.", "```", "```"] == [lines[end - 1] for _, end in folds]
    nvim.command("enew")
    assert "manual" == nvim.call("nvim_eval", "&foldmethod")


def test_virtual_text(nvim: Nvim, client: Client) -> None:
    """Behind each heading stands when it was said, in local time."""
    client.create("demo")
    client.add("demo", ["a", "b"])
    nvim.command("Reel open demo")
    nvim.shows(*heading("user", 2, "a"), *heading("user", 3, "b"))
    seconds = [message["time"] // 1000 for message in client.messages("demo").messages]
    space = nvim.call("nvim_create_namespace", "reel")
    marks = nvim.call("nvim_buf_get_extmarks", 0, space, 0, -1, {"details": True})

    assert [0, 4] == [row for _, row, _, _ in marks]
    expected = [nvim.lua("return os.date('· %Y-%m-%d %H:%M:%S', ...)", second) for second in seconds]
    assert expected == [details["virt_text"][0][0] for *_, details in marks]


def test_open_again(nvim: Nvim, client: Client) -> None:
    """``:edit`` reads it anew, and a buffer that is wiped out is followed no longer."""
    client.create("demo")
    nvim.command("Reel open demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")
    client.add("demo", "a")
    nvim.shows(*heading("user", 2, "a"))
    nvim.command("edit")
    nvim.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 4")
    client.add("demo", "b")
    nvim.shows(*heading("user", 2, "a"), *heading("user", 3, "b"))
    assert client.agent("demo").attached == 1
    nvim.command("bwipeout")

    nvim.lua("return require('reel').call('ping')")
    assert client.agent("demo").attached == 0


def test_two_conversations(nvim: Nvim, client: Client) -> None:
    """Both are live, and what is sent goes to that in whose buffer one is, else to the one last opened."""
    for name in ("one", "two"):
        client.create(name)
        nvim.command(f"Reel open {name}")
        nvim.until("vim.fn.bufname() == a[1]", f"reel://{name}")
    nvim.command("enew")
    nvim.command("Reel send second")
    nvim.command("buffer reel://one")
    nvim.command("Reel send first")

    nvim.shows(*heading("user", 2, "first"))
    nvim.command("buffer reel://two")
    nvim.shows(*heading("user", 2, "second"))


def test_the_last_one_opened(nvim: Nvim, client: Client) -> None:
    """To open one that is loaded makes it the one that was opened last."""
    for name in ("one", "two", "one"):
        client.add(name, "here", create=True)
        opened(nvim, name)
    nvim.command("enew")
    nvim.command("Reel send more")
    nvim.lua("return require('reel').call('ping')")

    assert [3, 1] == [client.agent(name).messages for name in ("one", "two")]


# --- what others do


def test_others(nvim: Nvim, client: Client) -> None:
    """What anybody does to the conversation is in the buffer at once."""
    client.create("demo", system="old")
    nvim.command("Reel open demo")
    system = ["## system", "", "old", ""]
    nvim.shows(*system)
    client.mark("demo")
    client.add("demo", ["a", "b"])
    nvim.shows(*system, *heading("user", 4, "a"), *heading("user", 5, "b"))
    client.rewind("demo")
    nvim.shows(*system)
    client.undo("demo")
    nvim.shows(*system, *heading("user", 4, "a"), *heading("user", 5, "b"))
    client.add("demo", [{"role": "system", "content": "new"}])
    system[2] = "new"
    nvim.shows(*system, *heading("user", 4, "a"), *heading("user", 5, "b"))
    client.clear("demo")
    nvim.shows(*system)
    client.restore("demo", 5)

    nvim.shows("## system", "", "old", "", *heading("user", 4, "a"), *heading("user", 5, "b"))


def test_drafts(nvim: Nvim, client: Client) -> None:
    """What somebody is writing stands at the end, until it is added."""
    client.create("demo")
    client.add("demo", "a")
    nvim.command("Reel open demo")
    nvim.shows(*heading("user", 2, "a"))
    draft = "## assistant · writing… (python)"
    client.draft("demo", "I thi")
    nvim.shows(*heading("user", 2, "a"), draft, "", "I thi", "")
    client.draft("demo", "I think\nso")
    nvim.shows(*heading("user", 2, "a"), draft, "", "I think", "so", "")
    client.add("demo", "I think so")

    nvim.shows(*heading("user", 2, "a"), *heading("user", 3, "I think so"))


def test_the_cursor_follows(nvim: Nvim, client: Client) -> None:
    """A cursor on the last line stays on it, another one stays where it is."""
    client.create("demo")
    client.add("demo", "a")
    nvim.command("Reel open demo")
    nvim.shows(*heading("user", 2, "a"))
    nvim.command("normal! G")
    client.add("demo", "b")
    nvim.shows(*heading("user", 2, "a"), *heading("user", 3, "b"))
    assert [8, 0] == nvim.call("nvim_win_get_cursor", 0)
    nvim.command("normal! gg")
    client.add("demo", "c")
    nvim.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 12")

    assert [1, 0] == nvim.call("nvim_win_get_cursor", 0)


# --- what one does


@pytest.fixture
def demo(nvim: Nvim, client: Client) -> Nvim:
    """A Neovim with an empty conversation open."""
    client.create("demo")
    nvim.command("Reel open demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")
    return nvim


def test_send(demo: Nvim, client: Client) -> None:
    """The text is sent as it is, bars, quotes and umlauts too."""
    demo.command('Reel send say "hé" | <CR> % #')

    demo.shows(*heading("user", 2, 'say "hé" | <CR> % #'))
    assert "nvim" == next(iter(client.iter_history("demo", since=1)))["client"]


def test_send_a_range(demo: Nvim) -> None:
    """With a range its lines are sent, from whatever buffer."""
    demo.command("enew")
    demo.call("nvim_buf_set_lines", 0, 0, -1, False, ["no", "yes", "", "  also", "no"])
    demo.command("2,4Reel send")
    demo.command("buffer reel://demo")

    demo.shows("## user #2", "", "yes", "", "  also", "")


def test_send_a_range_with_a_text(demo: Nvim, client: Client) -> None:
    """The text stands above the lines."""
    demo.command("enew")
    demo.call("nvim_buf_set_lines", 0, 0, -1, False, ["x = 1", "y = 2"])
    demo.command("%Reel send What is this?")
    demo.command("buffer reel://demo")
    demo.shows(*heading("user", 2, "What is this?"), "x = 1", "y = 2", "")

    assert ["What is this?\n\nx = 1\ny = 2"] == texts(client)


def test_send_asks(demo: Nvim, client: Client) -> None:
    """Without a text one is asked for; who gives none sends nothing."""
    demo.lua("vim.ui.input = function(options, done) asked = options.prompt; done(nil) end")
    demo.command("Reel send")
    assert "To demo: " == demo.lua("return asked")
    assert "nothing sent" == demo.said()[-1]
    demo.lua("vim.ui.input = function(_, done) done('typed') end")
    demo.command("Reel send")

    demo.shows(*heading("user", 2, "typed"))
    assert client.agent("demo").messages == 1


def test_editing(demo: Nvim) -> None:
    """Mark, rewind, undo, redo and clear do what they say."""
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
    demo.until("vim.fn.execute('messages'):find('demo: back at the newest mark', 1, true)")
    assert [
        "demo: mark here set (#2)",
        "demo: added #3",
        "demo: back at mark here (#2); 1 record set aside",
        "demo: undid #4; :Reel redo brings it back",
        "demo: redid #4",
        "demo: undid #4; :Reel redo brings it back",
        "demo: cleared; :Reel undo brings it back",
        "demo: undid #8; :Reel redo brings it back",
        "demo: mark set (#10)",
        "demo: added #11",
        "demo: back at the newest mark (#10); 1 record set aside",
    ] == demo.said()
    assert [] == demo.notified()


def test_new(nvim: Nvim, client: Client) -> None:
    """A new conversation is made and shown; without a name it has one made."""
    nvim.command("Reel new fresh")
    nvim.until("vim.fn.bufname() == 'reel://fresh'")
    nvim.command("Reel new")
    nvim.until("vim.fn.bufname() ~= 'reel://fresh'")

    made = nvim.call("nvim_eval", "bufname()").removeprefix("reel://")
    assert {"fresh", made} == {row.name for row in client.iter_agents()}


def test_clone(demo: Nvim, client: Client) -> None:
    """The clone is shown, and goes its own way."""
    demo.command("Reel send a")
    demo.shows(*heading("user", 2, "a"))
    demo.command("Reel clone twin")
    demo.until("vim.fn.bufname() == 'reel://twin'")
    demo.shows(*heading("user", 2, "a"))
    demo.command("Reel send b")
    demo.shows(*heading("user", 2, "a"), *heading("user", 4, "b"))

    assert 1 == client.agent("demo").messages


def test_list(demo: Nvim, client: Client) -> None:
    """One chooses among the living, the newest first."""
    client.create("older")
    client.create("dead")
    client.kill("dead")
    client.add("demo", "a")
    demo.lua("vim.ui.select = function(all, how, done) _G.shown = vim.tbl_map(how.format_item, all); done(all[2]) end")
    demo.command("Reel list")
    demo.until("vim.fn.bufname() == 'reel://older'")

    assert ["demo", "older"] == [line.split()[0] for line in demo.lua("return shown")]


@pytest.mark.parametrize("command", ["Reel", "Reel open", "Reel list"])
def test_the_list_is_what_comes_without_a_name(nvim: Nvim, client: Client, command: str) -> None:
    """``:Reel`` and ``:Reel open`` alone offer the conversations to choose from; if there are none, that is said."""
    nvim.lua("vim.ui.select = function(all, how) listed = vim.tbl_map(how.format_item, all) end")
    nvim.command(command)
    nvim.until("vim.fn.execute('messages'):find('no conversations (:Reel new NAME creates one)', 1, true)")
    client.create("demo")
    nvim.command(command)
    nvim.until("listed")

    assert ["demo"] == [line.split()[0] for line in nvim.lua("return listed")]


def test_a_name_that_nobody_has_is_said_in_the_buffer(nvim: Nvim) -> None:
    """``:edit`` of a conversation that does not exist says what creates it."""
    nvim.command("edit reel://zed")

    nvim.shows("*no conversation zed (:Reel new zed creates it)*")


def test_info(demo: Nvim, client: Client) -> None:
    """What matters of the conversation is said in a few lines."""
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
    assert ["marks        here #2", "waiting for  weather c1"] == said[4:6]
    assert "followers    1" == said[-1]


# --- mistakes


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("Reel open zed", "no conversation zed (:Reel new zed creates it)"),
        ("Reel send hi", "no conversation is open (:Reel open NAME opens one)"),
        ("Reel dance", 'no command "dance"; there are: clear clone info list mark new '),
        ("Reel new a/../b c", "agent: "),
    ],
)
def test_mistakes(nvim: Nvim, command: str, line: str) -> None:
    """A mistake is answered in one line, and breaks nothing."""
    nvim.command(command)
    nvim.complains(line)

    (shown,) = nvim.notified()
    assert shown.startswith(line)
    assert "\n" not in shown


def test_mistakes_on_a_conversation(demo: Nvim) -> None:
    """What the daemon refuses is said as it says it."""
    demo.command("Reel rewind nowhere")
    demo.complains("nowhere")
    demo.command("Reel undo")

    demo.complains("nothing to undo")


def test_setup(nvim: Nvim) -> None:
    """An option that there is not is refused, and none is taken."""
    for options, line in (
        ("{command = 'x', port = 1}", "invalid_params: setup: no option port; there are command and socket"),
        ("{socket = 1}", "invalid_params: setup: socket must be a string, not 1"),
    ):
        assert [False, line] == nvim.lua(f"return {{pcall(require('reel').setup, {options})}}")
    assert "reel" == nvim.lua("return require('reel.config').command")


# --- completion, health, help


def test_completion(demo: Nvim, client: Client) -> None:
    """Commands, agents and marks are completed."""
    client.create("dodo")
    client.create("other")
    for label in ("here", "hither", "here", "größe zwei"):
        client.mark("demo", label)

    for line, words in {
        "Reel re": ["redo", "rewind"],
        "Reel open d": ["demo", "dodo"],
        "Reel rewind h": ["here", "hither"],
        "Reel mark hi": ["hither"],
        "Reel rewind größe z": ["zwei"],
        "Reel send d": [],
        "Reel open demo d": [],
    }.items():
        assert words == demo.call("nvim_eval", f"getcompletion('{line}', 'cmdline')")


def test_health(demo: Nvim, daemon: Daemon) -> None:
    """All is well, and it is said which daemon answers where."""
    demo.command("checkhealth reel")

    text = "\n".join(demo.lines())
    assert f"(pid {daemon.process.pid}) answers on {daemon.socket}" in text
    assert "Neovim is 0.7 or newer" in text
    assert "ERROR" not in text
    assert "WARN" not in text


def test_help(nvim: Nvim, tmp_path: Path) -> None:
    """Each command has a place in the help."""
    shutil.copytree(PLUGIN / "doc", tmp_path / "doc")
    nvim.command(f"helptags {tmp_path}/doc")
    nvim.command(f"set runtimepath^={tmp_path}")
    names = nvim.lua("return require('reel.commands').names()")

    for tag in ("reel", "reel-lua", *(f":Reel-{name}" for name in names)):
        nvim.command(f"help {tag}")
        assert f"*{tag}*" in nvim.call("nvim_get_current_line")
