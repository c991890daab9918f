"""The documentation of the plug-in for Emacs."""

import re
import subprocess

import pytest

from reel.sync.client import Client
from tests.editors.documented import ROOT, blocks, section
from tests.editors.surroundings import Require


@pytest.mark.usefixtures("daemon")
def test_the_documented_lines_for_emacs_without_the_plug_in(
    require: Require, environment: dict[str, str], client: Client
) -> None:
    """The documented lines of Lisp add a message, read it, and receive it."""
    *_, lines = blocks("Emacs", "elisp")
    command = [require("emacs"), "-Q", "--batch", "--eval", f"(progn {lines} (while t (accept-process-output)))"]
    expected = {"What is a Merkle tree?", "event of user"}
    with subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE) as emacs:
        assert emacs.stderr is not None
        for line in emacs.stderr:
            expected.discard(line.rstrip())
            if not expected:
                break
        emacs.kill()

    assert set() == expected
    assert 1 == client.agent("demo").messages


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
