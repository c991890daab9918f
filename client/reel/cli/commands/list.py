"""The command ``list``."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from time import time

from reel import requests
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.pager import paged
from reel.cli.commands.shared.wanted import Wanted
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.screen.agent_list import Table, tree, tsv
from reel.reading.wording import age, full_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from reel.replies import AgentRow

# Agents on a page: of names as many as it may have, because each page is a search in all agents. With details a page
# keeps the daemon busy for 0.1 s, and at a terminal the first one should come at once.
_NAMES = 10_000
_PAGE = 1000
_SCREEN = 200


def list_agents(ctx: Context) -> None:
    """List the agents, as a table, as a tree of clones, or for programs."""
    args = ctx.args
    if args.tree and (args.sort or args.format):
        raise UsageError("--tree cannot be combined with --sort or --format")
    wanted = _wanted(ctx)
    rows = islice(_sorted(ctx, wanted), None if args.tree else args.limit)
    if ctx.out.as_json:
        ctx.out.documents(islice(rows, args.limit))
    elif args.format == "names":
        ctx.out.lines([row.name] for row in rows)
    elif args.format == "tsv":
        ctx.out.lines([tsv(row)] for row in rows)
    elif not _show(ctx, _branches(ctx, rows)):
        ctx.out.hint(_why_nobody(ctx, wanted))


def _branches(ctx: Context, rows: Iterator[AgentRow]) -> Iterator[tuple[str, AgentRow]]:
    """Return the rows of the table, each with its branch; empty unless it is a tree."""
    if ctx.args.tree:
        return islice(tree(list(rows), killed=ctx.args.all), ctx.args.limit)
    return (("", row) for row in rows)


def _show(ctx: Context, rows: Iterator[tuple[str, AgentRow]]) -> bool:
    """Print rows as a table, and return whether there were any."""
    table = Table(ctx.out.width, age if ctx.out.terminal else full_time)
    found = False
    with paged(ctx):
        while page := list(islice(rows, _SCREEN)):
            found = True
            ctx.out.lines(table.lines(page))
    return found


def _sorted(ctx: Context, wanted: Wanted) -> Iterator[AgentRow]:
    if ctx.args.sort == "name":
        return iter(sorted(_agents(ctx, wanted, "created"), key=attrgetter("name")))
    return _agents(ctx, wanted, ctx.args.sort or ("created" if ctx.args.tree else "updated"))


def _agents(ctx: Context, wanted: Wanted, order: str) -> Iterator[AgentRow]:
    """Yield the agents, each once: one that changes while the list is read may come twice."""
    names_only = ctx.args.format == "names"
    size = _NAMES if names_only else _SCREEN if ctx.out.terminal and order == "updated" else _PAGE
    size = size if ctx.args.tree else min(size, ctx.args.limit or size)
    # In a tree, killed agents join their clones with the others.
    alive = None if ctx.args.all or ctx.args.tree else True
    if names_only:
        found = _accepted(ctx, wanted, order, alive=alive)
    elif wanted.has_filters:
        found = _described(ctx, _accepted(ctx, wanted, order, alive=alive), order, size)
    else:
        found = _rows(ctx, wanted, order, size, alive=alive, details=True)
    seen: set[str] = set()
    for row in found:
        if row.id not in seen:
            seen.add(row.id)
            yield row


def _rows(
    ctx: Context, wanted: Wanted, order: str, size: int, *, alive: bool | None, details: bool | None = None
) -> Iterator[AgentRow]:
    """Yield what the daemon finds, in pages of a size."""
    tags, query = _tags(ctx), wanted.words or None
    call = requests.agents(ctx.args.prefix, alive, size, order=_asked(order), details=details, query=query, tags=tags)
    for page in ctx.client.pages(call):
        yield from page.agents


def _accepted(ctx: Context, wanted: Wanted, order: str, *, alive: bool | None) -> Iterator[AgentRow]:
    """Yield what the filters accept, without details: these take the daemon much longer than the rest of a row."""
    size = _NAMES if wanted.has_filters else min(_NAMES, ctx.args.limit or _NAMES)
    for row in _rows(ctx, wanted, order, size, alive=alive):
        if order == "updated" and wanted.since is not None and row.updated < wanted.since:
            return
        if wanted.accepts(row):
            yield row


def _described(ctx: Context, rows: Iterator[AgentRow], order: str, size: int) -> Iterator[AgentRow]:
    while ids := [row.id for row in islice(rows, size)]:
        yield from ctx.client.agents(ids=ids, limit=len(ids), order=_asked(order), details=True).agents


def _asked(order: str) -> Literal["updated"] | None:
    """Return an order as the daemon is asked for it; "created" is its default."""
    return "updated" if order == "updated" else None


def _wanted(ctx: Context) -> Wanted:
    """Return what is asked for.

    Raises:
        UsageError: a filter means nothing.
        NotFound: there is no such conversation.
    """
    query = " ".join(ctx.words)
    if ":" not in query:
        return Wanted(query)
    from reel.cli.commands.shared.list_query import read_wanted, require_meaning  # noqa: PLC0415 - most lists have none
    from reel.cli.commands.shared.searches import with_whole_names  # noqa: PLC0415 - as above

    now, person = time(), ctx.out.terminal
    require_meaning(query, now, person=person)
    return read_wanted(with_whole_names(ctx.client, query, strict=person), now)


def _tags(ctx: Context) -> dict[str, str] | None:
    """Return the tags that the agents must have.

    Raises:
        UsageError: one is not K=V.
    """
    pairs = [tag.partition("=") for tag in ctx.args.tag or ()]
    for name, is_set, value in pairs:
        if not (name and is_set):
            raise UsageError(f"{name + is_set + value!r} is not a tag; write K=V")
    return {name: value for name, _, value in pairs} or None


def _why_nobody(ctx: Context, wanted: Wanted) -> str:
    """Return why a list of agents is empty."""
    prefix, all_of_them, typed = ctx.args.prefix, ctx.command("list", "--all"), " ".join(ctx.words)
    is_narrowed = bool(typed or ctx.args.tag)
    if not ctx.args.all and next(_accepted(ctx, wanted, "updated", alive=None), None) is not None:
        about = f" whose names begin with {prefix!r}" if prefix else " that match" if is_narrowed else ""
        return f"all conversations{about} are killed; list them with: {all_of_them}"
    if is_narrowed:
        said = f"; find what was said with: {ctx.command('search', typed)}" if typed else ""
        return f"no conversation matches; list all with: {all_of_them}{said}"
    if prefix:
        return f"no conversation's name begins with {prefix!r}; list all with: {all_of_them}"
    return f"no conversations; create one with: {ctx.command('new', 'NAME')}"
