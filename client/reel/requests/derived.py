"""What is computed from several replies: branches, differences and usage.

How many requests that takes depends on the pages that are read, not on the number of agents. A daemon that is older
than ``histories`` and the filter ``source`` is asked as many as it takes.
"""

from __future__ import annotations

from contextlib import suppress

from reel.base.errors import NotFound
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, in_steps, knows, next_page, read_pages
from reel.requests.queries import agent as agent_info
from reel.requests.queries import agents, histories, history, messages

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from reel.reading.branches import Branches
    from reel.reading.difference import Hunk
    from reel.reading.usage import Sum, Usage
    from reel.replies import AgentRow, AgentsPage, Hello, HistoryPage, MessagesPage


_USAGE = ("usage",)


def tree(agent: str) -> Call[Branches]:
    """Read the branches inside a conversation: what was rewound or undone, the marks, and where clones left.

    Args:
        agent: a name or an id.

    Raises:
        NotFound: there is no such agent.
    """

    def steps(server: Callable[[], Hello | None]) -> Generator[Call[Any], Any, Branches]:
        from reel.reading.branches import KINDS, Branches  # noqa: PLC0415 - most clients read none

        found = Branches()
        info = yield agent_info(agent)

        def take_clones(page: AgentsPage) -> None:
            found.add_clones(info.id, page.agents)

        yield from read_pages(history(info.id, kinds=KINDS, inherited=True), lambda page: found.add(page.events))
        yield from read_pages(agents(source=info.id) if knows(server, "sources") else agents(), take_clones)
        return found

    return in_steps("tree", steps)


def difference(first: str, second: str, first_at: int | None = None, second_at: int | None = None) -> Call[list[Hunk]]:
    """Compare two conversations, or two moments of one; nothing is returned for two without messages.

    Args:
        first: a name or an id.
        second: a name or an id.
        first_at: the first conversation at this seq. Default: the newest.
        second_at: the second conversation at this seq. Default: the newest.

    Raises:
        NotFound: there is no such agent.
    """

    def steps(_: Callable[[], Hello | None]) -> Generator[Call[Any], Any, list[Hunk]]:
        from reel.reading.difference import Difference, said_on  # noqa: PLC0415 - most clients compare none

        found = Difference()
        calls: list[Call[MessagesPage] | None] = [messages(first, at=first_at), messages(second, at=second_at)]
        begins = True
        # A page of each in turn, so that what both begin with is not kept.
        while any(calls):
            for side, call in enumerate(calls):
                if call is not None:
                    page = yield call
                    found.add(side, said_on(page, first=begins))
                    calls[side] = next_page(call, page)
            begins = False
        return found.hunks()

    return in_steps("difference", steps)


def usage(agent: str | None = None, by: str = "") -> Call[dict[str, Sum]]:
    """Add up the tokens that responses used. What an agent inherited is counted with its source.

    They are in an event of their own, or in the answer itself, as frameworks store them.

    Args:
        agent: a name or an id. Default: all agents, killed ones too.
        by: ``model``, ``day`` or ``tag:KEY``, which makes a group of each; or nothing, for the group ``all``.

    Raises:
        NotFound: there is no such agent.
    """
    return _usage(agent, by, lambda found: found.sums)


def model_usage(agent: str | None = None, by: str = "") -> Call[dict[str, dict[str, Sum]]]:
    """Add up the tokens as :func:`usage` does, in each group by model: each model has its prices."""
    return _usage(agent, by, lambda found: found.models)


def _usage(agent: str | None, by: str, result: Callable[[Usage], Any]) -> Call[Any]:
    def steps(server: Callable[[], Hello | None]) -> Generator[Call[Any], Any, Any]:
        from reel.reading.usage import Usage  # noqa: PLC0415 - most clients add up none

        found = Usage(by)

        def take(page: HistoryPage) -> None:
            found.add(page.events)

        if agent is not None:
            info = yield agent_info(agent)
            found.add_agents([info])
            yield from read_pages(history(info.id, kinds=_USAGE, tokens=_tokens(server)), take)
            found.end()
            return result(found)
        call: Call[AgentsPage] | None = agents()
        while call is not None:
            page = yield call
            found.add_agents(page.agents)
            yield from _read_all(page.agents, take, several=knows(server, "histories"), tokens=_tokens(server))
            found.end()
            call = next_page(call, page)
        return result(found)

    return in_steps("usage", steps)


def _read_all(
    rows: list[AgentRow], take: Callable[[Any], None], *, several: bool, tokens: bool | None
) -> Generator[Call[Any], Any, None]:
    """Read the usage of a page of agents: with one request, or with one for each agent."""
    if several:
        yield from read_pages(histories([row.id for row in rows], kinds=_USAGE, tokens=tokens), take)
        return
    for row in rows:
        with suppress(NotFound):  # it was removed since the list was read
            yield from read_pages(history(row.id, kinds=_USAGE, tokens=tokens), take)


def _tokens(server: Callable[[], Hello | None]) -> bool | None:
    """Return whether answers with tokens are asked for; what the daemon knows is known after the first reply."""
    return True if knows(server, "tokens") else None
