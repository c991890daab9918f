"""The command ``tree``: the branches inside a conversation."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.pager import paged
from reel.cli.line.context import Context
from reel.reading.wording import cells, count, cut, safe, seq_range

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.screen.output import Line
    from reel.reading.branches import Stretch

# How many marks, and how many clones, a line lists; and the columns of words where no terminal sets the limit.
_LISTED = 3
_WORDS = 60


def tree(ctx: Context) -> None:
    """Print the branches of a conversation."""
    with ctx.out.waiting("reading the log"):
        branches = ctx.client.tree(ctx.agent)
    if ctx.out.as_json:
        ctx.out.documents(_document(stretch) for _, stretch in branches.stretches() if stretch.nodes)
        return
    with paged(ctx):
        ctx.out.lines(layout(branch, stretch, ctx.out.width) for branch, stretch in branches.stretches())
    ctx.out.hint(f"go back with: {ctx.command('restore', ctx.agent)} SEQ")


def layout(branch: str, stretch: Stretch, width: int | None) -> Line:
    """Lay out a stretch on one line: a star if it is in the conversation, its seqs, its length, its first words."""
    star, style = ("* ", "") if stretch.live else ("  ", "dim")
    if not stretch.nodes:
        return [star, ("(beginning)", "dim"), (" now" if stretch.now else "", "ok")]
    seqs = seq_range(stretch.nodes[0].key[1], stretch.nodes[-1].key[1])
    notes = [
        "now" if stretch.now else "",
        *_listed([f"mark {safe(mark.words or '(no label)')} #{mark.key[1]}" for mark in stretch.marks]),
        *_listed([f"clone {name} at #{at}" for name, at in stretch.clones]),
    ]
    note = "".join(f"  [{text}]" for text in notes if text)
    head = f"{star}{branch}{seqs}  {count(stretch.messages, 'message')}"
    if width is None:
        return [(head, style), (note, "ok"), (f"  {cut(stretch.words, _WORDS)}", style)]
    head = cut(head, width)
    left = width - cells(head)
    note = cut(note, left) if left > 1 else ""
    room = left - cells(note) - 2
    return [(head, style), (note, "ok"), (f"  {cut(stretch.words, room)}" if room > 1 else "", style)]


def _listed(texts: list[str]) -> list[str]:
    """Return the first texts, and how many more there are."""
    return [*texts[:_LISTED], *([f"{len(texts) - _LISTED:,} more"] if len(texts) > _LISTED else [])]


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
