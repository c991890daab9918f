"""The compose buffer in Vim: :write sends it."""

from pathlib import Path

from reel.sync.client import Client
from tests.editors.texts import texts
from tests.editors.vim.driver import Vim


def compose(vim: Vim, *lines: str) -> None:
    """Write lines into the compose buffer of the current conversation."""
    vim.run("Reel compose", f"call setline(1, {list(lines)})")


def later(vim: Vim) -> None:
    """Wait until what was put off has been done."""
    vim.run("let g:later = 0", "call timer_start(0, {-> execute('let g:later = 1')})")
    vim.until(lambda: vim.eval("g:later"), 1)


def test_write_sends_the_compose_buffer_in_vim(vim: Vim, client: Client) -> None:
    """``:write`` sends the lines as one message, says which message it is, and closes the window."""
    vim.run("Reel new demo")
    compose(vim, "What is", "", "a reel?")

    assert "demo: added #2" == vim.run("write")
    assert ["What is\n\na reel?"] == texts(client)
    vim.until(lambda: vim.eval("[bufname(), winnr('$')]"), ["reel://demo", 1])
    vim.run("Reel compose")
    assert ([""], 0) == (vim.lines(), vim.eval("&modified"))


def test_the_last_window_of_vim_is_not_closed(vim: Vim, client: Client) -> None:
    """A compose buffer in the only window stays there, empty, when it was sent; so does one with a new text."""
    vim.run("Reel new demo")
    compose(vim, "one")
    vim.run("only | write")
    later(vim)
    assert ["reel-compose://demo", ""] == [vim.eval("bufname()"), *vim.lines()]
    vim.run("new | wincmd p | call setline(1, 'two') | write | call setline(1, 'three')")
    later(vim)

    assert (["three"], 2) == (vim.lines(), vim.eval("winnr('$')"))
    assert ["one", "two"] == texts(client)


def test_wq_sends_and_closes_the_window_in_vim(vim: Vim, client: Client) -> None:
    """``:wq`` sends the buffer and goes back to the conversation."""
    vim.run("Reel new demo")
    compose(vim, "hello")
    vim.run("wq")

    assert ["hello"] == texts(client)
    assert ["reel://demo", 1] == vim.eval("[bufname(), winnr('$')]")


def test_a_compose_buffer_of_vim_keeps_what_was_not_sent(vim: Vim, client: Client) -> None:
    """If sending fails, the text stays in the buffer, which stays modified, and is there when it is opened again."""
    vim.run("Reel new demo")
    compose(vim, "hello")
    client.kill("demo")
    said = vim.run("wq")
    vim.run("Reel compose")

    assert (["hello"], 1) == (vim.lines(), vim.eval("&modified"))
    assert "killed" in said


def test_a_compose_buffer_of_vim_stays_with_its_conversation(vim: Vim, client: Client) -> None:
    """A buffer sends to the conversation that it was opened for, also if another one has its name now."""
    vim.run("Reel new demo")
    compose(vim, "to moved")
    vim.run("wincmd p", "Reel rename moved")
    vim.until(lambda: vim.eval("reel#status#Text()"), "moved")
    client.create("demo")
    vim.run("Reel open demo")
    compose(vim, "to demo")
    vim.run("wq", "buffer reel-compose://demo")

    assert "moved: marked as here (#3)" == vim.run("Reel mark here")
    assert "moved: added #4" == vim.run("write")
    assert (["to moved"], ["to demo"]) == (texts(client, "moved"), texts(client))


def test_a_compose_buffer_that_a_session_of_vim_restored(vim: Vim, client: Client) -> None:
    """A buffer that only has the name of a compose buffer, as after a session, becomes one with its text."""
    vim.run("Reel new demo", "new", "file reel-compose://demo", "call setline(1, 'hello')", "wincmd p", "Reel compose")
    assert ["hello"] == vim.lines()

    assert "demo: added #2" == vim.run("write")
    assert ["hello"] == texts(client)


def test_commands_in_a_compose_buffer_of_vim(vim: Vim) -> None:
    """A command in a compose buffer is about its conversation, not the one that was opened last."""
    vim.run("Reel new one")
    compose(vim, "text")
    vim.run("wincmd p", "Reel new two", "wincmd p", "set hidden", "Reel new three", "buffer reel-compose://one")

    assert "one: marked as here (#2)" == vim.run("Reel mark here")


def test_write_to_a_file_does_not_send_in_vim(vim: Vim, client: Client, tmp_path: Path) -> None:
    """``:write FILE`` writes the file, and ``:saveas`` makes the buffer that of a file: nothing is sent."""
    vim.run("Reel new demo")
    compose(vim, "one", "two")
    assert f'"{tmp_path}/copy" written; nothing sent' == vim.run(f"write {tmp_path}/copy")
    assert (["one", "two"], 1) == (vim.lines(), vim.eval("&modified"))
    assert f"cannot write {tmp_path}/none/copy" == vim.run(f"write {tmp_path}/none/copy")
    vim.run(f"saveas {tmp_path}/own", "write")

    assert ["one\ntwo\n"] * 2 == [(tmp_path / name).read_text() for name in ("copy", "own")]
    assert (["one", "two"], 0) == (vim.lines(), vim.eval("&modified"))
    assert [] == texts(client)


def test_a_blank_compose_buffer_is_not_sent_in_vim(vim: Vim, client: Client) -> None:
    """A buffer with nothing but blanks is not sent."""
    vim.run("Reel new demo")
    compose(vim, " ", "")

    assert "nothing sent" == vim.run("write")
    assert [] == texts(client)
