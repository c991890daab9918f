"""Reading a conversation in Emacs: code blocks, faces, the mode line, completion."""

from typing import Any

import pytest

from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.daemon import later
from tests.editors.emacs.driver import Emacs

pytestmark = pytest.mark.usefixtures("daemon")

CODE = "Look:\n\n```sh\nls\n```\n\n````python\nimport os\n```\n````\n\nDone, **at last**."


def answer(text: str) -> NewMessage:
    """Return a message of an assistant."""
    return {"role": "assistant", "content": text}


def face(emacs: Emacs, text: str) -> Any:
    """Return the face at the beginning of the last occurrence of a text."""
    search = f'(goto-char (point-max)) (search-backward "{text}")'
    return emacs.eval(f"(save-excursion {search} (get-char-property (point) 'face))")


def test_code_copies_the_last_block_in_emacs(client: Client, emacs: Emacs) -> None:
    """``reel-code`` copies the last code block that an assistant wrote, whatever fences it contains."""
    client.add("demo", [answer(CODE), "```\nmine\n```"], create=True)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: "mine" in emacs.text())
    emacs.type("y")
    emacs.until_said("demo: copied 2 lines of python from #2")

    assert "import os\n```" == emacs.eval("(substring-no-properties (car kill-ring))")


def test_answer_copies_the_last_answer_in_emacs(client: Client, emacs: Emacs) -> None:
    """``reel-answer`` copies the text of the last answer."""
    client.add("demo", [answer(CODE), "mine"], create=True)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: "mine" in emacs.text())
    emacs.type("Y")
    emacs.until_said("demo: copied the answer #2")

    assert CODE == emacs.eval("(substring-no-properties (car kill-ring))")


def test_markdown_and_code_have_faces(client: Client, emacs: Emacs) -> None:
    """The code of a known language and the Markdown around it have faces; the headings of messages keep theirs."""
    client.add("demo", answer(CODE), create=True)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: "at last" in emacs.text())
    emacs.until(lambda: face(emacs, "import") == "font-lock-keyword-face")

    assert ["bold", "reel-heading"] == [face(emacs, text) for text in ("**at last", "## assistant")]


def test_only_known_modes_are_run(client: Client, emacs: Emacs) -> None:
    """A fence that names another mode, or an expression, runs nothing."""
    emacs.eval("(ignore (setq ran nil) (fset 'evil-mode (lambda () (setq ran t))))")
    code = "```evil\nx\n```\n\n```python\n# Local Variables:\n# eval: (setq ran t)\n# End:\n```\n\nend"
    client.add("demo", answer(code), create=True)
    emacs.command("reel-open", "demo")
    emacs.until(lambda: "end" in emacs.text())
    emacs.until(lambda: face(emacs, "# Local") is not None)

    assert emacs.eval("ran") is None


def test_the_mode_line_shows_who_writes(client: Client, emacs: Emacs) -> None:
    """The mode line has the name of the client that writes; nothing in it is interpreted."""
    client.create("demo")
    emacs.command("reel-open", "demo")
    emacs.until(lambda: client.agent("demo").attached == 1)
    with Client(client.path, name="%b x") as other:
        other.draft("demo", "I th")
        emacs.until(lambda: "I th" in emacs.text())

        assert ":writing… (?b x)" == emacs.eval("(reel--activity)")


def test_the_lines_of_the_list_in_emacs(client: Client, emacs: Emacs) -> None:
    """A line has the name, the time, the number of messages, and the title or the first words."""
    client.create("deck", title="Tape decks")
    client.add("demo", "What is a\nreel?", create=True)
    emacs.command("reel-list")
    emacs.until(lambda: "Tape" in emacs.text())
    demo, deck = (line.split(maxsplit=4) for line in emacs.text().splitlines())

    assert ["demo", "1", "What is a reel?"] == [demo[0], *demo[3:]]
    assert ["deck", "0", "Tape decks"] == [deck[0], *deck[3:]]


def test_completion_knows_every_conversation(client: Client, emacs: Emacs) -> None:
    """The names of all pages are completed, the last changed first, with what each is about."""
    for number in range(1100):
        client.create(f"x{number}")
    later()
    client.add("x7", "What is a reel?")
    emacs.eval("(ignore (setq table (reel-list-table)))")

    assert 1100 == emacs.eval('(length (all-completions "" table))')
    assert ["x7", "x1099"] == emacs.eval('(seq-take (all-completions "" table) 2)')
    notes = '(cdr (assq \'annotation-function (cdr (completion-metadata "" table nil))))'
    assert str(emacs.eval(f'(funcall {notes} "x7")')).endswith("  What is a reel?")
