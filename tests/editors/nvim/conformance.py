"""Neovim for the conformance tests: the newest one if there is one, else the installed one."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.editors.driven import Surroundings
from tests.editors.nvim.driver import Nvim, newest

_FOLDS = """
local found, row, last = {}, 1, vim.fn.line '$'
while row <= last do
  local stop = vim.fn.foldclosedend(row)
  if stop > 0 then
    table.insert(found, { row - 1, stop - 1 })
  end
  row = math.max(stop, row) + 1
end
return found
"""


@contextmanager
def start(given: Surroundings) -> Iterator["DrivenNvim"]:
    """Start a Neovim that ends with the block."""
    with Nvim(newest() or given.require("nvim"), given.environment) as nvim:
        yield DrivenNvim(nvim)


class DrivenNvim:
    """A Neovim, as :class:`tests.editors.driven.Driven` says."""

    def __init__(self, nvim: Nvim) -> None:
        self._nvim = nvim

    def open(self, name: str) -> None:
        """Show a conversation."""
        self._nvim.command(f"Reel open {name}")
        # A short form is the beginning of the name.
        shown = "vim.fn.bufname() == a[1] or vim.startswith(vim.fn.bufname(), a[1] .. '-') or notified"
        self._nvim.until(shown, f"reel://{name}")

    def give(self, command: str, text: str = "") -> None:
        """Give a command."""
        self._nvim.command(f"Reel {command} {text}")

    def lines(self) -> list[str]:
        """Return the lines of the current buffer."""
        return self._nvim.lines()

    def tail(self, count: int) -> tuple[int, list[str]]:
        """Return how many lines the current buffer has, and the last ones."""
        return self._nvim.call("nvim_buf_line_count", 0), self._nvim.call(
            "nvim_buf_get_lines", 0, -count - 1, -1, False
        )

    def said(self) -> list[str]:
        """Return all that was said or complained of."""
        return [*self._nvim.said(), *self._nvim.notified()]

    def row(self) -> int:
        """Return the row of the cursor."""
        row: int = self._nvim.call("nvim_win_get_cursor", 0)[0]
        return row - 1

    def go(self, row: int) -> None:
        """Put the cursor on a row."""
        self._nvim.call("nvim_win_set_cursor", 0, [row + 1, 0])

    def folds(self) -> list[tuple[int, int]]:
        """Return the closed folds."""
        return [(first, last) for first, last in self._nvim.lua(_FOLDS)]
