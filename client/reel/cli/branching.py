"""The command ``tree``: the branches inside a conversation."""

from __future__ import annotations

import json

from reel import requests
from reel.cli.branches import Branches, Key, Node, layout
from reel.cli.context import Context
from reel.cli.event_lines import EventLines
from reel.cli.pager import paged
from reel.kinds import CONVERSATION
from reel.light_typing import TYPE_CHECKING
from reel.reading.wording import flat

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from reel.cli.branches import Stretch
    from reel.messages import Event
    from reel.replies import AgentRow

# What is part of a conversation, and what decides where it goes on.
_NODES = CONVERSATION | {"mark"}
KINDS = sorted(_NODES | {"created", "rewind", "restore", "clear", "clone"})
_WORDS = 200


def tree(ctx: Context) -> None:
    """Print the branches of a conversation."""
    agent = ctx.client.agent(ctx.agent)
    branches = _branches(ctx, agent.id)
    if ctx.out.as_json:
        ctx.out.documents(_document(stretch) for _, stretch in branches.stretches() if stretch.nodes)
        return
    with paged(ctx):
        ctx.out.lines(layout(branch, stretch, ctx.out.width) for branch, stretch in branches.stretches())
    ctx.out.hint(f"go back with: {ctx.command('restore', ctx.agent)} SEQ")


def _branches(ctx: Context, agent: str) -> Branches:
    log = Log()
    with ctx.out.waiting("reading the log"):
        for page in ctx.client.pages(requests.history(agent, kinds=KINDS, inherited=True)):
            log.add(page.events)
        for listed in ctx.client.pages(requests.agents()):
            log.add_clones(agent, listed.agents)
    return log.branches()


class Log:
    """What the pages of a log, and of the list of agents, say of the branches of an agent."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._tips: list[tuple[int, Key | None]] = []
        self._clones: list[tuple[str, int]] = []
        self._gist = EventLines(None, str, str).gist

    def add(self, events: Iterable[Event]) -> None:
        """Take the next events of the log, of the kinds that matter here."""
        for event in events:
            parent = _parent(event)
            if event["kind"] in _NODES:
                key = (event["agent"], event["seq"])
                self._nodes.append(Node(key, parent, event["kind"], _words(event, self._gist(event))))
                parent = key
            self._tips.append((event["seq"], parent))

    def add_clones(self, agent: str, rows: Iterable[AgentRow]) -> None:
        """Take the clones of an agent from a page of the list."""
        self._clones += [
            (row.name, row.source.at) for row in rows if row.source is not None and row.source.agent == agent
        ]

    def branches(self) -> Branches:
        """Return the tree."""
        return Branches(self._nodes, self._tips, self._clones)


def _parent(event: Event) -> Key | None:
    parent = event["parent"]
    return None if parent is None else (parent["agent"], parent["seq"])


def _words(event: Event, gist: str) -> str:
    if event["kind"] != "mark":
        return flat(gist, _WORDS)
    try:
        label = json.loads(event["data_json"] or "{}").get("label")
    except (ValueError, RecursionError, AttributeError):  # a damaged row
        return ""
    return label if isinstance(label, str) else ""


def _document(stretch: Stretch) -> dict[str, Any]:
    first, last = stretch.nodes[0], stretch.nodes[-1]
    return {
        "agent": first.key[0],
        "first": first.key[1],
        "last": last.key[1],
        "parent": None if first.parent is None else {"agent": first.parent[0], "seq": first.parent[1]},
        "messages": stretch.messages,
        "words": stretch.words,
        "live": stretch.live,
        "now": stretch.now,
        "marks": [{"seq": mark.key[1], "label": mark.words or None} for mark in stretch.marks],
        "clones": [{"name": name, "at": at} for name, at in stretch.clones],
    }
