"""The picture of ``reel top``."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.cli.screen.keys import Key
from reel.cli.screen.output import render
from reel.cli.screen.top.figures import AgentFigures, Figures, figures
from reel.cli.screen.top.screen import TopScreen, frame
from reel.reading.wording import cells
from tests.reel.cli.screen.test_top_figures import histogram, stats

KEYS = st.lists(st.sampled_from([*Key, "<", ">", "r", "p", "/", "a", "修"]), max_size=6)


def agent(name: str, rate: float | None = 1.0, **other: Any) -> AgentFigures:
    """Return an agent."""
    return AgentFigures(name, rate, 0, 1, 0, [], [])._replace(**other)


def shown(*agents: AgentFigures, keys: str = "", **other: Any) -> TopScreen:
    """Return a screen after some keys."""
    screen = TopScreen()
    screen.figures = figures(stats(9000, calls=90, events=9))._replace(agents=list(agents), **other)
    screen.press(keys)
    return screen


def texts(screen: TopScreen, width: int = 80, height: int = 24) -> list[str]:
    """Return the lines of a screen."""
    return [render(line, colour=False) for line in screen.lines(width, height)]


def rows(screen: TopScreen, height: int = 24) -> list[str]:
    """Return the first words of the rows of the table."""
    lines = texts(screen, height=height)
    heading = next(number for number, line in enumerate(lines) if line.startswith(("CONVERSATION", "METHOD", "CLIENT")))
    return [line.split()[0] for line in lines[heading + 1 : -1] if line]


def test_the_summary() -> None:
    """Above the table is what the daemon does as a whole, the most important first."""
    lines = texts(shown())

    assert "reeld 1   up 9s" == lines[0]
    assert "requests  10/s   p50 500 ms   p99 990 ms   1 in flight   0 waiting   0 refused" == lines[1]
    assert "commits   1.0/s   p50 500 ms   p99 990 ms   1.0 events each   0 waiting" == lines[2]
    assert ["clients", "events", "daemon"] == [line.split()[0] for line in lines[3:6]]
    assert 24 == len(lines)


def test_the_most_active_agents_are_first() -> None:
    """Agents are sorted by their events, those whose rate is unknown last; r reverses that."""
    found = (agent("b", 1.0), agent("a", None), agent("c", 20.0), agent("d", 1.0))

    assert ["c", "b", "d", "a"] == rows(shown(*found))
    assert ["a", "b", "d", "c"] == rows(shown(*found, keys="r"))


def test_the_column_to_sort_by() -> None:
    """The column is chosen with < and >; names are sorted from A."""
    found = (agent("b", 3.0, seq=7), agent("a", 2.0, seq=8), agent("c", 1.0, seq=9))

    assert ["a", "b", "c"] == rows(shown(*found, keys="<"))
    assert ["c", "a", "b"] == rows(shown(*found, keys=">>"))
    assert "SEQ▾" in texts(shown(*found, keys=">>"))[6]


def test_a_filter() -> None:
    """What is typed after / leaves the rows that have it; Enter keeps it, Escape removes it."""
    screen = shown(agent("tape-q"), agent("disk", followers=["tape-reader"]), agent("other"), keys="/")
    for key in ("TAPE", "x", Key.BACKSPACE):
        assert not screen.press(key)
    assert {"tape-q", "disk"} == {*rows(screen)}
    assert "filter> TAPE_" == texts(screen)[-1]
    screen.press(Key.ENTER)
    assert texts(screen)[-1].startswith("filter> TAPE   q quit")
    screen.press("/")
    screen.press(Key.ESCAPE)

    assert 3 == len(rows(screen))


def test_tables_in_turns() -> None:
    """Tab shows the methods, the connections, and the agents again."""
    screen, found = shown(agent("demo")), []
    for _ in range(3):
        screen.press(Key.TAB)
        found.append({*rows(screen)})

    assert [{"add", "wait"}, {"nvim"}, {"demo"}] == found


def test_scrolling() -> None:
    """Arrows move over more rows than fit, up to the last one."""
    screen = shown(*(agent(f"a{number:02}") for number in range(40)))
    before = rows(screen)
    for key in (Key.DOWN, Key.PAGE_DOWN, Key.PAGE_DOWN, Key.PAGE_DOWN):
        screen.press(key)
    assert ("a00", "a39") == (before[0], rows(screen)[-1])
    assert len(before) == len(rows(screen))
    screen.press(Key.UP)

    assert "a38" == rows(screen)[-1]


@pytest.mark.parametrize("key", ["q", Key.ESCAPE, Key.END])
def test_the_end(key: Key | str) -> None:
    """The command ends with q, Escape, Ctrl-D; not if they are pressed in the filter."""
    assert shown().press(key)
    assert not shown(keys="/").press(key)


def test_what_is_wrong_comes_first() -> None:
    """A daemon that is away, and its own problems, are above everything else; so is a pause."""
    screen = shown(problems=["the disk is full"], keys="p")
    assert ["paused   reeld 1   up 9s", "the disk is full"] == texts(screen)[:2]
    screen.problem = "no answer for 3s: gone"
    assert "no answer for 3s: gone" == texts(screen)[0]
    empty = TopScreen()
    assert ["waiting for the daemon"] == texts(empty)
    empty.problem = "away"

    assert ["away"] == texts(empty)


def many(names: list[str]) -> Figures:
    """Return figures with agents of these names, and clients."""
    peers = [{"client": name, "connection": number} for number, name in enumerate(names)]
    base = stats(9000, calls=90, events=9)
    described = [{**base["connection_details"][0], **peer} for peer in peers]
    made = figures({**base, "connection_details": described, "request_seconds": {"add": histogram(1, 2, 3)}})
    return made._replace(agents=[agent(name, followers=names, typing=names) for name in names])


@settings(max_examples=15)
@given(st.lists(st.text("ab \n\t\x1b修🎧é", max_size=30), max_size=9), KEYS, st.integers(1, 130), st.integers(1, 40))
def test_the_picture_fits(names: list[str], keys: list[Key | str], width: int, height: int) -> None:
    """No line is wider than the screen, there are not more of them, and no name controls the terminal."""
    screen = TopScreen()
    screen.figures = many(names)
    for key in keys:
        screen.press(key)
        lines = texts(screen, width, height)
        assert len(lines) <= height
        assert all(cells(line) <= width for line in lines)
        assert "\x1b" not in "".join(lines)


def test_everything_at_once() -> None:
    """Without a terminal there are the first rows of each table, and how many there are besides."""
    made = figures(stats(9000, calls=90))._replace(agents=[agent(f"a{number:02}") for number in range(12)])
    lines = [render(line, colour=False) for line in frame(made, 80)]
    words = [line.split()[0] for line in lines if line]

    assert ["CONVERSATION", "a00", "2", "METHOD", "add", "CLIENT", "nvim"] == [
        word for word in words if word in {"CONVERSATION", "a00", "2", "METHOD", "add", "CLIENT", "nvim"}
    ]
    assert "2 more rows" in lines
    assert all(cells(line) <= 80 for line in lines)
