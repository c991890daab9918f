"""The buffer of a conversation in Emacs stays equal to the conversation."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable

import pytest

from reel.sync.client import Client
from tests.editors.emacs.conftest import Shown
from tests.editors.emacs.driver import Emacs
from tests.editors.texts import texts
from tests.patience import PATIENCE


@pytest.fixture
def demo(client: Client, emacs: Emacs, shown: Shown) -> Callable[[], None]:
    """An open conversation of one message; give a function that looks until it is shown as it is."""
    client.add("demo", "Hello", create=True)
    emacs.command("reel-open", "demo")

    def look() -> None:
        emacs.until(lambda: emacs.text() == shown("demo"))

    look()
    return look


def test_emacs_a_shell_and_python_see_one_order(
    client: Client, emacs: Emacs, environment: dict[str, str], demo: Callable[[], None]
) -> None:
    """Emacs, a shell and Python write to one conversation at once, and all see one order."""
    count = 10
    words = ["reel", "add", "demo", "from the shell"]

    def shell() -> None:
        for _ in range(count):
            subprocess.run(words, env=environment, check=True, timeout=PATIENCE, capture_output=True)

    thread = threading.Thread(target=shell)
    thread.start()
    for number in range(count):
        emacs.type(f"sfrom Emacs {number}\r")
        client.add("demo", f"from Python {number}")
    thread.join()
    emacs.until(lambda: client.agent("demo").messages == 1 + 3 * count)

    demo()


def test_the_prompt_changes(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """The system prompt is at the top after it is set, replaced, kept by clear, or removed."""
    for system in ("Be brief.", "Be\nlong.", ""):
        client.add("demo", [{"role": "system", "content": system}, {"role": "user", "content": f"now {system!r}"}])
        demo()
        client.clear("demo")
        demo()
    assert "" == emacs.text()
    client.restore("demo", 4)
    demo()

    assert emacs.text().startswith("## system\n\nBe brief.\n\n## user")


def test_an_undo_that_brings_back_many_messages(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """Messages that an undo brings back are read in pages while others are added."""
    client.add("demo", [f"message {number}" for number in range(2500)])
    demo()
    for _ in range(3):
        client.clear("demo")
        client.add("demo", "alone")
        client.undo("demo")
        client.undo("demo")
        client.add("demo", "and on")
    demo()

    assert 2504 == emacs.text().count("## user #")


def test_a_clone_into_the_conversation(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A clone into the open conversation replaces its messages and its prompt."""
    client.create("other", system="Another one.")
    client.add("other", ["one", "two"])
    client.clone("other", into="demo")
    demo()

    assert "Another one." in emacs.text()


@pytest.mark.usefixtures("demo")
def test_a_rename_renames_the_buffer(client: Client, emacs: Emacs) -> None:
    """The name of the buffer follows the name of the conversation."""
    client.change("demo", name="better")
    emacs.until(lambda: emacs.eval("(buffer-name)") == "*reel better*")
    emacs.type("sHi\r")

    emacs.until_said("better: added #")


@pytest.mark.large
def test_a_megabyte_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A message of a megabyte is pushed, read and sent."""
    text = "ä line of text\n" * 70_000
    client.add("demo", text)
    size = len(text)
    emacs.until(lambda: emacs.eval("(point-max)") > size)
    emacs.type("g")
    emacs.until(lambda: emacs.eval("(if reel-lines-state 0 (point-max))") > size)
    send = f'(reel-send (mapconcat #\'identity (make-list {size // 15} "ä line of text\\n") ""))'
    emacs.eval(f"(ignore {send})")
    emacs.until(lambda: emacs.eval("(point-max)") > 2 * size)

    demo()
    assert text == texts(client, "demo")[-1]


def test_one_byte_at_a_time_in_emacs(start: Callable[..., Emacs], client: Client, dripping: str, shown: Shown) -> None:
    """A message that arrives in single bytes is read whole."""
    client.add("demo", ["Hello ä€😀", "x" * 5000], create=True)
    emacs = start(REEL_SOCKET=dripping)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: emacs.text() == shown("demo"))
    emacs.type("sä€😀\r")
    client.add("demo", ["ä€😀"] * 20)
    emacs.until(lambda: client.agent("demo").messages == 23)

    emacs.until(lambda: emacs.text() == shown("demo"))


def test_a_stopped_emacs_catches_up(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """An Emacs that was stopped while pushes were dropped ends with all messages."""
    os.kill(emacs.process.pid, signal.SIGSTOP)
    for number in range(60):
        client.add("demo", f"{number}\n" + "a line of text\n" * 4000)
    os.kill(emacs.process.pid, signal.SIGCONT)

    demo()


def test_a_push_during_a_call_in_emacs(client: Client, emacs: Emacs, demo: Callable[[], None]) -> None:
    """A push that arrives while a command waits for its reply is not lost."""
    head = client.agent("demo").head
    wait = f"(reel-link-call 'wait :agent reel-lines-agent :since {head + 19} :timeout {PATIENCE * 1000:.0f})"
    emacs.eval(f"(ignore (run-at-time 0 nil (lambda () (setq waited {wait}))))")
    for number in range(20):
        client.add("demo", f"message {number}")
    demo()

    emacs.until(lambda: emacs.eval("(bound-and-true-p waited)") is not None)
    assert head + 20 == emacs.eval("(plist-get waited :head)")


def test_many_requests_and_a_command_at_once(emacs: Emacs, client: Client, demo: Callable[[], None]) -> None:
    """Requests sent without waiting get their replies, and so does a command among them."""
    ask = "(reel-link-ask 'ping nil (lambda (error result) (push (or error (plist-get result :pong)) answers)))"
    emacs.eval(f'(ignore (setq answers nil) (dotimes (_ 200) {ask}) (reel-send "in between"))')
    emacs.until(lambda: emacs.eval("(length answers)") == 200)
    demo()

    assert emacs.eval("(equal answers (make-list 200 t))") is True
    assert 2 == client.agent("demo").messages


def test_a_lagging_emacs_subscribes_again(emacs: Emacs, client: Client, demo: Callable[[], None]) -> None:
    """After a `lagged`, everything is read again with a new subscription."""
    before = emacs.eval("reel-lines--subscription")
    emacs.eval("(ignore (reel-lines-hear 'lagged (list :sub reel-lines--subscription)))")
    emacs.until(lambda: emacs.eval("(and (null reel-lines-state) reel-lines--subscription)") not in (None, before))
    client.add("demo", "more")
    demo()

    assert 1 == client.agent("demo").attached
