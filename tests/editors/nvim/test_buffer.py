"""What the buffer of a conversation shows in Neovim."""

from typing import Any

from reel.sync.client import Client
from tests.editors import alike
from tests.editors.alike import without_times
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


def test_every_kind_of_block_in_nvim(nvim: Nvim, client: Client) -> None:
    """A buffer shows what the other editors show; the times are virtual text."""
    alike.converse(client)
    nvim.command("Reel open demo")
    nvim.until("#vim.api.nvim_buf_get_lines(0, 0, -1, false) > a[1]", len(alike.SHOWN))

    assert alike.SHOWN == without_times(nvim.lines())


def test_calls_results_and_thinking_are_folded_in_nvim(nvim: Nvim, client: Client) -> None:
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


def test_changes_by_others_appear_in_nvim(nvim: Nvim, client: Client) -> None:
    """A change by another client is in the buffer at once, whatever its kind."""
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


def test_drafts_are_at_the_end_in_nvim(nvim: Nvim, client: Client) -> None:
    """A draft of another client is at the end until its message is added."""
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


def test_a_cursor_at_the_end_follows_in_nvim(nvim: Nvim, client: Client) -> None:
    """A cursor on the last line stays on the last line; elsewhere it stays where it is."""
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


def test_who_reads_a_draft_in_nvim_keeps_the_place(nvim: Nvim, client: Client) -> None:
    """A cursor inside a draft stays in its line when the draft grows, and when its message replaces it."""
    client.add("demo", "a", create=True)
    opened(nvim)
    nvim.until("vim.fn.search('^a$', 'nw') > 0")  # it comes before the draft, and may be read after it
    lines = [f"line {number}" for number in range(100)]
    client.draft("demo", "\n".join(lines))
    nvim.until("vim.fn.search('line 99', 'nw') > 0")
    nvim.command("normal! gg")
    nvim.command("call search('line 50') | normal! zz")
    before = nvim.call("nvim_eval", "[getline('.'), line('.') - line('w0')]")
    client.draft("demo", "\n".join([*lines, "more"]))
    nvim.until("vim.fn.search('more', 'nw') > 0")
    nvim.lua("vim.defer_fn = function() end")  # a draft that has ended is shown for a second, and here for ever
    client.draft("demo", "")
    nvim.lua("return require('reel').call('ping')")
    client.add("demo", [{"role": "assistant", "content": "\n".join(lines)}])
    nvim.until("vim.fn.search('^## assistant #3', 'nw') > 0")

    assert before == nvim.call("nvim_eval", "[getline('.'), line('.') - line('w0')]")


def test_editing_an_unknown_name_says_how_to_create_it(nvim: Nvim) -> None:
    """``:edit`` of an unknown conversation shows the command that creates it."""
    nvim.command("edit reel://zed")

    nvim.shows("*no conversation zed (:Reel new zed creates it)*")
