"""The commands in Emacs, typed by keys; after each the buffer must show what the daemon has."""

from collections.abc import Callable

import pytest

from reel.sync.client import Client
from tests.editors.emacs.conftest import Shown
from tests.editors.emacs.driver import Emacs, Refused
from tests.editors.texts import texts

pytestmark = pytest.mark.usefixtures("daemon")


@pytest.fixture
def demo(client: Client, emacs: Emacs, shown: Shown) -> Callable[[], None]:
    """An open conversation with a prompt and a message: a function that waits until the buffer shows it."""
    client.create("demo", system="Be brief.")
    client.add("demo", "Hello")
    emacs.command("reel-open", "demo")

    def look() -> None:
        emacs.until(lambda: emacs.text() == shown("demo"))

    look()
    return look


def test_open_completes_names(client: Client, emacs: Emacs, shown: Shown) -> None:
    """``reel-open`` completes the beginning of a name; one with a generated id has its short form."""
    for name in ("alpha", "beta/one", "beta/two"):
        client.create(name)
    client.add("beta/two", "Hello")
    emacs.type("\x1bxreel-open\rbe\tt\t\r")

    emacs.until_text(shown("beta/two"))
    client.create("codex/22222222-2222-4222-8222-222222222222")

    assert ["codex/22222222"] == emacs.eval('(all-completions "codex" (reel-list-table))')


def test_a_conversation_has_one_buffer(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """Opening a conversation again, by name or id, shows the same buffer."""
    first = emacs.eval("(buffer-name)")
    emacs.type("\x1b<")
    emacs.command("reel-open", client.agent("demo").id)
    emacs.eval('(ignore (message "next"))')
    emacs.until_said("next")

    demo()
    assert first == emacs.eval("(buffer-name)")
    assert 1 == emacs.eval("(length (reel--buffers))")


def test_a_command_without_an_open_conversation(emacs: Emacs) -> None:
    """A command without a conversation says what opens one, and asks nothing."""
    emacs.command("reel-send")

    emacs.until_said("No conversation is open (M-x reel-open opens one)")


def test_new_shows_the_conversation_in_emacs(client: Client, emacs: Emacs, shown: Shown) -> None:
    """A new conversation is created and shown, with a system prompt after ``C-u``."""
    emacs.type("\x15\x1bxreel-new\rfresh\rBe brief.\r")
    emacs.until_text("## system\n\nBe brief.\n\n")
    assert "Be brief." == client.agent("fresh").system
    emacs.command("reel-new", "")
    emacs.until_text("")
    emacs.command("reel-send", "Hi")
    emacs.until(lambda: "Hi" in emacs.text())

    (other,) = {agent.name for agent in client.iter_agents()} - {"fresh"}
    assert emacs.text() == shown(other)


def test_send_asks_for_a_text_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A text that is asked for is sent and shown."""
    emacs.type("sWhat is a Merkle tree?\r")
    emacs.until_said("demo: added #4")
    demo()

    assert ["Hello", "What is a Merkle tree?"] == texts(client, "demo")


def test_an_empty_text_is_not_sent_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """An empty text is not sent, and a message says so."""
    emacs.type("s\r")
    emacs.until_said("nothing sent")
    demo()

    assert ["Hello"] == texts(client, "demo")


def test_send_a_region(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """The region of any buffer is sent to the conversation that was opened last."""
    emacs.type("\x18bnotes\rone\ntwo ä😀\nthree\x1b<\x00\x0e\x0e")
    emacs.command("reel-send")
    emacs.until_said("demo: added #4")
    emacs.command("reel-open", "demo")
    demo()

    assert ["Hello", "one\ntwo ä😀\n"] == texts(client, "demo")


def test_invalid_characters_are_replaced(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """Raw bytes, lone surrogates and NUL are replaced, and the message says how many."""
    emacs.eval(r'(reel-send (concat "a" (string #x3fff80 #xd800 0) "b"))')
    emacs.until_said("demo: added #4; 3 characters replaced by U+FFFD")
    demo()

    assert "a\ufffd\ufffd\ufffdb" == texts(client, "demo")[-1]


def test_clone_is_shown_in_emacs(client: Client, emacs: Emacs, shown: Shown, demo: Callable[[], None]) -> None:
    """A clone is shown, and its messages do not go into the original."""
    emacs.type("cother\r")
    emacs.until(lambda: emacs.eval("(buffer-name)") == "*reel other*")
    emacs.type("sonly here\r")
    emacs.until(lambda: "only here" in emacs.text())
    assert emacs.text() == shown("other")
    emacs.command("reel-open", "demo")
    demo()

    assert (["Hello"], ["Hello", "only here"]) == (texts(client, "demo"), texts(client, "other"))


def test_mark_and_rewind_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """``reel-rewind`` goes back to a mark, by its completed label or to the newest."""
    emacs.type("mhere\r")
    emacs.until_said("demo: marked as here (#4)")
    client.add("demo", ["one", "two"])
    demo()
    emacs.type("m\r")
    emacs.until_said("demo: marked (#7)")
    client.add("demo", "three")
    demo()
    emacs.type("r\r")
    emacs.until_said("demo: back at mark #7; 1 message set aside")
    demo()
    emacs.type("rh\t\r")
    emacs.until_said("demo: back at here (#4); 2 messages set aside")
    demo()

    assert ["Hello"] == texts(client, "demo")


def test_rewind_to_an_unknown_label(emacs: Emacs, demo: Callable[[], None]) -> None:
    """A label without a mark is refused."""
    emacs.type("rnowhere\r")

    emacs.until_said("nowhere")
    demo()


def test_undo_and_redo_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """The newest command is undone and redone; the keys of Emacs' own undo do the same."""
    client.add("demo", ["one", "two"])
    demo()
    emacs.type("u")
    emacs.until_said("demo: undid #4; M-x reel-redo does it again")
    demo()
    assert ["Hello"] == texts(client, "demo")
    emacs.type("U")
    emacs.until_said("demo: redid #4")
    demo()
    assert ["Hello", "one", "two"] == texts(client, "demo")
    emacs.type("\x1f")
    emacs.until(lambda: texts(client, "demo") == ["Hello"])
    demo()


def test_nothing_to_undo_in_emacs(emacs: Emacs, client: Client) -> None:
    """If there is nothing to undo, the message says so."""
    client.create("demo")
    emacs.command("reel-open", "demo")
    emacs.until_text("")
    emacs.type("u")

    emacs.until_said("nothing to undo")


def test_clear_keeps_the_prompt_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """Only the system prompt is left after ``reel-clear``."""
    emacs.type("C")
    emacs.until_said("demo: cleared; M-x reel-undo brings it back")
    demo()

    assert "## system\n\nBe brief.\n\n" == emacs.text()
    assert [] == texts(client, "demo")


def test_info_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """``reel-info`` shows the facts about a conversation in a buffer."""
    demo()
    emacs.type("i")
    emacs.until(lambda: emacs.eval('(and (get-buffer "*reel info*") t)') is True)

    lines = str(emacs.eval('(with-current-buffer "*reel info*" (buffer-string))')).splitlines()
    assert ["name         demo", f"id           {client.agent('demo').id}", "messages     1"] == lines[:3]
    assert "prompt       Be brief." in lines


def test_list_opens_a_conversation_in_emacs(client: Client, emacs: Emacs, shown: Shown) -> None:
    """The list has the live conversations, the newest first; RET opens one, g reads it again."""
    for name in ("one", "two", "gone", "three"):
        client.create(name, title=f"The {name}")
    client.kill("gone")
    client.add("two", "Hello")
    emacs.command("reel-list")
    emacs.until(lambda: "The one" in emacs.text())

    assert ["two", "three", "one"] == [line.split()[0] for line in emacs.text().splitlines()]
    client.add("one", "Hi")
    emacs.type("g")
    emacs.until(lambda: emacs.text().split()[0] == "one")
    emacs.type("\x1b<\x0e\r")
    emacs.until_text(shown("two"))


def test_short_names_in_emacs(client: Client, emacs: Emacs) -> None:
    """The list has the short form of a name with an id."""
    client.create("codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b", title="The tapes")
    emacs.command("reel-list")
    emacs.until(lambda: "The tapes" in emacs.text())

    assert "codex/64913c3b" == emacs.text().split()[0]


def test_an_empty_list_in_emacs(emacs: Emacs) -> None:
    """Without conversations, the list says what creates one."""
    emacs.command("reel-list")

    emacs.until_said("no conversations (M-x reel-new creates one)")


def test_g_reads_everything_again(emacs: Emacs, demo: Callable[[], None]) -> None:
    """The key ``g`` reads the conversation again and repairs the buffer."""
    emacs.eval("(let ((inhibit-read-only t)) (ignore (erase-buffer)))")
    emacs.type("g")

    demo()


def test_a_killed_buffer_ends_its_subscription(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A killed buffer ends its subscription."""
    demo()
    assert 1 == client.agent("demo").attached
    emacs.eval("(ignore (kill-buffer))")

    emacs.until(lambda: client.agent("demo").attached == 0)
    with pytest.raises(Refused, match="No conversation is open"):
        emacs.eval('(reel-send "x")')


@pytest.mark.parametrize("leave", ["(kill-buffer)", "(revert-buffer)"])
def test_a_buffer_left_while_it_subscribes(client: Client, emacs: Emacs, leave: str) -> None:
    """A buffer that is killed or read again before the reply to `subscribe` leaves no subscription."""
    client.create("demo")
    emacs.eval(f'(ignore (reel-open "demo") {leave} (reel-link-call \'ping))')
    emacs.until(lambda: not emacs.eval("reel-link--queue"))
    emacs.eval('(ignore (when (get-buffer "*reel demo*") (kill-buffer "*reel demo*")) (reel-link-call \'ping))')

    emacs.until(lambda: client.agent("demo").attached == 0)
