"""The command ``search``."""

from __future__ import annotations

import sys

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.pager import paged
from reel.cli.commands.shared.searches import as_people_read, more_by, pages, search_for
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.hit_lines import around, heading, opening, snippet, title
from reel.cli.screen.output import is_interactive
from reel.reading.hits import PARTIAL, grouped
from reel.reading.unindexed import unindexed
from reel.reading.wording import age, full_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.cli.screen.output import Line
    from reel.replies import Hit

_PAGE = 100
_HITS = 20


def search(ctx: Context) -> int:
    """Search all conversations, and print the hits by conversation; without a query, search interactively."""
    if not ctx.words:
        return _search_as_typed(ctx)
    args, query = ctx.args, " ".join(ctx.words)
    for_a_person = ctx.out.terminal and not ctx.out.as_json
    limit = args.limit or _HITS
    call = search_for(ctx, query, min(limit, _PAGE))
    behind, is_partial = 0, False
    instead: dict[str, list[str]] = {}
    hits: list[Hit] = []
    with ctx.out.waiting("searching"):
        for page in pages(ctx.client, call):
            behind, instead, is_partial = page.behind, page.instead or {}, bool(page.partial)
            hits += as_people_read(ctx.client, page.hits) if for_a_person else page.hits
            if len(_counted(ctx, hits)) >= limit:
                break
    hits = _counted(ctx, hits)[:limit]
    for word, others in instead.items() if hits else ():
        ctx.out.warn(f"nothing has {word}; showing results for {' and '.join(others)}")
    if ctx.args.conversations:
        _list(ctx, hits)
    elif ctx.out.as_json:
        ctx.out.documents(hits)
    elif hits:
        with paged(ctx):
            ctx.out.lines(_lines(ctx, hits))
        ctx.out.hint(f"open one with: {ctx.command(*opening(hits[0]))}")
    elif ctx.out.terminal:  # elsewhere the status says it, as with grep
        ctx.out.warn(f"no matches for {query}{more_by(ctx, query)}")
    if is_partial:
        ctx.out.warn(PARTIAL)
    if behind:
        ctx.out.warn(f"{unindexed(behind, ctx.client.stats())}; repeat the search later")
    return OK if hits else REFUSED


def _counted(ctx: Context, hits: list[Hit]) -> list[Hit]:
    """Return what the limit is about: the hits, or the first one of each conversation."""
    return [group[0] for group in grouped(hits)] if ctx.args.conversations else hits


def _list(ctx: Context, hits: list[Hit]) -> None:
    """Print the conversations of hits."""
    if ctx.out.as_json:
        ctx.out.documents([{"agent": hit.agent, "name": hit.name, "title": hit.title} for hit in hits])
    else:
        ctx.out.lines([(hit.name, "heading")] for hit in hits)


def _search_as_typed(ctx: Context) -> int:
    if ctx.out.as_json or not is_interactive(sys.stdin, sys.stdout):
        raise UsageError("QUERY is missing; only at a terminal, reel search searches as you type")
    from reel.cli.commands.typed_search import search_as_typed  # noqa: PLC0415 - termios and the rest are for a person only

    return search_as_typed(ctx)


def _lines(ctx: Context, hits: list[Hit]) -> Iterator[Line]:
    """Yield the hits of each conversation below its name, conversations in the order of their first hit."""
    told = age if ctx.out.terminal else full_time
    for number, group in enumerate(grouped(hits)):
        if number:
            yield []
        yield title(group[0])
        for hit in group:
            yield heading(hit, told)
            if ctx.args.context is None:
                yield snippet(hit)
            else:
                yield from around(hit, max(ctx.args.context, 0))
