"""A text is wrapped and styled as Markdown, and its code is left alone."""

import pytest

from reel.cli.screen.markdown import layout
from reel.cli.screen.output import render
from reel.reading.wording import cells


def shown(text: str, width: int | None = 20, *, styled: bool = False) -> list[str]:
    return [render(line, colour=styled) for line, _ in layout(text, width, styled=styled)]


def test_code_is_not_wrapped() -> None:
    """Lines in fences stay as they are; the text around them is wrapped."""
    code = "    return x + 1  # longer than the screen"
    text = f"This text is longer than the screen.\n```python\n{code}\n```\nThis one is, too, isn't it?"

    assert [
        "This text is longer",
        "than the screen.",
        "```python",
        code,
        "```",
        "This one is, too,",
        "isn't it?",
    ] == shown(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title", "\x1b[1m# Title\x1b[0m"),
        ("#hash", "#hash"),
        ("a **bold** one", "a \x1b[1mbold\x1b[0m one"),
        ("`a` and ``b `c` ``", "\x1b[36ma\x1b[0m and ``b \x1b[36mc\x1b[0m ``"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4"),
        ("> quoted", "\x1b[2m> quoted\x1b[0m"),
        ("`\x1b[2J`", "\x1b[36m\\x1b[2J\x1b[0m"),
        ("**a\x1b[0m**", "\x1b[1ma\\x1b[0m\x1b[0m"),
        ("an ` alone and ** alone", "an ` alone and ** alone"),
    ],
)
def test_markdown_has_a_style(text: str, expected: str) -> None:
    """Headings, bold text, code and quotations have a style; no character of the text controls the terminal."""
    assert [expected] == shown(text, 80, styled=True)


def test_markdown_without_colours() -> None:
    """Without a style, the signs are shown."""
    assert ["a **bold** one"] == shown("a **bold** one")


def test_style_goes_on_in_the_next_line() -> None:
    """What is wrapped keeps its style, and its signs take no room."""
    assert ["Now \x1b[1mtwelve more\x1b[0m", "\x1b[1mwords\x1b[0m"] == shown(
        "Now **twelve more words**", 16, styled=True
    )


def test_list_hangs_below_its_text() -> None:
    """The text of a point continues below its beginning."""
    assert ["- one two three", "  four five", "  10. six seven", "      eight"] == shown(
        "- one two three four five\n  10. six seven eight", 15
    )


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_narrow_screen(width: int) -> None:
    """However narrow the screen is, a line fits, unless one character does not."""
    lines = shown("   - 漢字 **bold漢字** and more\n# h", width)

    assert "-漢字**bold漢字**andmore#h" == "".join("".join(lines).split())
    assert all(cells(line) <= max(width, 2) for line in lines)


def test_everything_is_shown_without_a_width() -> None:
    """In a pipe no line is wrapped."""
    assert [f"- {'word ' * 50}".rstrip(), "", "b"] == shown(f"- {'word ' * 50}\n\nb", None)
