"""The compose buffer in Emacs: C-c C-c and C-x C-s send it."""

import pytest

from reel.sync.client import Client
from tests.editors.emacs.driver import Emacs
from tests.editors.texts import texts

pytestmark = pytest.mark.usefixtures("daemon")


@pytest.fixture
def composing(client: Client, emacs: Emacs) -> Emacs:
    """An Emacs in the compose buffer of an empty conversation."""
    client.create("demo")
    emacs.command("reel-open", "demo")
    emacs.until(lambda: client.agent("demo").attached == 1)
    emacs.type("w")
    emacs.until(lambda: emacs.eval("(buffer-name)") == "*reel compose demo*")
    return emacs


@pytest.mark.parametrize("keys", ["\x03\x03", "\x18\x13"])
def test_the_compose_buffer_is_sent_in_emacs(composing: Emacs, client: Client, keys: str) -> None:
    """``C-c C-c`` and ``C-x C-s`` send the lines as one message, and close the window."""
    composing.type(f"What is\r\ra reel?{keys}")
    composing.until_said("demo: added #2")
    composing.until(lambda: composing.eval("(buffer-name)") == "*reel demo*")

    assert ["What is\n\na reel?"] == texts(client)
    assert "" == composing.eval('(with-current-buffer "*reel compose demo*" (buffer-string))')


def test_a_compose_buffer_of_emacs_keeps_what_was_not_sent(composing: Emacs, client: Client) -> None:
    """If sending fails, the text stays in the buffer, which asks before it is killed."""
    client.kill("demo")
    composing.type("hello\x03\x03")
    composing.until_said("killed")
    composing.type("\x18k\rno\r")
    composing.eval('(ignore (message "answered"))')
    composing.until_said("answered")

    assert "hello" == composing.text()


def test_a_compose_buffer_of_emacs_stays_with_its_conversation(composing: Emacs, client: Client) -> None:
    """A buffer sends to the conversation that it was opened for, also if another one has its name now."""
    composing.type("to moved")
    client.change("demo", name="moved")
    client.create("demo")
    composing.command("reel-open", "demo")
    composing.until(lambda: composing.eval("(buffer-name)") == "*reel demo*" and client.agent("demo").attached == 1)
    composing.type("w")
    composing.until(lambda: composing.eval("(buffer-name)") == "*reel compose demo*<2>")
    composing.type("to demo\x03\x03")
    composing.until_said("demo: added #2")
    composing.command("reel-open", "moved")
    composing.until(lambda: composing.eval("(buffer-name)") == "*reel moved*")
    composing.type("w")
    composing.until_text("to moved")
    composing.type("\x03\x03")
    composing.until_said("moved: added #3")

    assert (["to moved"], ["to demo"]) == (texts(client, "moved"), texts(client))


def test_emacs_asks_before_it_exits_with_an_unsent_message(composing: Emacs) -> None:
    """``C-x C-c`` asks about a message that was not sent, and does not exit if the answer is no."""
    composing.type("hello\x18\x03")
    composing.until_shown("The message to demo was not sent; exit anyway?")
    composing.type("no\r")
    composing.eval('(ignore (message "answered"))')
    composing.until_said("answered")

    assert "hello" == composing.text()


def test_a_narrowed_compose_buffer_is_sent_whole(composing: Emacs, client: Client) -> None:
    """If the buffer is narrowed, the whole text is sent, because the whole text is removed from the buffer."""
    composing.type("one\rtwo")
    composing.until_text("one\ntwo")
    composing.eval("(ignore (narrow-to-region 1 4))")
    composing.type("\x03\x03")
    composing.until_said("demo: added #2")

    assert ["one\ntwo"] == texts(client)


def test_a_blank_compose_buffer_is_not_sent_in_emacs(composing: Emacs, client: Client) -> None:
    """A buffer with nothing but blanks is not sent."""
    composing.type("  \r\x03\x03")
    composing.until_said("nothing sent")

    assert [] == texts(client)
