"""How the plug-in for Vim applies patches of lines."""

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from tests.editors.vim.driver import Start, Vim

SCRIPT = """vim9script
import autoload 'reel/lines.vim'
import autoload 'reel/buffers.vim'
b:reel_languages = {}
final sheet = lines.New(bufnr())
lines.Begin(sheet)
buffers.Dress()
g:Patch = (patch: string) => lines.Apply(sheet, json_decode(patch))
g:Begin = () => lines.Begin(sheet)
g:Below = (text: string) => lines.SetBelow(sheet, text)
"""


class Row(NamedTuple):
    """A row that a buffer should have, and its entry."""

    text: str
    entry: Any


@pytest.fixture
def sheet(start_vim: Start, directory: Path) -> Vim:
    """A Vim whose current buffer shows patches."""
    vim = start_vim()
    (directory / "sheet.vim").write_text(SCRIPT)
    vim.run(f"source {directory}/sheet.vim")
    return vim


def give(vim: Vim, **patch: Any) -> None:
    """Apply a patch."""
    whole = {"folds": [], "headings": [], "marks": [], "more": False} | patch
    vim.run("call g:Patch('{}')".format(json.dumps(whole).replace("'", "''")))


class Patches:
    """Random patches, and what a buffer should have after them."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.rows: list[Row] = []

    def next(self, *, more: bool) -> dict[str, Any]:
        """Make a patch."""
        first = self._random.randrange(len(self.rows) + 1)
        last = self._random.randrange(first, min(len(self.rows), first + 12) + 1)
        made = [f"{self._random.random()}" for _ in range(self._random.randrange(12))]
        entries: list[Any] = [0] * len(made)
        folds, headings = [], []
        if len(made) > 4:
            headings.append([first, "user", self._random.randrange(100), None])
            entries[0] = headings[0][1:3]
            folds.append([first + 1, first + 3])
            entries[1:4] = [">1", 1, 1]
        elif made and first and self.rows[first - 1].entry == 0:
            folds.append([first - 1, first])  # it begins in an earlier patch
            entries[0] = 1
            self.rows[first - 1] = Row(self.rows[first - 1].text, ">1")
        self.rows[first:last] = map(Row, made, entries)
        return {"replace": [first, last], "lines": made, "folds": folds, "headings": headings, "more": more}


def is_shown(vim: Vim, rows: list[Row]) -> None:
    """Assert that the buffer has these rows."""
    assert [row.text for row in rows] or [""] == vim.lines()
    assert [row.entry for row in rows] == vim.eval("b:reel_rows")


@pytest.mark.parametrize("seed", range(4))
def test_random_patches_in_vim(sheet: Vim, seed: int) -> None:
    """Patches anywhere make the conversation; after a new subscription, once its last one has come."""
    random = Random(seed)
    shown: list[Row] = []
    for _ in range(3):
        patches = Patches(random)
        for _ in range(12):
            give(sheet, **patches.next(more=True))
            is_shown(sheet, shown or patches.rows)
        give(sheet, **patches.next(more=False))
        is_shown(sheet, patches.rows)
        sheet.run("call g:Begin()")
        shown = patches.rows


def test_a_fold_that_ends_in_a_later_patch(sheet: Vim) -> None:
    """A fold that begins in an earlier patch is closed as soon as its last line has come."""
    give(sheet, replace=[0, 0], lines=["a", "### call", "b", "c"], more=True)
    assert -1 == sheet.eval("foldclosed(2)")
    give(sheet, replace=[4, 4], lines=["d", "e", "f"], folds=[[1, 5]])

    assert [-1, 2, 6, -1] == sheet.eval("[foldclosed(1), foldclosed(2), foldclosedend(6), foldclosed(7)]")


def cursor(vim: Vim) -> str:
    """Return the line of the cursor."""
    line: str = vim.eval("getline('.')")
    return line


@pytest.mark.parametrize(
    ("line", "replace", "lines", "expected"),
    [
        (2, [0, 0], ["x", "y"], "b"),
        (2, [2, 3], ["x", "y"], "b"),
        (3, [0, 1], [], "c"),
        (3, [1, 4], ["x", "y", "z"], "y"),
        (4, [1, 4], ["x"], "x"),
        (5, [5, 5], ["x", "y"], "y"),
        (5, [3, 5], ["x"], "x"),
    ],
)
def test_the_cursor_after_a_patch(sheet: Vim, line: int, replace: list[int], lines: list[str], expected: str) -> None:
    """A cursor stays on its text; in what is replaced, in its row; on the last line, on the last line."""
    give(sheet, replace=[0, 0], lines=list("abcde"))
    sheet.run(str(line))
    give(sheet, replace=replace, lines=lines)

    assert expected == cursor(sheet)


def test_what_is_below_the_rows_stays_below(sheet: Vim) -> None:
    """The line that says why a conversation does not go on is no row of it."""
    sheet.run("call g:Below('*away*')")
    assert ["*away*"] == sheet.lines()
    give(sheet, replace=[0, 0], lines=["a", "b"])
    assert ["a", "b", "*away*"] == sheet.lines()
    give(sheet, replace=[0, 2], lines=[])
    assert ["*away*"] == sheet.lines()
    sheet.run("call g:Below('')")

    assert [""] == sheet.lines()


def test_marks_and_times_are_at_the_ends_of_lines(sheet: Vim) -> None:
    """What is to be shown at the end of a row is behind its text, and a heading has its time."""
    give(sheet, replace=[0, 0], lines=["## user #2", "x"], headings=[[0, "user", 2, 0]], marks=[[1, "… 2 more"]])
    time = sheet.eval("strftime('%Y-%m-%d %H:%M:%S', 0)")

    assert [f"## user #2 · {time}", "x … 2 more"] == sheet.lines()


def test_a_fold_that_was_cut_off_by_a_lost_connection(sheet: Vim) -> None:
    """A fold whose end did not come before a loss is closed when the conversation has come again."""
    lines = ["a", "### call", "b", "c", "d"]
    give(sheet, replace=[0, 0], lines=lines[:4], more=True)
    sheet.run("call g:Begin()")
    give(sheet, replace=[0, 0], lines=lines, folds=[[1, 3]])

    assert [-1, 2, 4, -1] == sheet.eval("[foldclosed(1), foldclosed(2), foldclosedend(2), foldclosed(5)]")
