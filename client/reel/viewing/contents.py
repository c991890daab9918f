"""Reads the contents of pages from the daemon."""

from contextlib import aclosing

from reel import requests
from reel.aio import Client
from reel.base.errors import InvalidParams, NotFound
from reel.base.light_typing import NamedTuple
from reel.exporting.story import Part, story
from reel.reading.difference import Hunk
from reel.reading.positions import FromEnd, split_name
from reel.reading.unindexed import unindexed
from reel.replies import AgentRow, HitsPage
from reel.said.messages import Event, Message
from reel.viewing.conversation import Piece

# The number of events before a piece that are read for the tool names of its results.
_BEFORE = 20
# The number of events read at once.
_PAGE = 500
# How many milliseconds a search waits for what was just said.
_PATIENCE = 500
# The maximum number of agents and hits in a list.
_ROWS, _HITS, _FEW = 60, 50, 8


class Rows(NamedTuple):
    """A page of the list; the id of its last agent, if there are more."""

    agents: list[AgentRow]
    following: str | None


class Found(NamedTuple):
    """The results of a search, and what could not be found because the index does not have it yet."""

    agents: list[AgentRow]
    page: HitsPage
    late: str


async def piece(client: Client, agent: str, first: int, last: int, at: int) -> Piece:
    """Return a stretch of a conversation.

    Args:
        client: the client.
        agent: the id of the agent.
        first: the seq at which it begins.
        last: the seq at which it ends.
        at: the position at which the conversation is read.
    """
    since = max(first - 1 - _BEFORE, 0)
    limit = max(min(last - since, _PAGE), 1)
    messages: list[Message] = []
    async with aclosing(client.pages(requests.messages(agent, since=since, limit=limit, at=at))) as pages:
        async for said in pages:
            messages += [message for message in said.messages if message["seq"] <= last]
            if not said.messages or said.messages[-1]["seq"] >= last:
                break
    events: list[Event] = []
    async with aclosing(client.pages(requests.history(agent, since=since, limit=limit, inherited=True))) as logs:
        async for logged in logs:
            events += [event for event in logged.events if event["seq"] <= last]
            if not logged.events or logged.events[-1]["seq"] >= last:
                break
    before: list[Part] = []
    parts: list[Part] = []
    for part in story(messages, events):
        (before if part.seq < first else parts).append(part)
    return Piece(first, last, before, parts)


async def piece_before(client: Client, agent: str, last: int, at: int, size: int) -> Piece:
    """Return the stretch that ends at a seq; it is not empty unless it is at the beginning.

    Args:
        client: the client.
        agent: the id of the agent.
        last: the seq at which it ends.
        at: the position at which the conversation is read.
        size: its minimum number of seqs.
    """
    while True:
        found = await piece(client, agent, max(last - size + 1, 1), last, at)
        if found.parts or found.first == 1:
            return found
        size *= 4  # for example, the seqs of an inherited conversation continue much later


async def waits_for(client: Client, agent: str) -> str:
    """Return that a conversation waits for a person, and for what; empty if not, or if an older daemon cannot tell.

    Args:
        client: the client.
        agent: the id of the agent.
    """
    if client.server is None or "ids" not in client.server.features:
        return ""
    found = (await client.agents(ids=[agent], details=True, limit=1)).agents
    return found[0].waits or "" if found else ""


async def rows(client: Client, after: str | None = None) -> Rows:
    """Return the most recently changed agents, or those after an id."""
    page = await client.agents(order="updated", details=True, alive=True, limit=_ROWS, after=after)
    return Rows(page.agents, page.agents[-1].id if page.more else None)


async def find(client: Client, query: str) -> Found:
    """Search in names and in all messages."""
    named = await client.agents(order="updated", details=True, limit=_FEW, query=query)
    ranks = client.server is not None and "ranking" in client.server.features
    page = await client.search(query, limit=_HITS, order="fresh" if ranks else None, wait=_PATIENCE if ranks else None)
    return Found(named.agents, page, unindexed(page.behind, await client.stats()) if page.behind else "")


async def comparison(client: Client, one: str, other: str) -> list[Hunk]:
    """Return the differences between two conversations.

    Args:
        client: the client.
        one: the name or id of an agent, with a position after an @ or without.
        other: as ``one``.
    """
    (first, first_at), (second, second_at) = await _moment(client, one), await _moment(client, other)
    return await client.difference(first, second, first_at, second_at)


async def _moment(client: Client, words: str) -> tuple[str, int | None]:
    """Return an agent and a position. An agent's name may itself contain an @."""
    named = split_name(words)
    try:
        await client.agent(words)
    except (NotFound, InvalidParams):
        if named is None:
            raise
    else:
        return words, None
    agent, position = named
    if not isinstance(position, FromEnd):
        return agent, position
    messages = (await client.messages(agent, last=position.later + 1)).messages
    if len(messages) <= position.later:
        raise InvalidParams(f"@~{position.later} is before the beginning: {agent} has {len(messages)} messages")
    return agent, messages[0]["seq"]
