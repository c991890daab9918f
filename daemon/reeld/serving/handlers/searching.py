"""The handler of ``search``."""

import time
from collections.abc import Iterable, Sequence

from reel.reading.hit_lines import context, hit_lines, in_groups
from reel.said.kinds import ROLES
from reeld.core.commands import not_found
from reeld.protocol import params
from reeld.search.finding import Criteria
from reeld.search.index import agent_word, kind_word
from reeld.search.query import Filters, Query, match_expression, parse_query
from reeld.serving.call import Call, Detached, Result, Services
from reeld.store import queries

# With more agents than this, every match is checked, instead of searching agent by agent.
_FEW_AGENTS = 100
_ROLES = {**ROLES, "system": "system"}
# The kinds of events that have text.
_KINDS = frozenset({*_ROLES, "note", "created", "changed"})


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
    below, offset = (None, 0) if asked.after is None else asked.after

    async def run() -> Result:
        wanted = await _wanted(services, parsed._replace(filters=filters), asked)
        if wanted is None or (not parsed.groups and asked.query.strip() and typed == Filters()):
            return {"hits": [], "more": False, "behind": services.search.behind}
        if asked.order == "best":
            found = await services.search.best(wanted, asked.limit, below, offset)
        else:
            found = await services.search.newest(wanted, asked.limit, below)
        following = {} if found.next is None else {"next": found.next}
        return {"hits": found.hits, "more": found.next is not None, **following, "behind": found.behind}

    return Detached(run)


def hits(services: Services, call: Call, asked: params.Hits) -> Detached:
    """Search, and return the hits with the lines that show them, and with what to look for in their messages."""
    searched = search(services, call, params.Search(asked.query, limit=asked.limit, after=asked.after))

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
    required: list[Iterable[str]] = []
    for address in (asked.agent, filters.agent):
        if address is not None:
            profile = await services.store.read(queries.find, address)
            if profile is None and address == asked.agent:
                raise not_found(address)
            required.append([agent_word(0 if profile is None else profile.row)])
    rows = await _agents_of(
        services, [*(asked.tags or {}).items(), *filters.tags], [*(asked.dirs or ()), *filters.dirs]
    )
    if rows is not None:
        if not rows:
            return None
        if len(rows) <= _FEW_AGENTS:
            required.append([agent_word(row) for row in sorted(rows)])
            rows = None
    kinds = _KINDS if asked.kinds is None else _KINDS.intersection(asked.kinds)
    if filters.roles:
        kinds = frozenset(kind for kind in kinds if _ROLES.get(kind) in filters.roles)
    if not kinds:
        return None
    if kinds != _KINDS or not (query.groups or required):
        required.append([kind_word(kind) for kind in sorted(kinds)])
    match = match_expression(query, required)
    assert match is not None, "something is required"  # noqa: S101
    return Criteria(match, query.terms, rows, filters.live, filters.since, filters.until)


async def _agents_of(
    services: Services, tags: Sequence[tuple[str, str | None]], directories: Sequence[str]
) -> frozenset[int] | None:
    """Return the rows of the agents that have all the tags, and were begun in one of the directories.

    ``None`` stands for all agents.
    """
    found: list[set[int]] = []
    if tags:
        found.append(await services.search.tagged(tags))
    if directories:
        found.append(await services.search.begun_in(directories))
    return frozenset(set.intersection(*found)) if found else None
