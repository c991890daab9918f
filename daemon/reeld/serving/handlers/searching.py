"""The handler of ``search``."""

import time
from collections.abc import Set as AbstractSet

from reel.reading.hit_lines import context, hit_lines, in_groups
from reel.said.kinds import ROLES
from reeld.core.commands import not_found
from reeld.protocol import params
from reeld.search.criteria import Criteria
from reeld.search.edit_pages import EditPages
from reeld.search.entries import KINDS
from reeld.search.finding import Look
from reeld.search.hit_pages import HitPage, HitPages, Start
from reeld.search.patterns import compiled, is_expression
from reeld.search.query import Filters, Query, parse_query
from reeld.search.scores import Freshness
from reeld.search.volumes import Place
from reeld.serving.call import Call, Detached, Result, Services
from reeld.store import queries
from reeld.store.hidden import hidden

_ROLES = {**ROLES, "system": "system"}
# A place after everything that was ever said.
_END = Place(1 << 62, 1 << 62)


def search(services: Services, _call: Call, asked: params.Search) -> Detached:
    """Search the content of all conversations."""
    parsed = parse_query(asked.query)
    typed = parsed.filters
    filters = typed._replace(
        roles=typed.roles if asked.roles is None else tuple(asked.roles),
        live=typed.live if asked.live is None else asked.live,
        since=max(_given(typed.since, asked.since), default=None),
        until=min(_given(typed.until, asked.until), default=None),
    )

    patterns = compiled(parsed.patterns, run_elsewhere=asked.candidates)

    async def run() -> Result:
        if asked.wait:
            await services.search.catch_up(asked.wait / 1000)
        wanted = await _wanted(services, parsed._replace(filters=filters), asked)
        await services.search.opened()
        if wanted is None or (not parsed.groups and not patterns and asked.query.strip() and typed == Filters()):
            return {"hits": [], "more": False, "behind": services.search.behind}
        found = await _page(services, wanted._replace(patterns=patterns), asked)
        following = {} if found.next is None else {"next": found.next}
        how: Result = {"instead": dict(found.instead)} if found.instead else {}
        if found.is_partial:
            how["partial"] = True
        if asked.candidates:
            run = filter(is_expression, parsed.patterns)
            how["expressions"] = [{"text": each.text, "excluded": each.is_excluded} for each in run]
        return {"hits": found.hits, "more": found.next is not None, **following, **how, "behind": found.behind}

    return Detached(run)


async def _page(services: Services, wanted: Criteria, asked: params.Search) -> HitPage:
    look = Look(size=asked.snippet, thinking=asked.thinking, whole=asked.candidates)
    first, *others = asked.after or (None,)
    if asked.order is None and not asked.candidates:
        return await HitPages(services.search).newest(wanted, asked.limit, first, look)
    # A pattern is looked for in every event with the words, not only in the best ones; so is a candidate. And without
    # words, nothing tells which hits are better.
    if asked.candidates or asked.order == "newest" or wanted.patterns or not wanted.query.groups:
        before = _END if first is None else Place(others[0] if others else _END.said, first)
        return await HitPages(services.search).latest(wanted, asked.limit, before, look)
    offset, now, *_ = [*others, 0, 0][:2] if others else (0, 0)
    fresh = Freshness(now or int(time.time() * 1000)) if asked.order == "fresh" else None
    return await HitPages(services.search).best(wanted, asked.limit, Start(first, offset, fresh), look)


def hits(services: Services, call: Call, asked: params.Hits) -> Detached:
    """Search, and return the hits with the lines that show them, and with what to look for in their messages."""
    searching = params.Search(asked.query, order=asked.order, limit=asked.limit, after=asked.after, wait=asked.wait)
    searched = search(services, call, searching)

    async def run() -> Result:
        page = await searched.run()
        found = in_groups(page["hits"])
        lines = [line._asdict() for line in hit_lines(found, asked.above, time.time())]
        return {**page, "hits": [{**hit, "context": context(hit)} for hit in found], "lines": lines}

    return Detached(run)


def _given(*limits: int | None) -> list[int]:
    return [limit for limit in limits if limit is not None]


async def _wanted(services: Services, query: Query, asked: params.Search) -> Criteria | None:
    """Return what is searched for; ``None`` if there cannot be any."""
    filters = query.filters
    agents: frozenset[int] | None = None
    for address in (asked.agent, filters.agent):
        if address is not None:
            profile = await services.store.read(queries.find, address)
            if profile is None and address == asked.agent:
                raise not_found(address)
            agents = _both(agents, frozenset() if profile is None else {profile.row})
    if tags := [*(asked.tags or {}).items(), *filters.tags]:
        agents = _both(agents, await HitPages(services.search).tagged(tags))
    if directories := [*(asked.dirs or ()), *filters.dirs]:
        agents = _both(agents, await HitPages(services.search).begun_in(directories))
    for path in filters.files:
        agents = _both(agents, await EditPages(services.search).agents_with(path))
    kinds = None if asked.kinds is None else frozenset(KINDS).intersection(asked.kinds)
    if filters.roles:
        kinds = frozenset(kind for kind in (KINDS if kinds is None else kinds) if _ROLES.get(kind) in filters.roles)
    if frozenset() in (agents, kinds):
        return None
    unseen = await hidden(services.store, asked.without_tag)
    return Criteria(query, agents, kinds, filters.live, filters.since, filters.until, unseen)


def _both(some: frozenset[int] | None, others: AbstractSet[int]) -> frozenset[int]:
    return frozenset(others) if some is None else some & others
