"""Searching all conversations in Emacs."""

import pytest

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.editors.alike import HITS, NO_MATCHES, PAST, PAST_NOTICE, QUERY, say_tapes, without_ages, without_times
from tests.editors.emacs.driver import Emacs

_LINE = "(buffer-substring-no-properties (line-beginning-position) (line-end-position))"


@pytest.mark.usefixtures("daemon")
def test_a_hit_is_opened_at_its_message_in_emacs(client: Client, emacs: Emacs) -> None:
    """The list has the hits by conversation, and opens each at its match: what was rewound, as it was then."""
    say_tapes(client)
    emacs.command("reel-search", QUERY)
    emacs.until(lambda: emacs.eval("(buffer-name)") == "*reel search*")
    assert HITS == without_ages(emacs.text().splitlines())
    emacs.eval('(ignore (goto-char 1) (search-forward "修复"))')
    assert "match" == emacs.eval('(progn (search-forward "tape") (get-text-property (1- (point)) \'face))')
    emacs.type("n\r")
    emacs.until(lambda: emacs.eval(f"(list (buffer-name) {_LINE})") == ["*reel demo#5*", "tape two"])
    assert [*PAST, PAST_NOTICE.format("M-x reel-open")] == without_times(emacs.text().splitlines())
    emacs.command("reel-clone", "then")
    emacs.until(lambda: emacs.eval("(buffer-name)") == "*reel then*")
    assert 3 == client.agent("then").messages
    emacs.eval('(ignore (pop-to-buffer "*reel search*"))')
    emacs.type("n\r")

    emacs.until(lambda: emacs.eval(f"(list (buffer-name) {_LINE})") == ["*reel demo*", "first tape"])


@pytest.mark.usefixtures("daemon")
def test_more_hits_and_none_in_emacs(client: Client, emacs: Emacs) -> None:
    """More hits come below the others; without a hit a message says so; a note and a replaced prompt can be found."""
    client.create("demo", system="first prompt")
    client.add("demo", [{"role": "system", "content": "second prompt"}, {"kind": "note", "content": "prompt noted"}])
    client.add("demo", [f"tape {number}" for number in range(60)])
    until_indexed(client)
    emacs.command("reel-search", "zebra")
    emacs.until_said(NO_MATCHES)
    emacs.command("reel-search", "tape")
    emacs.until(lambda: emacs.text().endswith("\n\nm shows more hits\n"))
    emacs.type("m")
    emacs.until(lambda: emacs.text().endswith("    tape 0\n"))
    assert 121 == len(emacs.text().splitlines())
    emacs.command("reel-search", "prompt")
    emacs.until(lambda: "prompt noted" in emacs.text())
    emacs.type("\r")
    emacs.until_said("demo: #4 is a note; reel log demo shows it")
    emacs.eval('(ignore (pop-to-buffer "*reel search*"))')
    emacs.type("nn\r")

    emacs.until(lambda: emacs.eval(f"(list (buffer-name) {_LINE})") == ["*reel demo#2*", "first prompt"])
