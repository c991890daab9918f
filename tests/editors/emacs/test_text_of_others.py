"""Emacs executes nothing that other people wrote."""

from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.editors.emacs.driver import Emacs
from tests.editors.hostile_text import LOCAL_VARIABLES, converse

SHOWN = {"reel-open": "*reel demo*", "reel-list": "*reel list*", "reel-info": "*reel info*"}
LOOKS = [
    "(hack-local-variables)",
    "(hack-local-variables 'no-mode)",
    "(progn (hack-dir-local-variables) (hack-local-variables-apply))",
    "(hack-dir-local-variables-non-file-buffer)",
]


@pytest.fixture
def trusting(emacs: Emacs, client: Client, tmp_path: Path) -> Emacs:
    """An Emacs that would take any variable of a file or a directory without a question."""
    (tmp_path / ".dir-locals.el").write_text("((nil . ((fill-column . 77) (eval . (setq ran t)))))")
    converse(client, LOCAL_VARIABLES)
    emacs.eval(f'(setq enable-local-variables :all enable-local-eval t ran nil default-directory "{tmp_path}/")')
    return emacs


@pytest.mark.parametrize("command", SHOWN)
def test_local_variables_are_not_read(trusting: Emacs, command: str) -> None:
    """Neither a text nor the current directory sets a variable in a buffer."""
    trusting.command("reel-open", "demo")
    trusting.until(lambda: "Local Variables" in trusting.text())
    if command != "reel-open":
        trusting.command(command)
    trusting.until(lambda: trusting.eval(f'(and (get-buffer "{SHOWN[command]}") t)') is True)
    looks = " ".join(f"(progn {look} (vector fill-column ran))" for look in LOOKS)
    found = trusting.eval(f'(with-current-buffer "{SHOWN[command]}" (vector {looks}))')

    assert [[70, None]] * len(LOOKS) == found


def test_local_variables_of_hits_are_not_read(trusting: Emacs, client: Client) -> None:
    """No hit sets a variable in the list of hits."""
    until_indexed(client)
    trusting.command("reel-search", "column")
    trusting.until(lambda: "fill-column: 77" in trusting.text())
    found = trusting.eval(f"(progn {' '.join(LOOKS)} (vector fill-column ran))")

    assert [70, None] == found
