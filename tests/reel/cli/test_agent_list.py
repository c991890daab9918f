"""Agents are listed in a table, or in a tree of clones."""

import pytest

from reel.cli.agent_list import layout, table
from reel.cli.output import render
from reel.cli.terminal import cells
from reel.replies import AgentRow, Source


def agent(name: str, source: tuple[str, int] | None = None, **more: object) -> AgentRow:
    row = AgentRow(
        f"id-{name}", name, None, {}, True, 5, 1, 2, Source(f"id-{source[0]}", source[1]) if source else None
    )
    return row._replace(**more)  # type: ignore[arg-type]


def shown(agents: list[AgentRow], width: int | None = None, tree: bool = False) -> list[str]:
    lines = layout(table(agents, lambda ms: f"t{ms}", tree=tree), width)
    return [render(line, colour=False) for line in lines]


def test_columns_line_up() -> None:
    """Names are aligned to the left, numbers to the right."""
    rows = [agent("a", head=12), agent("longer", head=7, title="About tapes", tags={"k": "v"})]

    assert shown(rows) == ["a       12  t2", "longer   7  t2  About tapes  k=v"]


@pytest.mark.parametrize("title", ["x" * 100, "\x1b[31mred" * 20], ids=["text", "escapes"])
def test_terminal_gets_titles_and_lines_that_fit(title: str) -> None:
    """On a terminal there are column titles, and a long title is cut at the edge, after its characters are escaped."""
    lines = shown([agent("demo", title=title)], width=40)

    assert lines[0] == "NAME  HEAD  UPDATED  ABOUT"
    assert cells(lines[1]) == 40


def test_long_name_shifts_its_own_line_only() -> None:
    """One long name does not widen the column for the others."""
    lines = shown([agent("a", title="About tapes"), agent("n" * 100)], width=80)

    assert lines[1].endswith("About tapes")
    assert lines[2] == "n" * 79 + "…"


def test_long_name_on_a_narrow_screen() -> None:
    """Names take a third of a narrow screen, so that the other columns have room."""
    lines = shown([agent("a", title="About tapes"), agent("n" * 30)], width=40)

    assert lines[1].endswith("  About tap…")


def test_killed_agents_are_marked() -> None:
    """A killed agent is dim and labelled as killed."""
    assert shown([agent("a", alive=False)]) == ["a  5  t2  killed"]


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

    assert shown(agents, tree=True) == [
        "a          5  t2",
        "├─ a1      5  t2  from #3",
        "│  └─ a11  5  t2  from #9",
        "└─ a2      5  t2  from #1",
        "b          5  t2",
        "└─ b1      5  t2  from #4",
    ]


def test_clone_without_its_source_is_at_the_top() -> None:
    """A clone whose source is not listed is still listed."""
    assert shown([agent("a1", ("a", 3))], tree=True) == ["a1  5  t2"]


def test_chain_of_clones_may_be_long() -> None:
    """A chain of thousands of clones is listed without an error."""
    agents = [agent("0"), *(agent(str(n), (str(n - 1), 1)) for n in range(1, 2000))]

    assert len(table(agents, str, tree=True)) == 2000


@pytest.mark.parametrize("tree", [True, False])
def test_control_characters_in_titles_are_escaped(tree: bool) -> None:
    """Control characters in a title are escaped."""
    assert shown([agent("a", title="\x1b[2J")], tree=tree) == ["a  5  t2  \\x1b[2J"]
