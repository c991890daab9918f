"""The list of agents as people read it: a table, or a tree with clones below their sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from reel.base.light_typing import NamedTuple
from reel.cli.screen.output import Line, Span
from reel.reading.wording import PLUMBING, cells, cut, flat, pad, safe, writing
from reel.replies import AgentRow

_GAP = "  "
# The widest name column, and the width that the other columns need. A name has up to 128 characters; one that does not
# fit shifts the rest of its line. It is never cut: it is there to be pasted.
_NAME_WIDTH = 36
_OTHER_WIDTH = 52
# What continues a branch on the lines of its own clones.
_BELOW_BRANCH = {"": "", "├─ ": "│  ", "└─ ": "   "}
# The daemon counts no further.
_MANY = 1000


class Row(NamedTuple):
    """A line of the table: name, time of the last change, number of messages, what it waits for, and the rest."""

    columns: tuple[str, str, str, str]
    about: str
    # The style of the whole line, and of what it waits for.
    style: str = ""
    waits_style: str = ""


_TITLES = Row(("NAME", "AGE", "MSGS", "TURN"), "ABOUT", "dim")


class Table:
    """Lays out rows in columns, as wide as the first rows need them.

    Args:
        width: how many columns a terminal has. There the rows have titles, names are short, and long lines are cut.
        clock: formats a time.
    """

    def __init__(self, width: int | None, clock: Callable[[int], str]) -> None:
        self._width = width
        self._clock = clock
        self._widths: list[int] = []

    def lines(self, agents: Iterable[tuple[str, AgentRow]]) -> Iterator[Line]:
        """Yield the lines of agents, each with its branch in a tree."""
        rows = [self._row(branch, agent) for branch, agent in agents]
        if not self._widths and rows:
            rows = rows if self._width is None else [_TITLES, *rows]
            widest = _NAME_WIDTH
            if self._width is not None:
                widest = min(_NAME_WIDTH, max(self._width - _OTHER_WIDTH, self._width // 3))
            self._widths = [min(max(cells(row.columns[column]) for row in rows), widest) for column in range(4)]
        return map(self._line, rows)

    def _row(self, branch: str, agent: AgentRow) -> Row:
        # Where one is need not be said.
        hidden = (*PLUMBING, "cwd", "branch") if agent.tags.get("cwd") == _here() else PLUMBING
        words = [
            f"from #{agent.source.at}" if branch and agent.source else "",
            flat(agent.waits or "") if agent.alive else "",
            flat(agent.title or agent.first_words or ""),
            *(f"{name}={flat(value)}" for name, value in agent.tags.items() if name not in hidden),
        ]
        waits, waits_style = _waits(agent)
        name = agent.name if self._width is None else agent.shown
        columns = (branch + name, self._clock(agent.updated), _count(agent.messages), waits)
        return Row(columns, _GAP.join(word for word in words if word), "" if agent.alive else "dim", waits_style)

    def _line(self, row: Row) -> Line:
        name, updated, messages, waits = row.columns
        widths = self._widths
        start = _GAP.join([pad(name, widths[0]), updated.rjust(widths[1]), messages.rjust(widths[2]), ""])
        waiting = pad(waits, widths[3]) + _GAP
        width = None if self._width is None else max(self._width, cells(name) + len(_GAP))
        if not row.waits_style:
            return _fitted([(start + waiting + row.about, row.style)], width)
        return _fitted([(start, row.style), (waiting, row.waits_style), (row.about, row.style)], width)


def _fitted(pieces: list[tuple[str, str]], width: int | None) -> Line:
    """Return a line without the blanks at its end, cut at the edge of the screen."""
    while len(pieces) > 1 and not pieces[-1][0].strip():
        pieces.pop()
    pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
    line: list[Span] = []
    room = width
    for text, style in pieces:
        shown = safe(text) if room is None else cut(text, room)
        line.append((shown, style))
        if room is not None:
            room -= cells(shown)
            if room <= 0:
                break
    return line


def _here() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed
        return None


def _count(messages: int | None) -> str:
    if messages is None:
        return ""
    return f"{messages}+" if messages >= _MANY else str(messages)


def _waits(agent: AgentRow) -> tuple[str, str]:
    """Return what an agent waits for, unless it is the user, with its style."""
    if not agent.alive:
        return "killed", "dim"
    if agent.drafts:
        return writing(agent.drafts[0]), "ok"
    if agent.waits:
        return "approval", "tool"
    return {"assistant": ("assistant", "assistant"), "tool": ("tool", "tool")}.get(agent.turn or "", ("", ""))


def tsv(agent: AgentRow) -> str:
    """Return an agent as a line of values between tabs; a missing value is empty."""
    values = [
        agent.name,
        agent.id,
        "alive" if agent.alive else "killed",
        str(agent.updated),
        str(agent.created),
        str(agent.head),
        "" if agent.messages is None else str(agent.messages),
        agent.turn or "",
        ",".join(client or "?" for client in agent.drafts or ()),
        agent.title or "",
        agent.first_words or "",
        " ".join(f"{name}={value}" for name, value in agent.tags.items()),
    ]
    return "\t".join(flat(value) for value in values)


def tree(agents: list[AgentRow], *, killed: bool) -> Iterator[tuple[str, AgentRow]]:
    """Yield agents below their sources, each with its branch; the family that changed last comes first.

    Args:
        agents: the agents, the oldest first; a clone whose source is not among them is at the top level.
        killed: whether killed agents are listed that have no live clones.
    """
    # Without recursion: a chain of clones may have thousands of links.
    shown = agents if killed else _with_live_clones(agents)
    listed = {agent.id for agent in shown}
    clones: dict[str, list[AgentRow]] = {}
    for agent in shown:
        source = agent.source.agent if agent.source and agent.source.agent in listed else ""
        clones.setdefault(source, []).append(agent)
    changed = _changes_below(shown)
    newest_first = sorted(clones.get("", []), key=lambda agent: changed[agent.id], reverse=True)
    stack = [("", "", agent) for agent in reversed(newest_first)]
    while stack:
        margin, branch, agent = stack.pop()
        yield margin + branch, agent
        below = margin + _BELOW_BRANCH[branch]
        for clone in reversed(clones.get(agent.id, [])):
            last = clone is clones[agent.id][-1]
            stack.append((below, "└─ " if last else "├─ ", clone))


def _changes_below(agents: list[AgentRow]) -> dict[str, int]:
    """Return when each agent, or a clone below it, changed last."""
    changed: dict[str, int] = {}
    for agent in reversed(agents):  # a clone comes after its source
        newest = changed[agent.id] = max(agent.updated, changed.get(agent.id, 0))
        if agent.source:
            changed[agent.source.agent] = max(newest, changed.get(agent.source.agent, 0))
    return changed


def _with_live_clones(agents: list[AgentRow]) -> list[AgentRow]:
    """Return the agents that are alive, or have a live clone below them."""
    needed: set[str] = set()
    for agent in reversed(agents):  # a clone comes after its source
        if agent.source and (agent.alive or agent.id in needed):
            needed.add(agent.source.agent)
    return [agent for agent in agents if agent.alive or agent.id in needed]
