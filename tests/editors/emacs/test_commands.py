"""Every command, typed into a real Emacs; after each the buffer must show what the daemon has."""

from collections.abc import Callable

import pytest

from reel.sync.client import Client
from tests.editors import alike
from tests.editors.alike import without_times
from tests.editors.emacs.conftest import Shown
from tests.editors.emacs.driver import Emacs, Refused
from tests.editors.texts import texts

pytestmark = pytest.mark.usefixtures("daemon")


@pytest.fixture
def demo(client: Client, emacs: Emacs, shown: Shown) -> Callable[[], None]:
    """An open conversation with a prompt and a message; give a function that looks until it is shown as it is."""
    client.create("demo", system="Be brief.")
    client.add("demo", "Hello")
    emacs.command("reel-open", "demo")

    def look() -> None:
        emacs.until(lambda: emacs.text() == shown("demo"))

    look()
    return look


def test_every_block(client: Client, emacs: Emacs) -> None:
    """A buffer shows what the other editors show; what is folded is not seen."""
    alike.converse(client)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: emacs.text().endswith(f"{alike.DRAFT}\n\n"))

    assert alike.SHOWN == without_times(emacs.text().splitlines())
    emacs.eval("(goto-char 1)")
    assert emacs.eval('(progn (search-forward "\ntwo") (and (invisible-p (1- (point))) t))')
    emacs.type("\t")
    emacs.until(lambda: emacs.eval("(not (invisible-p (1+ (point))))") is True)


def test_open_completes_names(client: Client, emacs: Emacs, shown: Shown) -> None:
    """The beginning of a name is completed from the agents that there are."""
    for name in ("alpha", "beta/one", "beta/two"):
        client.create(name)
    client.add("beta/two", "Hello")
    emacs.type("\x1bxreel-open\rbe\tt\t\r")

    emacs.until_text(shown("beta/two"))


def test_open_again(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A conversation has one buffer, however often and by whatever it is opened."""
    first = emacs.eval("(buffer-name)")
    emacs.type("\x1b<")
    emacs.command("reel-open", client.agent("demo").id)
    emacs.eval('(ignore (message "next"))')
    emacs.until_said("next")

    demo()
    assert first == emacs.eval("(buffer-name)")
    assert 1 == emacs.eval("(length (reel--buffers))")


def test_what_is_not_there(emacs: Emacs) -> None:
    """What the daemon refuses is one line, with its name."""
    emacs.command("reel-open", "zed")

    emacs.until_said("No conversation zed (M-x reel-new creates it)")


def test_nothing_is_open(emacs: Emacs) -> None:
    """A command without a conversation says how to open one, and asks nothing."""
    emacs.command("reel-send")

    emacs.until_said("No conversation is open (M-x reel-open opens one)")


def test_new(client: Client, emacs: Emacs, shown: Shown) -> None:
    """A conversation begins, with a prompt where one is wanted, and is open."""
    emacs.type("\x15\x1bxreel-new\rfresh\rBe brief.\r")
    emacs.until_text("## system\n\nBe brief.\n\n")
    assert "Be brief." == client.agent("fresh").system
    emacs.command("reel-new", "")
    emacs.until_text("")
    emacs.command("reel-send", "Hi")
    emacs.until(lambda: "Hi" in emacs.text())

    (other,) = {agent.name for agent in client.iter_agents()} - {"fresh"}
    assert emacs.text() == shown(other)


def test_send_asks(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A text that is asked for is sent and shown."""
    emacs.type("sWhat is a Merkle tree?\r")
    emacs.until_said("demo: added #4")
    demo()

    assert ["Hello", "What is a Merkle tree?"] == texts(client, "demo")


def test_send_nothing(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """No empty text is sent."""
    emacs.type("s\r")
    emacs.until_said("nothing sent")
    demo()

    assert ["Hello"] == texts(client, "demo")


def test_send_a_region(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """The region of any buffer goes to the conversation that was opened last."""
    emacs.type("\x18bnotes\rone\ntwo ä😀\nthree\x1b<\x00\x0e\x0e")
    emacs.command("reel-send")
    emacs.until_said("demo: added #4")
    emacs.command("reel-open", "demo")
    demo()

    assert ["Hello", "one\ntwo ä😀\n"] == texts(client, "demo")


def test_send_what_is_no_text(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """Bytes that are no character are replaced, and so is NUL; that is said."""
    emacs.eval(r'(reel-send (concat "a" (string #x3fff80 #xd800 0) "b"))')
    emacs.until_said("demo: added #4; 3 characters replaced by U+FFFD")
    demo()

    assert "a\ufffd\ufffd\ufffdb" == texts(client, "demo")[-1]


def test_clone(client: Client, emacs: Emacs, shown: Shown, demo: Callable[[], None]) -> None:
    """A clone begins from where its source stands, and is open; the source does not hear of it."""
    emacs.type("cother\r")
    emacs.until(lambda: emacs.eval("(buffer-name)") == "*reel other*")
    emacs.type("sonly here\r")
    emacs.until(lambda: "only here" in emacs.text())
    assert emacs.text() == shown("other")
    emacs.command("reel-open", "demo")
    demo()

    assert (["Hello"], ["Hello", "only here"]) == (texts(client, "demo"), texts(client, "other"))


def test_mark_and_rewind(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """One goes back to a mark, whose label is completed, or to the last one."""
    emacs.type("mhere\r")
    emacs.until_said("demo: mark here set (#4)")
    client.add("demo", ["one", "two"])
    demo()
    emacs.type("m\r")
    emacs.until_said("demo: mark set (#7)")
    client.add("demo", "three")
    demo()
    emacs.type("r\r")
    emacs.until_said("demo: back at the newest mark (#7); 1 record set aside")
    demo()
    emacs.type("rh\t\r")
    emacs.until_said("demo: back at mark here (#4); 2 records set aside")
    demo()

    assert ["Hello"] == texts(client, "demo")


def test_rewind_to_no_mark(emacs: Emacs, demo: Callable[[], None]) -> None:
    """A label that is not there is refused."""
    emacs.type("rnowhere\r")

    emacs.until_said("nowhere")
    demo()


def test_undo_and_redo(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """What was said last is taken back and brought back; Emacs' own undo does the same."""
    client.add("demo", ["one", "two"])
    demo()
    emacs.type("u")
    emacs.until_said("demo: undid #4; M-x reel-redo brings it back")
    demo()
    assert ["Hello"] == texts(client, "demo")
    emacs.type("U")
    emacs.until_said("demo: redid #4")
    demo()
    assert ["Hello", "one", "two"] == texts(client, "demo")
    emacs.type("\x1f")
    emacs.until(lambda: texts(client, "demo") == ["Hello"])
    demo()


def test_undo_of_nothing(emacs: Emacs, client: Client) -> None:
    """That there is nothing to undo is said."""
    client.create("demo")
    emacs.command("reel-open", "demo")
    emacs.until_text("")
    emacs.type("u")

    emacs.until_said("nothing to undo")


def test_clear(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """All but the prompt goes."""
    emacs.type("C")
    emacs.until_said("demo: cleared; M-x reel-undo brings it back")
    demo()

    assert "## system\n\nBe brief.\n\n" == emacs.text()
    assert [] == texts(client, "demo")


def test_info(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """What is known of a conversation has a buffer."""
    demo()
    emacs.type("i")
    emacs.until(lambda: emacs.eval('(and (get-buffer "*reel info*") t)') is True)

    lines = str(emacs.eval('(with-current-buffer "*reel info*" (buffer-string))')).splitlines()
    assert ["name         demo", f"id           {client.agent('demo').id}", "messages     1"] == lines[:3]
    assert "prompt       Be brief." in lines


def test_list(client: Client, emacs: Emacs, shown: Shown) -> None:
    """All living conversations are listed, the newest first; one is chosen."""
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


def test_a_list_of_nothing(emacs: Emacs) -> None:
    """If there is no conversation, the list says what creates one."""
    emacs.command("reel-list")

    emacs.until_said("no conversations (M-x reel-new creates one)")


def test_read_again(emacs: Emacs, demo: Callable[[], None]) -> None:
    """The buffer can be read anew; what stood in it by mistake is gone."""
    emacs.eval("(let ((inhibit-read-only t)) (ignore (erase-buffer) (setq reel-copy--entries nil)))")
    emacs.eval("(ignore (setq reel-copy--length 0 reel-copy--above 0 reel-copy--system nil))")
    emacs.type("g")

    demo()


def test_a_buffer_that_is_closed(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """Its subscription ends with it."""
    demo()
    assert 1 == client.agent("demo").attached
    emacs.eval("(ignore (kill-buffer))")

    emacs.until(lambda: client.agent("demo").attached == 0)
    with pytest.raises(Refused, match="No conversation is open"):
        emacs.eval('(reel-send "x")')


@pytest.mark.parametrize("leave", ["(kill-buffer)", "(revert-buffer)"])
def test_a_subscription_that_was_only_asked_for(client: Client, emacs: Emacs, leave: str) -> None:
    """A buffer that is closed, or reads all again, before the daemon answered leaves no subscription behind."""
    client.create("demo")
    emacs.eval(f'(ignore (reel-open "demo") {leave} (reel-link-call \'ping))')
    emacs.until(lambda: not emacs.eval("(reel-link--next)"))
    emacs.eval('(ignore (when (get-buffer "*reel demo*") (kill-buffer "*reel demo*")) (reel-link-call \'ping))')

    emacs.until(lambda: client.agent("demo").attached == 0)
