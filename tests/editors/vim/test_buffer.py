"""What the buffer of a conversation shows in Vim."""

from reel.said.messages import NewMessage, Role
from reel.sync.client import Client
from tests.editors import alike
from tests.editors.alike import MESSAGES
from tests.editors.vim.driver import Vim


def text(role: Role, said: str) -> NewMessage:
    return {"role": role, "content": said}


def test_a_conversation_is_markdown_in_vim(vim: Vim, client: Client) -> None:
    """The buffer has the prompt, and each message under a heading with its role, seq and time."""
    client.create("demo", system="Be brief.")
    client.add("demo", [text("user", "hé\n\n  wie geht's?"), text("assistant", "😀")])
    vim.run("Reel open demo")
    vim.shows("## system", "Be brief.", "## user #3", "hé", "  wie geht's?", "## assistant #4", "😀")
    time = vim.eval("strftime('%Y-%m-%d %H:%M:%S', {})".format(client.messages("demo").messages[0]["time"] // 1000))

    assert ["", f"## user #3 · {time}", "", "hé", "", "  wie geht's?", ""] == vim.lines()[3:10]
    assert ["reel://demo", "markdown", 0, 0, "nofile"] == vim.eval(
        "[bufname(), &filetype, &modifiable, &modified, &buftype]"
    )


def test_a_fold_in_vim_says_what_is_in_it(vim: Vim, client: Client) -> None:
    """A closed fold shows its label, and how many lines are below."""
    alike.converse(client)
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("search('I th', 'nw') > 0"), 1)
    folded = vim.eval("map(filter(range(1, line('$')), 'foldclosed(v:val) == v:val'), 'foldtextresult(v:val)')")

    assert ["### thinking +2 lines ", "### call look c1 +3 lines "] == folded[:2]


def test_changes_by_others_appear_in_vim(vim: Vim, client: Client) -> None:
    """A change by another client is in the buffer, whatever its kind."""
    client.create("demo")
    client.add("demo", ["one", "two"])
    vim.run("Reel open demo")
    vim.shows("## user #2", "one", "## user #3", "two")
    client.add("demo", [{"role": "system", "content": "Be brief."}])
    vim.shows("## system", "Be brief.", "## user #2", "one", "## user #3", "two")
    client.mark("demo", "here")
    client.add("demo", "three")
    vim.shows("## system", "Be brief.", "## user #2", "one", "## user #3", "two", "## user #6", "three")
    client.rewind("demo", "here")
    vim.shows("## system", "Be brief.", "## user #2", "one", "## user #3", "two")
    client.clear("demo")
    vim.shows("## system", "Be brief.")
    client.restore("demo", 3)
    vim.shows("## user #2", "one", "## user #3", "two")
    client.restore("demo", 1)
    vim.shows()
    client.add("other", ["another"], create=True)
    client.clone("other", into="demo")
    vim.shows("## user #2", "another")
    client.change("demo", title="now follow on")
    client.add("demo", "more")
    vim.until(lambda: vim.lines()[-2:-1], ["more"])

    assert [] == vim.said()


def test_a_cursor_at_the_end_follows_in_vim(vim: Vim, client: Client) -> None:
    """A cursor at the end stays at the end; elsewhere the cursor and open folds stay as they are."""
    client.add("demo", [*MESSAGES[1:], *["text"] * 100], create=True)
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("line('$') > 400"), 1)
    vim.run("split", "normal! G", "wincmd p", "normal! 3Gzo5G", "wincmd p")
    before = vim.eval("line('$')")
    client.add("demo", [{"role": "system", "content": "Be brief."}])
    client.add("demo", "more")
    vim.until(lambda: vim.lines()[-2:-1], ["more"])

    assert [before + 8, before + 8] == vim.eval("[line('.'), line('$')]")
    assert [9, -1] == vim.eval("[line('.', win_getid(winnr('#'))), foldclosed(6)]")


def test_open_reuses_a_window_that_shows_it(vim: Vim, client: Client) -> None:
    """Opening goes to the window that shows the conversation, keeps unsaved buffers, and folds in each window."""
    client.add("demo", MESSAGES[1:], create=True)
    vim.run("set nohidden", "call setline(1, 'mine')", "Reel open demo")
    vim.until(lambda: vim.eval("len(getline(1, '$')) > 10"), 1)
    vim.run("tabnew", "buffer reel://demo")

    assert [["mine"], "expr"] == vim.eval("[getbufline(1, 1, '$'), &foldmethod]")
    vim.run("wincmd n", "Reel open demo")
    assert 2 == vim.eval("winnr('$')")


def test_a_window_at_the_end_scrolls_without_focus(vim: Vim, client: Client) -> None:
    """A window at the end scrolls with the conversation while the user works in another."""
    client.create("demo")
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    vim.run("new")
    for _ in range(2):
        client.add("demo", "\n".join("line" for _ in range(60)))
        shown = client.agent("demo").messages * 63
        vim.until(lambda: vim.eval("line('$', win_getid(2))"), shown)

        assert shown == vim.eval("line('w$', win_getid(2))")


def test_a_conversation_is_not_called_a_new_file(vim: Vim, client: Client) -> None:
    """Vim does not report a conversation as a new file."""
    client.add("demo", "this is shown", create=True)
    vim.keys(":Reel open demo\r")
    vim.until(lambda: b"this is shown" in vim.screen, True)

    assert b"[New" not in vim.screen


def test_an_empty_buffer_is_not_reported(vim: Vim, client: Client) -> None:
    """Vim does not report "No lines in buffer" for the list or for an emptied conversation."""
    client.add("demo", "this is shown", create=True)
    vim.keys(":Reel list\r")
    vim.until(lambda: vim.lines()[0][:5], "demo ")
    vim.keys(":Reel open demo\r")
    vim.until(lambda: b"this is shown" in vim.screen, True)
    client.clear("demo")
    vim.until(vim.lines, [""])

    assert (False, []) == (b"No lines" in vim.screen, vim.said())


def test_edit_by_name_in_vim(vim: Vim, client: Client) -> None:
    """``:edit reel://NAME`` shows a conversation, ``:edit`` reads it again, and ``:bdelete`` ends the subscription."""
    client.add("a/b", "one", create=True)
    vim.run("edit reel://a/b")
    vim.shows("## user #2", "one")
    vim.run("setlocal modifiable", "call setline(3, 'changed')", "edit")
    vim.shows("## user #2", "one")
    vim.run("Reel send two")
    vim.shows("## user #2", "one", "## user #3", "two")
    vim.run("bdelete")
    vim.until(lambda: client.agent("a/b").attached, 0)

    assert "no conversation zed (:Reel new zed creates it)" in vim.run("edit reel://zed")


def test_who_reads_a_draft_in_vim_keeps_the_place(vim: Vim, client: Client) -> None:
    """A cursor inside a draft stays in its line when the draft grows, and when its message replaces it."""
    client.add("demo", "a", create=True)
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("search('^a$', 'nw') > 0"), 1)
    lines = [f"line {number}" for number in range(100)]
    client.draft("demo", "\n".join(lines))
    vim.until(lambda: vim.eval("search('line 99', 'nw') > 0"), 1)
    vim.run("normal! gg", "call search('line 50')", "normal! zz")
    before = vim.eval("[getline('.'), line('.') - line('w0')]")
    client.draft("demo", "\n".join([*lines, "more"]))
    vim.until(lambda: vim.eval("search('more', 'nw') > 0"), 1)
    client.add("demo", [{"role": "assistant", "content": "\n".join(lines)}])
    vim.until(lambda: vim.eval("search('^## assistant #3', 'nw') > 0"), 1)

    assert before == vim.eval("[getline('.'), line('.') - line('w0')]")


def test_a_purged_conversation_leaves_nothing_in_vim(vim: Vim, client: Client) -> None:
    """What was purged goes from the buffer, and the message and the status line say so."""
    client.create("demo", system="secret")
    client.add("demo", "secret")
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("search('secret', 'nw') > 0"), 1)
    client.kill("demo")
    client.purge("demo")
    vim.until(vim.lines, ["*the conversation is gone*"])

    assert ["the conversation is gone"] == vim.said()
    assert "demo · away" == vim.eval("reel#status#Text()")
