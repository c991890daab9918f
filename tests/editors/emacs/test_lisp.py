"""The files of the plug-in for Emacs: compiler, checkdoc, tests in Lisp, package."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.editors.emacs.driver import LISP
from tests.editors.surroundings import Require
from tests.patience import PATIENCE

_FILES = sorted(path.name for path in LISP.glob("*.el"))
_COMMANDS = ["open", "new", "send", "list", "clone", "mark", "rewind", "undo", "redo", "clear", "info", "search"]
_TESTS = Path(__file__).with_name("reel-test.el")


def _batch(emacs: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [emacs, "-Q", "--batch", "-L", ".", *words]
    return subprocess.run(command, text=True, capture_output=True, check=False, timeout=PATIENCE)


@pytest.fixture
def lisp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Go to a directory with a copy of the plug-in; give the names of its files."""
    for name in _FILES:
        shutil.copy(LISP / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return _FILES


def test_the_lisp_compiles_without_a_warning(require: Require, lisp: list[str]) -> None:
    """The byte-compiler reports nothing."""
    strict = "(setq byte-compile-error-on-warn t)"
    done = _batch(require("emacs"), "--eval", strict, "-f", "batch-byte-compile", *lisp)

    assert (0, "") == (done.returncode, done.stderr)
    assert {f"{name}c" for name in lisp} == {path.name for path in Path().glob("*.elc")}


def test_the_lisp_passes_checkdoc(require: Require, lisp: list[str]) -> None:
    """Checkdoc reports nothing."""
    check = '(mapc #\'checkdoc-file (directory-files "." nil "\\\\.el\\\\\'"))'
    done = _batch(require("emacs"), "--eval", check)

    assert "reel.el" in lisp
    assert (0, "") == (done.returncode, done.stderr)


def test_the_tests_in_lisp(require: Require, lisp: list[str]) -> None:
    """The tests in Lisp pass, with the files compiled."""
    done = _batch(require("emacs"), "-f", "batch-byte-compile", *lisp)
    assert 0 == done.returncode
    done = _batch(require("emacs"), "-l", str(_TESTS), "-f", "ert-run-tests-batch-and-exit")

    assert 0 == done.returncode, done.stderr
    assert ", 0 unexpected" in done.stderr


@pytest.mark.usefixtures("lisp")
def test_emacs_installs_the_package(require: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory can be installed as a package, which has every documented command."""
    commentary = Path("reel.el").read_text().partition(";;; Code:")[0]
    commands = [f"reel-{name}" for name in _COMMANDS]
    monkeypatch.setenv("HOME", str(Path("home").absolute()))
    install = "(progn (require 'package) (package-initialize) (package-install-file default-directory))"
    Path("home").mkdir()
    done = _batch(require("emacs"), "--eval", install)
    assert 0 == done.returncode, done.stderr
    there = f"(mapc (lambda (c) (princ (list c (commandp c) (autoloadp (symbol-function c))))) '({' '.join(commands)}))"
    done = _batch(require("emacs"), "--eval", f"(progn (require 'package) (package-initialize) {there})")

    assert "".join(f"({command} t t)" for command in commands) == done.stdout
    assert [] == [command for command in commands if command not in commentary]
