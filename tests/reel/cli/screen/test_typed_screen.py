"""The picture of a search as one types."""

import io
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from reel.cli.screen.full_screen import paint
from reel.cli.screen.keys import Key
from reel.cli.screen.output import render
from reel.cli.screen.typed_screen import Screen
from reel.reading.wording import cells
from reel.replies import Hit

SHOWN = st.text("ab \n\t\x1b修🎧é", max_size=30)


def hit(agent: str = "a", snippet: str = "a tape", seq: int = 1) -> Hit:
    """Return a hit whose last word matches."""
    return Hit(
        agent=agent,
        name=f"name-{agent}",
        title=None,
        seq=seq,
        role="user",
        kind="user",
        time=0,
        live=True,
        snippet=snippet,
        matches=[[max(len(snippet) - 4, 0), len(snippet)]],
        score=1.0,
        id=seq,
    )


def screen(*hits: Hit, query: str = "tape") -> Screen:
    """Return a screen with the answer to a query."""
    made = Screen()
    made.press(query)
    made.answer(query, list(hits), "", "")
    return made


def texts(made: Screen, width: int = 60, height: int = 20) -> list[str]:
    """Return the lines of a screen."""
    return [render(line, colour=False) for line in made.lines(width, height)]


def test_the_query_and_its_hits() -> None:
    """The query is above the hits, which are below their conversations; one is chosen."""
    made = screen(hit("b", seq=1), hit("a", seq=2), hit("b", seq=3))
    made.press(Key.DOWN)
    lines = [line.partition("  user")[0] for line in texts(made)]

    assert ["search> tape", "name-b", "  #1", "    a tape", "> #3", "    a tape", "", "name-a", "  #2"] == lines[:9]
    assert made.chosen is not None
    assert 3 == made.chosen.seq


def test_the_age_is_that_of_the_text() -> None:
    """What comes from elsewhere has the age that it has there."""
    made = screen(hit()._replace(time=0, sent=int(time.time() * 1000)))

    assert not texts(made)[2].endswith("y")


def test_editing_the_query() -> None:
    """Keys remove a character, a word, or everything; the choice stays within the hits."""
    made = screen(hit(), query="one two  修")
    for key, query in ((Key.BACKSPACE, "one two  "), (Key.DELETE_WORD, "one"), (Key.DELETE_LINE, "")):
        made.press(key)
        assert query == made.query
    made.press(Key.PAGE_DOWN)
    assert hit() == made.chosen
    made.answer("", [], "", "")
    made.press(Key.UP)

    assert made.chosen is None


def test_the_last_line_says_what_is_wrong() -> None:
    """The last line says that nothing was found, what is wrong, or that the index is behind; else it helps."""
    made = screen(query="zebra")
    assert "no matches for zebra" == texts(made)[-1]
    made.answer("zebra", [], "not_running: away", "")
    assert "not_running: away" == texts(made)[-1]
    made.answer("zebra", [hit()], "", "the search index is late")
    assert "the search index is late" == texts(made)[-1]
    made.answer("zebra", [hit()], "", "")
    assert texts(made)[-1].startswith("Enter opens")


@settings(max_examples=40)
@given(st.lists(SHOWN, max_size=9), SHOWN, st.integers(0, 9), st.integers(12, 50), st.integers(4, 20))
def test_the_picture_fits(snippets: list[str], query: str, steps: int, width: int, height: int) -> None:
    """No line is wider than the screen, and the chosen hit is on it."""
    made = screen(*(hit(str(number % 3), text, number) for number, text in enumerate(snippets)), query=query)
    for _ in range(steps):
        made.press(Key.DOWN)
    lines = texts(made, width, height)

    assert len(lines) <= height
    assert all(cells(line) <= width for line in lines)
    assert not snippets or any(line.startswith(">") for line in lines[1:-1])


def test_drawing() -> None:
    """A picture is drawn at once, without a control character of a text, with the cursor behind the query."""
    stream, made = io.StringIO(), screen(hit(snippet="\x1b[2J tape"), query="修")
    paint(made.lines(40, 10), stream, 40, colour=False, column=made.column(40))

    assert "\\x1b[2J" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[J\x1b[1;11H\x1b[?25h\x1b[?2026l")


def test_a_line_as_wide_as_the_screen() -> None:
    """Nothing is erased behind the last column, where some terminals would erase the last character."""
    stream = io.StringIO()
    paint([["abcd"], ["abc"]], stream, 4, colour=False)

    assert "abcd\r\nabc\x1b[K\x1b[J" in stream.getvalue()
