"""Agents are listed in a table, or in a tree of clones."""

from typing import Any

import pytest

from reel.cli.screen.agent_list import Table, tree
from reel.cli.screen.output import render
from reel.reading.wording import cells
from reel.replies import AgentRow, Source


def agent(name: str, source: tuple[str, int] | None = None, **more: object) -> AgentRow:
    row = AgentRow(
        f"id-{name}", name, None, {}, True, 5, 1, 2, Source(f"id-{source[0]}", source[1]) if source else None, 3
    )
    return row._replace(**more)  # type: ignore[arg-type]


def shown(agents: list[AgentRow], width: int | None = None) -> list[str]:
    lines = Table(width, lambda ms: f"t{ms}").lines(("", agent) for agent in agents)
    return [render(line, colour=False) for line in lines]


def branches(agents: list[AgentRow], *, killed: bool = True) -> list[str]:
    table = Table(None, lambda ms: f"t{ms}")
    return [render(line, colour=False) for line in table.lines(tree(agents, killed=killed))]


def test_columns_line_up() -> None:
    """Names are aligned to the left, numbers to the right; a title takes the place of the first words."""
    rows = [
        agent("a", messages=12, first_words="What is\na tape deck?", turn="assistant"),
        agent("longer", updated=33, title="About tapes", first_words="What is it?", tags={"k": "v"}, turn="user"),
    ]

    assert [
        "a        t2  12  assistant  What is a tape deck?",
        "longer  t33   3             About tapes  k=v",
    ] == shown(rows)


def test_later_rows_have_the_same_columns() -> None:
    """The first rows determine the widths; a longer name shifts its own line only."""
    table = Table(None, lambda ms: f"t{ms}")
    lines = [*table.lines([("", agent("demo"))]), *table.lines([("", agent("a")), ("", agent("longer"))])]

    assert ["demo  t2  3", "a     t2  3", "longer  t2  3"] == [render(line, colour=False) for line in lines]


@pytest.mark.parametrize(
    ("more", "waits"),
    [
        ({"turn": "tool"}, "tool"),
        ({"turn": "user"}, ""),
        ({"turn": None}, ""),
        ({"turn": "tool", "drafts": ["nvim"]}, "writing… (nvim)"),
        ({"drafts": [None]}, "writing…"),
        ({"drafts": ["\x1b[2J"]}, "writing… (\\x1b[2J)"),
        ({"drafts": [], "alive": False, "turn": "tool"}, "killed"),
    ],
)
def test_what_an_agent_waits_for(more: dict[str, Any], waits: str) -> None:
    """A killed agent waits for nothing; somebody who is writing comes before whose turn it is."""
    assert [f"a  t2  3  {waits}".rstrip()] == shown([agent("a")._replace(**more)])


def test_daemon_counts_so_far() -> None:
    """A number that the daemon did not count to its end has a plus."""
    assert ["a  t2  1000+", "b  t2    999"] == shown([agent("a", messages=1000), agent("b", messages=999)])


@pytest.mark.parametrize("title", ["x" * 100, "\x1b[31mred" * 20], ids=["text", "escapes"])
def test_terminal_gets_titles_and_lines_that_fit(title: str) -> None:
    """On a terminal there are column titles, and a long title is cut at the edge, after its characters are escaped."""
    lines = shown([agent("demo", title=title)], width=40)

    assert "NAME  AGE  MSGS  TURN  ABOUT" == lines[0]
    assert 40 == cells(lines[1])


@pytest.mark.parametrize("width", [None, 40, 80, 160])
def test_no_name_is_cut(width: int | None) -> None:
    """A name can be copied from the list on any screen: one that does not fit shifts the rest of its line."""
    agents = [agent("a", title="About tapes"), agent("n" * 100)]

    assert shown(agents, width)[-1].startswith("n" * 100)


def test_names_are_short_on_a_terminal() -> None:
    """On a terminal a name has the short form that the daemon gives, and in a pipe it is the whole one."""
    agents = [agent("codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b", short="codex/64913c3b")]

    assert shown(agents, width=80)[1].startswith("codex/64913c3b  ")
    assert shown(agents)[0].startswith("codex/019a2b3c-77b1-7d25-bc34-9ea864913c3b  ")


def test_where_a_conversation_was_imported_from_is_not_listed() -> None:
    """Tags that are only for programs take no room."""
    lines = shown([agent("a", tags={"import": "x/1", "source": "/tmp/x", "topic": "tapes"})], width=80)

    assert lines[1].endswith("  topic=tapes")
    assert "x/1" not in lines[1]


def test_long_name_on_a_narrow_screen() -> None:
    """Names take a third of a narrow screen, so that the other columns have room."""
    lines = shown([agent("a", title="About tapes"), agent("n" * 30)], width=40)

    assert lines[1].endswith("  About t…")


def test_tree_has_clones_below_their_sources() -> None:
    """Each clone shows the seq of its source from which it was cloned."""
    agents = [
        agent("a"),
        agent("b"),
        agent("a1", ("a", 3)),
        agent("b1", ("b", 4)),
        agent("a2", ("a", 1)),
        agent("a11", ("a1", 9)),
    ]

    assert [
        "a          t2  3",
        "├─ a1      t2  3    from #3",
        "│  └─ a11  t2  3    from #9",
        "└─ a2      t2  3    from #1",
        "b          t2  3",
        "└─ b1      t2  3    from #4",
    ] == branches(agents)


def test_tree_begins_with_the_family_that_changed_last() -> None:
    """The newest change of an agent or of a clone below it counts; clones are in the order of their creation."""
    agents = [
        agent("a", updated=9),
        agent("b", updated=2),
        agent("c", updated=8),
        agent("b1", ("b", 3), updated=4),
        agent("b2", ("b", 3), updated=3),
        agent("b11", ("b1", 3), updated=10),
    ]

    assert ["b", "├─ b1", "│  └─ b11", "└─ b2", "a", "c"] == [
        line.split("  t")[0].rstrip() for line in branches(agents)
    ]


def test_tree_keeps_killed_sources_of_live_clones() -> None:
    """Without the killed agents, those stay that a live clone hangs on."""
    agents = [
        agent("a", alive=False),
        agent("b", alive=False),
        agent("a1", ("a", 3), alive=False),
        agent("b1", ("b", 4), alive=False),
        agent("a11", ("a1", 9)),
    ]

    assert ["a", "└─ a1", "   └─ a11"] == [line.split("  t2")[0].rstrip() for line in branches(agents, killed=False)]


def test_clone_without_its_source_is_at_the_top() -> None:
    """A clone whose source is not listed is still listed."""
    assert ["a1  t2  3"] == branches([agent("a1", ("a", 3))])


def test_chain_of_clones_may_be_long() -> None:
    """A chain of thousands of clones is listed without an error."""
    agents = [agent("0"), *(agent(str(n), (str(n - 1), 1)) for n in range(1, 2000))]

    assert 2000 == len(list(tree(agents, killed=False)))
