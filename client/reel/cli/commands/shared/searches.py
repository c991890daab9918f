"""What ``reel search`` asks the daemon for: the query that was typed, with what only this machine and person know."""

from __future__ import annotations

import re
import time

from reel import requests
from reel.base.errors import InvalidParams, NotFound
from reel.base.light_typing import TYPE_CHECKING
from reel.base.place import directories
from reel.cli.line.arguments import UsageError
from reel.cli.line.meant import Meant
from reel.cli.line.query_filters import why_meaningless
from reel.reading.query_filters import filters, narrowed
from reel.reading.short_names import short_forms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeVar

    from reel.cli.line.context import Context
    from reel.replies import Edit, Hit, HitsPage
    from reel.requests import Call
    from reel.sync.client import Client
    from reel.sync.methods import Methods

    Named = TypeVar("Named", Hit, Edit)

# The daemon takes as many directories.
_DIRECTORIES = 100
# How many milliseconds a search waits for what was just said; it mostly takes some tens.
_PATIENCE = 500
# Characters of a snippet for a program, and of one that has lines around its matches.
_FOR_PROGRAMS, _WITH_LINES = 480, 4096
# A plain word that may be the beginning of others. How many words are tried, and how many hits are counted.
_WORD = re.compile(r"\w[\w.-]+")
_TRIED, _COUNTED = 4, 20


def search_for(ctx: Context, query: str, limit: int, client: Client | None = None) -> Call[HitsPage]:
    """Return the request for the hits of a query.

    Args:
        ctx: the command's context.
        query: what was typed.
        limit: how many hits a page has.
        client: asks the daemon which conversation is meant. Default: that of the context.

    Raises:
        UsageError: at a terminal, a filter means nothing.
        NotFound: at a terminal, there is no such conversation, or several are meant.
    """
    now, person = time.time(), ctx.out.terminal
    if person and (problem := why_meaningless(query, now)) is not None:
        raise UsageError(problem, "search")
    asked: Client = ctx.client if client is None else client  # type: ignore[assignment]  # it has the same methods
    found = narrowed(with_whole_names(asked, query, strict=person), now)
    paths = [path for place in found.places for path in directories(place)]
    return requests.search(
        found.query,
        since=found.since,
        until=found.until,
        order=_order(ctx, asked),
        wait=_PATIENCE if _ranks(asked) else None,
        snippet=_snippet(ctx) if _ranks(asked) else None,
        limit=limit,
        dirs=paths[:_DIRECTORIES] or None,
    )


def pages(client: Methods, call: Call[HitsPage]) -> Iterator[HitsPage]:
    """Yield the pages of a search, with the expressions run here if the daemon cannot.

    Args:
        client: asks the daemon.
        call: the search.

    Raises:
        InvalidParams: an expression is not valid, or takes too long.
    """
    try:
        yield from client.pages(call)
    except InvalidParams as refused:
        if not refused.data.get("candidates"):
            raise
    else:
        return
    from reel.cli.commands.shared.expressions import matching_pages  # noqa: PLC0415 - few need it

    yield from matching_pages(client, call)


def _order(ctx: Context, asked: Client) -> Literal["newest", "best", "fresh"] | None:
    """Return the order of hits that is asked for; the default of a daemon that knows no better is by age."""
    if ctx.args.newest:
        return "newest"
    if ctx.args.best:
        return "best"
    return "fresh" if _ranks(asked) else None


def _snippet(ctx: Context) -> int | None:
    """Return how many characters of a text are asked for: a person sees a line, unless there are to be more."""
    if ctx.args.context is not None:
        return _WITH_LINES
    return _FOR_PROGRAMS if ctx.out.as_json else None


def _ranks(asked: Client) -> bool:
    """Return whether the daemon ranks hits, and waits for the index."""
    if asked.server is None:
        asked.ping()
    hello = asked.server
    return hello is not None and "ranking" in hello.features


def with_whole_names(asked: Methods, query: str, *, strict: bool) -> str:
    """Return a query with the whole names of the conversations that it is about.

    Args:
        asked: asks the daemon.
        query: what was typed.
        strict: refuse a name that no conversation has.

    Raises:
        NotFound: there is no such conversation, or several are meant.
    """
    for found in reversed([each for each in filters(query) if each.field == "agent" and each.value]):
        try:
            name = asked.agent(found.value).name
        except NotFound as error:
            try:
                name = Meant(asked, asked.server).only(found.value, error)
            except NotFound:
                if strict:
                    raise
                continue
        query = f"{query[: found.begin]}agent:{name}{query[found.end :]}"
    return query


def as_people_read(asked: Methods, hits: list[Named]) -> list[Named]:
    """Return hits, or edits, with the short forms of their conversations' names; asks once if a name has one."""
    if not any(next(short_forms(hit.name), None) for hit in hits):
        return hits
    if asked.server is None:
        asked.ping()
    if asked.server is None or "ids" not in asked.server.features:
        return hits
    ids = list({hit.agent: None for hit in hits})
    shown = {row.id: row.shown for row in asked.agents(ids=ids, details=True, limit=len(ids)).agents}
    return [hit._replace(name=shown.get(hit.agent, hit.name)) for hit in hits]


def more_by(ctx: Context, query: str) -> str:
    """Return what a query without hits would find with its words as prefixes, or without one of its parts."""
    told = []
    for how, other in _others(query):
        page = next(pages(ctx.client, search_for(ctx, other, _COUNTED)))
        if page.hits:
            told.append(f"{len(page.hits)}{'+' if page.more else ''} {how}")
    return f"; {', '.join(told)}" if told else ""


def _others(query: str) -> Iterator[tuple[str, str]]:
    """Yield other queries, with what differs."""
    parts = query.split()
    words = [] if '"' in query else [part for part in parts if _WORD.fullmatch(part) and part != "OR"][:_TRIED]
    prefixes = [f"{word}*" for word in words]
    if words:
        starred = dict(zip(words, prefixes, strict=True))
        yield f"with {' '.join(prefixes)}", " ".join(starred.get(part, part) for part in parts)
    less = [(word, " ".join(part for part in parts if part != word)) for word in words]
    less += [(query[found.begin : found.end], query[: found.begin] + query[found.end :]) for found in filters(query)]
    for left_out, rest in less[:_TRIED]:
        if rest.strip():
            yield f"without {left_out}", rest.strip()
