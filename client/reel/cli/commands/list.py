"""The command ``list``."""

from collections.abc import Iterator
from itertools import islice
from operator import attrgetter

from reel import requests
from reel.cli.commands.shared.pager import paged
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.screen.agent_list import Table, tree, tsv
from reel.reading.wording import age, full_time
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
    rows = islice(_sorted(ctx), None if args.tree else args.limit)
    if ctx.out.as_json:
        ctx.out.documents(islice(rows, args.limit))
    elif args.format == "names":
        ctx.out.lines([row.name] for row in rows)
    elif args.format == "tsv":
        ctx.out.lines([tsv(row)] for row in rows)
    elif not _show(ctx, _branches(ctx, rows)):
        ctx.out.hint(_why_nobody(ctx))


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


def _sorted(ctx: Context) -> Iterator[AgentRow]:
    if ctx.args.sort == "name":
        return iter(sorted(_agents(ctx, "created"), key=attrgetter("name")))
    return _agents(ctx, ctx.args.sort or ("created" if ctx.args.tree else "updated"))


def _agents(ctx: Context, order: str) -> Iterator[AgentRow]:
    """Yield the agents, each once: one that changes while the list is read may come twice."""
    args = ctx.args
    # In a tree, killed agents join their clones with the others.
    alive = None if args.all or args.tree else True
    names_only = args.format == "names"
    page = _NAMES if names_only else _SCREEN if ctx.out.terminal and order == "updated" else _PAGE
    call = requests.agents(
        args.prefix,
        alive,
        page if args.tree else min(page, args.limit or page),
        order="updated" if order == "updated" else None,
        details=None if names_only else True,
        query=_query(ctx),
        tags=_tags(ctx),
    )
    seen: set[str] = set()
    for found in ctx.client.pages(call):
        for row in found.agents:
            if row.id not in seen:
                seen.add(row.id)
                yield row


def _query(ctx: Context) -> str | None:
    return " ".join(ctx.words) or None


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


def _why_nobody(ctx: Context) -> str:
    """Return why a list of agents is empty."""
    prefix, all_of_them = ctx.args.prefix, ctx.command("list", "--all")
    query, tags = _query(ctx), _tags(ctx)
    if not ctx.args.all and ctx.client.agents(prefix, limit=1, query=query, tags=tags).agents:
        about = f" whose names begin with {prefix!r}" if prefix else " that match" if query or tags else ""
        return f"all conversations{about} are killed; list them with: {all_of_them}"
    if query or tags:
        return f"no conversation matches; list all with: {all_of_them}"
    if prefix:
        return f"no conversation's name begins with {prefix!r}; list all with: {all_of_them}"
    return f"no conversations; create one with: {ctx.command('new', 'NAME')}"
