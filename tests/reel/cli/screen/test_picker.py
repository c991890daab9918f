"""The picture on which a conversation is chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.screen.keys import Key
from reel.cli.screen.output import cells_of, render
from reel.cli.screen.picker import Picker, matches
from reel.replies import AgentRow


def row(
    name: str, *, title: str | None = None, words: str | None = None, tags: dict[str, str] | None = None
) -> AgentRow:
    """Return a row of a list with details."""
    return AgentRow(
        id=name.ljust(32, "0"),
        name=name,
        title=title,
        tags=tags or {},
        source=None,
        alive=True,
        created=0,
        updated=0,
        head=2,
        messages=1,
        first_words=words,
        said=0,
        turn="assistant",
        drafts=[],
    )


def picker(*names: str, first: str | None = None, query: str = "") -> Picker:
    """Return a screen that shows these conversations."""
    made = Picker("Enter shows it", first)
    made.press(query)
    made.show([row(name) for name in names])
    return made


def texts(made: Picker, width: int = 60, height: int = 12) -> list[str]:
    """Return the lines of a screen."""
    return [render(line, colour=False) for line in made.lines(width, height)]


def marked(made: Picker) -> list[str]:
    """Return the first word of the list's lines, with the mark of the chosen one."""
    lines = texts(made)
    rule = next(number for number, line in enumerate(lines) if line.startswith("─"))
    return [" ".join(line.split()[: 2 if line[0] == ">" else 1]) for line in lines[2:rule]]


def test_a_choice_before_the_list_is_there() -> None:
    """A conversation that was chosen by a key before the answer to the query came stays chosen; typing ends that."""
    made = picker("one", "two", query="o")
    made.press(Key.DOWN)
    made.show([row("zero"), row("one"), row("two")])

    assert ["zero", "one", "> two"] == marked(made)

    made.press("t")
    made.show([row("one"), row("two")])

    assert ["> one", "two"] == marked(made)


def test_the_list_and_the_end_of_the_chosen_conversation() -> None:
    """What is typed is above the list, the end of the conversation below it; the last line says what the keys do."""
    made = picker("one", "two", query="o")
    made.press(Key.DOWN)
    made.preview([[f"line {number}"] for number in range(30)])
    lines = texts(made)

    assert ["conversation> o", "> two"] == [lines[0], lines[3][:5]]
    assert ["─" * 60, "line 24"] == lines[4:6]
    assert ["line 29", "Enter shows it"] == lines[-2:]
    assert made.chosen is not None
    assert "two" == made.chosen.name


def test_an_entry_above_all_conversations() -> None:
    """It is chosen until something is typed; then the first conversation that matches is."""
    made = picker("one", "two", first="a new conversation")
    assert ["> a", "one", "two"] == marked(made)
    assert (True, None) == (made.is_first_chosen, made.chosen)
    made.press("tw")
    made.show([row("two")])

    assert (False, "two") == (made.is_first_chosen, made.chosen and made.chosen.name)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([Key.UP], "0"),
        ([Key.DOWN, Key.DOWN], "2"),
        ([Key.PAGE_DOWN], "10"),
        ([Key.PAGE_DOWN] * 9, "29"),
        ([Key.PAGE_DOWN] * 9 + [Key.PAGE_UP, Key.UP], "18"),
    ],
)
def test_moving(keys: list[Key], expected: str) -> None:
    """The keys move within the list, whose visible part follows."""
    made = picker(*map(str, range(30)))
    for key in keys:
        made.press(key)

    assert made.chosen is not None
    assert expected == made.chosen.name
    assert any(line.startswith(f"> {expected} ") for line in texts(made))


def test_editing_the_query() -> None:
    """The keys for deleting work as in a shell."""
    made = picker(query="tape deck")
    made.press(Key.BACKSPACE)
    assert "tape dec" == made.query
    made.press(Key.DELETE_WORD)
    assert "tape" == made.query
    made.press(Key.DELETE_LINE)
    assert "" == made.query


def test_nothing_to_choose() -> None:
    """The last line says so, and nothing is chosen."""
    made = picker(query="zzz")

    assert "no conversation has all of: zzz" == texts(made)[-1]
    assert made.chosen is None


def test_what_matches() -> None:
    """All words have to be in what a list shows, in any order and case."""
    shown = row("claude-code/6b23", title="Retry uploads", words="The uploads fail", tags={"cwd": "/src/deck"})

    assert matches(shown, "")
    assert matches(shown, "DECK retry fail 6b2")
    assert not matches(shown, "retry tape")


@given(
    st.integers(1, 200),
    st.integers(1, 60),
    st.integers(0, 40),
    st.text("ab 修🎧é", max_size=30),
    st.sampled_from([None, "all conversations"]),
)
def test_the_picture_fits(width: int, height: int, number: int, query: str, first: str | None) -> None:
    """No line is wider than the screen, and there are no more lines than it has."""
    made = picker(*(f"修 conversation {each} 🎧" for each in range(number)), first=first, query=query)
    made.preview([["a long line of a message 修🎧 " * 9]] * 50)
    made.press(Key.PAGE_DOWN)
    lines = made.lines(width, height)

    assert len(lines) <= height
    assert all(cells_of(line) <= width for line in lines)
