"""The list of agents as people read it: a table, or a tree with clones below their sources."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reel.cli.output import Line
from reel.cli.terminal import cells, cut, flat, pad
from reel.replies import AgentRow

_GAP = "  "
# The widest name column, and the width that the other columns need. A name has up to 128 characters; one that does not
# fit shifts the rest of its own line only.
_NAME_WIDTH = 36
_OTHER_WIDTH = 44
# What continues a branch on the lines of its own clones.
_BELOW_BRANCH = {"": "", "├─ ": "│  ", "└─ ": "   "}


class Row(NamedTuple):
    """A line of the table: name, head, time of the last change, and everything else."""

    columns: tuple[str, str, str, str]
    style: str = ""


_TITLES = Row(("NAME", "HEAD", "UPDATED", "ABOUT"), "dim")


def table(agents: Iterable[AgentRow], clock: Callable[[int], str], *, tree: bool) -> list[Row]:
    """Return the rows of the table.

    Args:
        agents: the agents, oldest first.
        clock: formats a time.
        tree: whether clones come below their sources; a clone whose source is not listed comes by itself.
    """
    listed = list(agents)
    branches = _branches(listed) if tree else [("", agent) for agent in listed]
    return [_row(branch, agent, clock) for branch, agent in branches]


def layout(rows: list[Row], width: int | None) -> list[Line]:
    """Lay out rows in columns. On a terminal there are titles, and long lines are cut."""
    shown = rows if width is None else [_TITLES, *rows]
    widest = _NAME_WIDTH if width is None else min(_NAME_WIDTH, max(width - _OTHER_WIDTH, width // 3))
    widths = [min(max(cells(row.columns[column]) for row in shown), widest) for column in range(3)]
    return [[(_line(row, widths, width), row.style)] for row in shown]


def _line(row: Row, widths: list[int], width: int | None) -> str:
    name, head, updated, about = row.columns
    line = _GAP.join([pad(name, widths[0]), head.rjust(widths[1]), pad(updated, widths[2]), about]).rstrip()
    return line if width is None else cut(line, width)


def _row(branch: str, agent: AgentRow, clock: Callable[[int], str]) -> Row:
    words = [
        "" if agent.alive else "killed",
        flat(agent.title or ""),
        *(f"{name}={flat(value)}" for name, value in agent.tags.items()),
        f"from #{agent.source.at}" if branch and agent.source else "",
    ]
    about = _GAP.join(word for word in words if word)
    return Row((branch + agent.name, str(agent.head), clock(agent.updated), about), "" if agent.alive else "dim")


def _branches(agents: list[AgentRow]) -> Iterator[tuple[str, AgentRow]]:
    """Walk the tree without recursion: a chain of clones may have thousands of links."""
    listed = {agent.id for agent in agents}
    clones: dict[str, list[AgentRow]] = {}
    for agent in agents:
        source = agent.source.agent if agent.source and agent.source.agent in listed else ""
        clones.setdefault(source, []).append(agent)
    stack = [("", "", agent) for agent in reversed(clones.get("", []))]
    while stack:
        margin, branch, agent = stack.pop()
        yield margin + branch, agent
        below = margin + _BELOW_BRANCH[branch]
        for clone in reversed(clones.get(agent.id, [])):
            last = clone is clones[agent.id][-1]
            stack.append((below, "└─ " if last else "├─ ", clone))
