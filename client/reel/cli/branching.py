"""The command ``tree``: the branches inside a conversation."""

from __future__ import annotations

import json

from reel import requests
from reel.cli.branches import Branches, Key, Node, layout
from reel.cli.context import Context
from reel.cli.event_lines import EventLines
from reel.cli.paging import paged
from reel.cli.terminal import flat
from reel.kinds import CONVERSATION
from reel.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.branches import Stretch
    from reel.messages import Event

# What is part of a conversation, and what decides where it goes on.
_NODES = CONVERSATION | {"mark"}
_KINDS = sorted(_NODES | {"created", "rewind", "restore", "clear", "clone"})
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
    nodes: list[Node] = []
    tips: list[tuple[int, Key | None]] = []
    gist = EventLines(None, str, str).gist
    with ctx.out.waiting("reading the log"):
        for page in ctx.client.pages(requests.history(agent, kinds=_KINDS, inherited=True)):
            for event in page.events:
                parent = _parent(event)
                if event["kind"] in _NODES:
                    key = (event["agent"], event["seq"])
                    nodes.append(Node(key, parent, event["kind"], _words(event, gist(event))))
                    parent = key
                tips.append((event["seq"], parent))
        clones = [
            (row.name, row.source.at)
            for listed in ctx.client.pages(requests.agents())
            for row in listed.agents
            if row.source is not None and row.source.agent == agent
        ]
    return Branches(nodes, tips, clones)


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
