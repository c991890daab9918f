"""The compose buffer in Neovim: :write sends it."""

from pathlib import Path

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.nvim.driver import Nvim
from tests.editors.nvim.shown import opened
from tests.editors.texts import texts


def compose(nvim: Nvim, *lines: str) -> None:
    """Write lines into the compose buffer of the current conversation."""
    nvim.command("Reel compose")
    nvim.call("nvim_buf_set_lines", 0, 0, -1, False, list(lines))


def later(nvim: Nvim) -> None:
    """Wait until what was put off has been done."""
    nvim.lua("vim.schedule(function() later = true end)")
    nvim.until("later")
    nvim.lua("later = nil")


def test_write_sends_the_compose_buffer(demo: Nvim, client: Client) -> None:
    """``:write`` sends the lines as one message, says which message it is, and closes the window."""
    compose(demo, "What is", "", "a reel?")
    demo.command("write")
    demo.until("vim.fn.winnr('$') == 1")

    assert ["What is\n\na reel?"] == texts(client)
    assert "reel://demo" == demo.lua("return vim.fn.bufname()")
    assert "demo: added #2" == demo.said()[-1]
    demo.command("Reel compose")
    assert ([""], False) == (demo.lines(), demo.lua("return vim.bo.modified"))


def test_the_last_window_is_not_closed(demo: Nvim, client: Client) -> None:
    """A compose buffer in the only window stays there, empty, when it was sent; so does one with a new text."""
    compose(demo, "one")
    demo.command("only | write")
    later(demo)
    assert ["reel-compose://demo", ""] == [demo.lua("return vim.fn.bufname()"), *demo.lines()]
    demo.command("new | wincmd p | call setline(1, 'two') | write | call setline(1, 'three')")
    later(demo)

    assert (["three"], 2) == (demo.lines(), demo.lua("return vim.fn.winnr('$')"))
    assert ["one", "two"] == texts(client)


def test_wq_sends_and_closes_the_window(demo: Nvim, client: Client) -> None:
    """``:wq`` sends the buffer and goes back to the conversation."""
    compose(demo, "hello")
    demo.command("wq")

    assert ["hello"] == texts(client)
    assert ["reel://demo", 1] == demo.lua("return {vim.fn.bufname(), vim.fn.winnr('$')}")


def test_a_compose_buffer_keeps_what_was_not_sent(demo: Nvim, daemon: Daemon, client: Client) -> None:
    """If sending fails, the text stays in the buffer, which stays modified, and is there when it is opened again."""
    compose(demo, "hello")
    client.kill("demo")
    demo.command("wq")
    demo.command("Reel compose")

    assert (["hello"], True) == (demo.lines(), demo.lua("return vim.bo.modified"))
    assert 1 == len(demo.notified())
    assert Path(daemon.socket).is_socket()


def test_a_compose_buffer_stays_with_its_conversation(demo: Nvim, client: Client) -> None:
    """A buffer sends to the conversation that it was opened for, also if another one has its name now."""
    client.add("demo", "one")
    demo.until("vim.fn.search('one', 'nw') > 0")
    compose(demo, "to moved")
    demo.command("wincmd p")
    client.change("demo", name="moved")
    demo.until("require('reel').status() == 'moved'")
    client.create("demo")
    demo.command("enew")
    opened(demo)
    compose(demo, "to demo")
    demo.command("wq")
    demo.command("buffer reel-compose://demo")
    demo.command("Reel mark here")
    demo.until("vim.fn.execute('messages'):find('moved: marked', 1, true)")
    demo.command("write")

    assert (["one", "to moved"], ["to demo"]) == (texts(client, "moved"), texts(client))


def test_a_compose_buffer_that_a_session_restored(demo: Nvim, client: Client) -> None:
    """A buffer that only has the name of a compose buffer, as after a session, becomes one with its text."""
    demo.command("set noswapfile | new | file reel-compose://demo | call setline(1, 'hello') | wincmd p")
    demo.command("Reel compose")
    assert ["hello"] == demo.lines()
    demo.command("write")

    assert ["hello"] == texts(client)


def test_a_deleted_compose_buffer_opens_again(demo: Nvim, client: Client) -> None:
    """A compose buffer that was deleted opens again, and sends once."""
    for text in ("one", "two"):
        compose(demo, text)
        demo.command("write | bdelete")

    assert ["one", "two"] == texts(client)
    assert ["demo: added #2", "demo: added #3"] == [line for line in demo.said() if not line.startswith("To ")]


def test_commands_in_a_compose_buffer(nvim: Nvim, client: Client) -> None:
    """A command in a compose buffer is about its conversation, not the one that was opened last."""
    for name in ("one", "two"):
        client.create(name)
    opened(nvim, "one")
    compose(nvim, "text")
    nvim.command("wincmd p")
    opened(nvim, "two")
    nvim.command("Reel compose")
    nvim.command("buffer reel-compose://one")
    nvim.command("Reel mark here")
    nvim.until("vim.fn.execute('messages'):find('one: marked as here', 1, true)")

    assert [2, 1] == [client.agent(name).head for name in ("one", "two")]


def test_write_to_a_file_does_not_send(demo: Nvim, client: Client, tmp_path: Path) -> None:
    """``:write FILE`` writes the file, and ``:saveas`` makes the buffer that of a file: nothing is sent."""
    compose(demo, "one", "two")
    demo.command(f"write {tmp_path}/copy")
    assert (["one", "two"], True) == (demo.lines(), demo.lua("return vim.bo.modified"))
    demo.command(f"write {tmp_path}/none/copy")
    demo.complains(f"cannot write {tmp_path}/none/copy")
    demo.command(f"saveas {tmp_path}/own")
    demo.command("write")

    assert ["one\ntwo\n"] * 2 == [(tmp_path / name).read_text() for name in ("copy", "own")]
    assert (["one", "two"], False) == (demo.lines(), demo.lua("return vim.bo.modified"))
    assert [] == texts(client)


def test_a_blank_compose_buffer_is_not_sent(demo: Nvim, client: Client) -> None:
    """A buffer with nothing but blanks is not sent."""
    compose(demo, " ", "")
    demo.command("write")

    assert [] == texts(client)
    assert "nothing sent" == demo.said()[-1]
