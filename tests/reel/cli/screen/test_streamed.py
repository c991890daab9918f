"""An answer that is laid out while it comes looks, in the end, as if it had been laid out at once."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.screen import markdown
from reel.cli.screen.output import Output, render
from reel.cli.screen.streamed import StreamedMarkdown

_WIDTH = 30
_TEXTS = [
    "A **bold** word, and `code` in a line that is longer than the screen is wide.",
    "# Heading\n\n- one item of a list that is long enough to be wrapped\n- two",
    "Look:\n\n```python\nvalue = 'a line of code that is much wider than the screen'\n```\nThat is all.",
    "~~~\n```\n~~~\n**x",
    "ends with a blank \nand a break\n",
    "ein Wort, 日本語 und 🔎 mehr",
]


def screen(text: str) -> list[str]:
    """Return what a terminal shows after it got some text: a line that is erased begins again."""
    return [line.rsplit("\r\x1b[K", 1)[-1].rstrip(" ") for line in text.split("\n")]


def streamed(pieces: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is shown of an answer in pieces."""
    monkeypatch.setenv("COLUMNS", str(_WIDTH + 1))
    stdout = io.StringIO()
    echo = StreamedMarkdown(Output(stdout, io.StringIO(), color="always"))
    for piece in pieces:
        echo.write(piece)
    echo.end()
    return screen(stdout.getvalue())


def whole(text: str) -> list[str]:
    """Return what is shown of a whole text."""
    rows = [render(row.line, colour=True).rstrip(" ") for row in markdown.layout(text, _WIDTH, styled=True)]
    return rows if text.endswith("\n") else [*rows, ""]


@pytest.mark.parametrize("text", _TEXTS)
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_pieces_of_any_size(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, styles and fences come out whole."""
    assert whole(text) == streamed([text[at : at + size] for at in range(0, len(text), size)], monkeypatch)


@given(st.lists(st.sampled_from(["a", "word ", "**", "`", "\n", "```", "# ", "- ", " "]), max_size=25))
def test_pieces_of_anything(pieces: list[str]) -> None:
    """No word is lost, whatever the marks around it do not mark."""
    with pytest.MonkeyPatch.context() as patch:
        shown = "".join(streamed(pieces, patch))

    letters = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert re.findall("[a-z]", "".join(pieces)) == re.findall("[a-z]", letters)
