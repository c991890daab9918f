"""What the buffer of a conversation shows in Neovim."""

from typing import Any

from reel.sync.client import Client
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import heading, opened

ANSWER: Any = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "text": "I must\nlook."},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
    ],
}
RESULT: Any = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "18 degrees"}]}


def test_a_conversation_is_markdown_in_nvim(nvim: Nvim, client: Client) -> None:
    """The buffer has the prompt, and each message under a heading with its role and seq."""
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


def folded(nvim: Nvim) -> list[str]:
    """Return the first lines of the closed folds of the current window."""
    first = "filter(range(1, line('$')), 'foldclosed(v:val) == v:val')"
    lines = nvim.lines()
    return [lines[row - 1] for row in nvim.call("nvim_eval", first)]


def test_folds_are_in_every_window(nvim: Nvim, client: Client) -> None:
    """A window has folds whenever it shows the buffer, another buffer in it has none, and an open fold stays open."""
    client.create("demo")
    client.add("demo", ["a", ANSWER])
    nvim.command("Reel open demo")
    nvim.until("vim.fn.search('Paris', 'nw') > 0")
    labels = ["### thinking", "### call weather c1"]
    assert labels == folded(nvim)
    nvim.command("sbuffer reel://demo")
    assert labels == folded(nvim)
    nvim.command("enew")
    assert [] == folded(nvim)
    nvim.command("only")
    client.add("demo", [RESULT])
    client.add("demo", "b")
    nvim.lua("require('reel').call('ping')")
    nvim.command("buffer reel://demo")
    nvim.until("vim.fn.getline('$') == '' and vim.fn.search('^b$', 'nw') > 0")
    assert [*labels, "### result of weather c1"] == folded(nvim)
    nvim.command("call search('### thinking') | normal! zo")
    client.add("demo", [ANSWER])
    nvim.until("vim.fn.search('assistant #6', 'nw') > 0")

    assert ["### call weather c1", "### result of weather c1", *labels] == folded(nvim)


def test_times_are_virtual_text_behind_headings(nvim: Nvim, client: Client) -> None:
    """Each heading has the time of its message behind it, in local time."""
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


def test_edit_reads_a_conversation_again(nvim: Nvim, client: Client) -> None:
    """``:edit`` reads the conversation again, and ``:bwipeout`` ends the subscription."""
    client.create("demo")
    nvim.command("Reel open demo")
    nvim.until("vim.fn.bufname() == 'reel://demo'")
    client.add("demo", "a")
    nvim.shows(*heading("user", 2, "a"))
    nvim.command("setlocal modifiable | call setline(3, 'changed')")
    nvim.command("edit")
    nvim.shows(*heading("user", 2, "a"))
    client.add("demo", "b")
    nvim.shows(*heading("user", 2, "a"), *heading("user", 3, "b"))
    assert 1 == client.agent("demo").attached
    nvim.command("bwipeout")

    nvim.lua("return require('reel').call('ping')")
    assert 0 == client.agent("demo").attached


def test_send_goes_to_the_conversation_of_the_buffer(nvim: Nvim, client: Client) -> None:
    """Two buffers are kept current; a text goes to the current one, else to the one opened last."""
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


def test_opening_a_loaded_conversation_makes_it_the_last_opened(nvim: Nvim, client: Client) -> None:
    """Opening a conversation that is already loaded makes it the one that was opened last."""
    for name in ("one", "two", "one"):
        client.add(name, "here", create=True)
        opened(nvim, name)
    nvim.command("enew")
    nvim.command("Reel send more")
    nvim.lua("return require('reel').call('ping')")

    assert [3, 1] == [client.agent(name).messages for name in ("one", "two")]


def test_a_name_that_another_conversation_has_now_in_nvim(nvim: Nvim, client: Client) -> None:
    """``:Reel open`` shows the conversation that has the name now, not the one that had it before."""
    client.add("demo", "old", create=True)
    opened(nvim)
    nvim.shows(*heading("user", 2, "old"))
    client.change("demo", name="moved")
    client.add("demo", "new", create=True)
    nvim.command("enew")
    opened(nvim)
    nvim.shows(*heading("user", 2, "new"))
    nvim.command("Reel send more")

    nvim.shows(*heading("user", 2, "new"), *heading("user", 3, "more"))
    assert 1 == client.agent("moved").messages


def test_who_reads_a_draft_in_another_window_keeps_the_place(nvim: Nvim, client: Client) -> None:
    """The cursor of a window that is not the current one stays in its row as well when a message replaces a draft."""
    client.add("demo", "a", create=True)
    opened(nvim)
    nvim.until("vim.fn.search('^a$', 'nw') > 0")
    lines = [f"line {number}" for number in range(60)]
    client.draft("demo", "\n".join(lines))
    nvim.until("vim.fn.search('line 59', 'nw') > 0")
    nvim.command("call search('line 30') | split | normal! G")
    client.add("demo", [{"role": "assistant", "content": "\n".join([*lines, "more"])}])
    nvim.until("vim.fn.search('more', 'nw') > 0")
    assert "" == nvim.call("nvim_eval", "getline('.')")
    nvim.command("wincmd p")

    assert "line 30" == nvim.call("nvim_eval", "getline('.')")


def test_editing_an_unknown_name_says_how_to_create_it(nvim: Nvim) -> None:
    """``:edit`` of an unknown conversation shows the command that creates it."""
    nvim.command("edit reel://zed")

    nvim.shows("*no conversation zed (:Reel new zed creates it)*")
