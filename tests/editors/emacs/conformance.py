"""An Emacs for the tests that run over all editors."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.editors.driven import Surroundings
from tests.editors.emacs.driver import Emacs

# The rows of the folds that are closed.
_FOLDS = """
(let ((at 1) (row (lambda (position) (1- (line-number-at-pos position t)))) found)
  (while (setq at (text-property-any at (point-max) 'invisible 'reel-fold))
    (let ((end (next-single-property-change at 'invisible nil (point-max))))
      (push (vector (funcall row at) (funcall row end)) found)
      (setq at end)))
  (vconcat (nreverse found)))
"""
_TAIL = """
(save-excursion
  (goto-char (point-max))
  (forward-line (- {}))
  (vector (count-lines 1 (point-max)) (buffer-substring-no-properties (point) (point-max))))
"""


class Driven:
    """An Emacs whose commands are given by name; see :mod:`tests.editors.driven`."""

    def __init__(self, emacs: Emacs) -> None:
        self._emacs = emacs

    def open(self, name: str) -> None:
        """Show a conversation."""
        self._emacs.eval(f"(ignore {_said(f'(reel-open {_string(name)})')})")

    def give(self, command: str, text: str = "") -> None:
        """Give a command; an error of it is said."""
        call = f"(funcall-interactively #'reel-{command}{f' {_string(text)}' if text else ''})"
        in_buffer = f"(with-current-buffer (window-buffer) {_said(call)})"
        self._emacs.eval(f"(ignore (run-at-time 0 nil (lambda () {in_buffer})))")

    def lines(self) -> list[str]:
        """Return the lines of the current buffer."""
        return self._emacs.text().split("\n")[:-1]

    def tail(self, count: int) -> tuple[int, list[str]]:
        """Return how many lines there are, and the last ones."""
        total, text = self._emacs.eval(_TAIL.format(count))
        return total, text.split("\n")[:-1]

    def said(self) -> list[str]:
        """Return all that was said."""
        return self._emacs.said()

    def row(self) -> int:
        """Return the row of point; behind the last line, that of the last line."""
        row, total = self._emacs.eval("(vector (line-number-at-pos (point) t) (count-lines 1 (point-max)))")
        return int(min(row, total)) - 1

    def go(self, row: int) -> None:
        """Move point to the beginning of a row."""
        self._emacs.eval(f"(ignore (goto-char 1) (forward-line {row}) (set-window-point nil (point)))")

    def folds(self) -> list[tuple[int, int]]:
        """Return the rows of the closed folds."""
        return [(first, last) for first, last in self._emacs.eval(_FOLDS)]


@contextmanager
def start(given: Surroundings) -> Iterator[Driven]:
    """Start an Emacs with the plug-in; it ends with the block."""
    emacs = Emacs(given.require("emacs"), given.directory, given.environment)
    try:
        yield Driven(emacs)
    finally:
        emacs.close()


def _string(text: str) -> str:
    """Return a text as Emacs Lisp."""
    return json.dumps(text, ensure_ascii=False)


def _said(call: str) -> str:
    """Return a call whose error is said."""
    return f'(condition-case err {call} (error (message "%s" (error-message-string err))))'
