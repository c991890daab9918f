"""Vim for the conformance tests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.editors.driven import Surroundings
from tests.editors.vim.driver import Vim
from tests.patience import PATIENCE

_FOLDS = """
function ReelTestFolds()
  let [found, line] = [[], 1]
  while line <= line('$')
    let end = foldclosedend(line)
    call extend(found, end < 0 ? [] : [[line - 1, end - 1]])
    let line = max([line, end]) + 1
  endwhile
  return found
endfunction
"""


@contextmanager
def start(given: Surroundings) -> Iterator["DrivenVim"]:
    """Start a Vim that ends with the block."""
    driven = DrivenVim(Vim(given.require("vim"), given.environment, given.directory))
    try:
        yield driven
    finally:
        driven.close()


class DrivenVim:
    """A Vim, as :class:`tests.editors.driven.Driven` says."""

    def __init__(self, vim: Vim) -> None:
        self._vim = vim
        self._vim.run(f"execute {json.dumps(_FOLDS)}")
        # What commands have printed. Vim waits for the answer to a command, so each runs in a thread of its own.
        self._printed: list[str] = []
        self._running: list[threading.Thread] = []

    def _run(self, command: str) -> None:
        self._printed += self._vim.run(command).splitlines()

    def open(self, name: str) -> None:
        """Show a conversation."""
        self._run(f"Reel open {name}")

    def give(self, command: str, text: str = "") -> None:
        """Give a command."""
        thread = threading.Thread(target=self._run, args=(f"Reel {command} {text}",))
        thread.start()
        self._running.append(thread)

    def lines(self) -> list[str]:
        """Return the lines of the current buffer."""
        return self._vim.lines()

    def tail(self, count: int) -> tuple[int, list[str]]:
        """Return how many lines the current buffer has, and the last ones."""
        size, lines = self._vim.eval(f"[line('$'), getline(max([1, line('$') - {count - 1}]), '$')]")
        return size, lines

    def said(self) -> list[str]:
        """Return all that was said or complained of."""
        return [*self._vim.said(), *self._printed]

    def row(self) -> int:
        """Return the row of the cursor."""
        line: int = self._vim.eval("line('.')")
        return line - 1

    def go(self, row: int) -> None:
        """Put the cursor on a row."""
        self._vim.run(f"call cursor({row + 1}, 1)")

    def folds(self) -> list[tuple[int, int]]:
        """Return the closed folds."""
        return [(first, last) for first, last in self._vim.eval("ReelTestFolds()")]

    def close(self) -> None:
        """End it."""
        self._vim.process.kill()  # a command that runs ends with it
        for thread in self._running:
            thread.join(PATIENCE)
        self._vim.close()
