"""The documentation of the plug-in for Emacs."""

import re
import subprocess

import pytest

from reel.sync.client import Client
from tests.editors.documented import ROOT, blocks, section
from tests.editors.surroundings import Require
from tests.patience import PATIENCE


@pytest.mark.usefixtures("daemon")
def test_the_documented_lines_for_emacs_without_the_plug_in(
    require: Require, environment: dict[str, str], client: Client
) -> None:
    """The documented lines of Lisp show a conversation, and what is added."""
    *_, lines = blocks("Emacs", "elisp")
    adding = '(call-process "reel" nil nil nil "add" "demo" "And a Patricia tree?")'
    wait = "(while (not (string-match {} (buffer-string))) (accept-process-output nil 0.1))"
    show = "(princ (buffer-substring-no-properties 1 (point-max)))"
    steps = [lines, wait.format('"Merkle"'), adding, wait.format('"Patricia tree"'), show]
    command = [require("emacs"), "-Q", "--batch", "--eval", f"(progn {' '.join(steps)})"]
    ran = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=PATIENCE, check=True)

    assert ["## user #2", "What is a Merkle tree?", "## user #3", "And a Patricia tree?"] == [
        line for line in ran.stdout.splitlines() if line
    ]
    assert 2 == client.agent("demo").messages


def test_every_key_is_documented() -> None:
    """The documentation names every command that the mode has a key for."""
    lisp = (ROOT / "client" / "editors" / "emacs" / "reel.el").read_text()
    table = lisp.partition("(defvar reel-mode-map")[2].partition("(define-derived")[0]
    keys = re.findall(r'define-key map "(.)" #\'(reel-[a-z]+)\)', table)

    text = section("Emacs")
    assert len(keys) > 8
    for key, command in keys:
        assert f"`{key}`" in text
        assert f"`{command}`" in text or command in {"reel-next", "reel-previous"}
