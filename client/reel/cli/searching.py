"""The command ``search``."""

from __future__ import annotations

from itertools import groupby, islice

from reel import requests
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.paging import paged
from reel.cli.terminal import age, count, full_time
from reel.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.cli.output import Line, Span
    from reel.replies import Hit

_PAGE = 100
_HITS = 20


def search(ctx: Context) -> int:
    """Find what was said, and print the hits by conversation."""
    args = ctx.args
    limit = args.limit or _HITS
    call = requests.search(" ".join(ctx.words), order="best" if args.best else None, limit=min(limit, _PAGE))
    behind = 0
    hits: list[Hit] = []
    with ctx.out.waiting("searching"):
        for page in ctx.client.pages(call):
            behind = page.behind
            hits += page.hits
            if len(hits) >= limit:
                break
    del hits[limit:]
    if ctx.out.as_json:
        ctx.out.documents(hits)
    elif hits:
        with paged(ctx):
            ctx.out.lines(_lines(ctx, hits))
        ctx.out.hint(f"open one with: {_opening(ctx, hits[0])}")
    else:
        ctx.out.hint("nothing was found")
    if behind:
        ctx.out.warn(f"the index is behind: {count(behind, 'event')} cannot be found yet; repeat the search later")
    return OK if hits else REFUSED


def _opening(ctx: Context, hit: Hit) -> str:
    """Return the command that shows a hit in its conversation."""
    if hit.role is None:
        return ctx.command("log", hit.name)
    return ctx.command("show", hit.name, *([str(hit.seq)] if hit.live else ["--at", str(hit.seq)]))


def _lines(ctx: Context, hits: list[Hit]) -> Iterator[Line]:
    """Yield the hits of each conversation below its name, conversations in the order of their first hit."""
    first = {hit.agent: number for number, hit in reversed(list(enumerate(hits)))}
    ordered = sorted(hits, key=lambda hit: first[hit.agent])
    told = age if ctx.out.terminal else full_time
    for number, (_, group) in enumerate(groupby(ordered, key=lambda hit: hit.agent)):
        found = list(group)
        if number:
            yield []
        yield [(found[0].name, "heading"), *([f"  {found[0].title}"] if found[0].title else [])]
        for hit in found:
            style = hit.role or "dim"
            gone = [] if hit.live else [("  not in the conversation", "dim")]
            when = told(hit.time if hit.sent is None else hit.sent)
            yield [f"  #{hit.seq}  ", (hit.role or hit.kind, style), (f"  {when}", "dim"), *gone]
            yield ["    ", *_marked(hit)]


def _marked(hit: Hit) -> Iterator[Span]:
    """Yield the snippet on one line, with its matches in colour."""
    done = 0
    for begin, end in islice(hit.matches, len(hit.snippet)):
        yield _flat(hit.snippet[done:begin])
        yield _flat(hit.snippet[begin:end]), "match"
        done = end
    yield _flat(hit.snippet[done:])


def _flat(text: str) -> str:
    return "".join(" " if char.isspace() else char for char in text)
