"""What is asked about agents: who there is, what was said, what happened."""

from collections.abc import Sequence
from typing import Literal

from reel import replies
from reel.requests.calls import Call, call, reply_reader

_INFO = reply_reader(replies.AgentInfo)


def agents(
    prefix: str | None = None,
    alive: bool | None = None,  # noqa: FBT001 - a filter, as in the protocol's words
    limit: int | None = None,
    after: str | None = None,
) -> Call[replies.AgentsPage]:
    """List agents, in the order in which they were made.

    Args:
        prefix: only names that begin with it.
        alive: only the living, or only the dead.
        limit: 1 to 10,000, 1,000 if left out.
        after: the id of the last one of the page before.
    """
    return call(
        "agents",
        reply_reader(replies.AgentsPage),
        items="agents",
        prefix=prefix,
        alive=alive,
        limit=limit,
        after=after,
    )


def agent(agent: str) -> Call[replies.AgentInfo]:
    """Describe one agent and its living state."""
    return call("agent", _INFO, agent=agent)


def messages(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.MessagesPage]:
    """Read the living messages.

    Args:
        agent: a name or an id.
        since: only later than this seq.
        limit: 1 to 10,000, 1,000 if left out.
        last: only the newest so many, oldest first.
        at: the state as it was at this seq.
        max_bytes: the page's size, 8 MiB if left out; one item comes at least.
    """
    return call(
        "messages",
        reply_reader(replies.MessagesPage),
        items="messages",
        agent=agent,
        since=since,
        limit=limit,
        last=last,
        at=at,
        max_bytes=max_bytes,
    )


def conversation(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.ConversationPage]:
    """Read the living records, the prompt included, as they are stored; see :func:`messages`."""
    return call(
        "messages",
        reply_reader(replies.ConversationPage),
        items="conversation",
        agent=agent,
        since=since,
        limit=limit,
        last=last,
        at=at,
        view="conversation",
        max_bytes=max_bytes,
    )


def history(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    kinds: Sequence[str] | None = None,
    inherited: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    max_bytes: int | None = None,
) -> Call[replies.HistoryPage]:
    """Read the log as it stands, what was cleared and rewound included.

    Args:
        agent: a name or an id.
        since: only later than this seq.
        limit: 1 to 10,000, 1,000 if left out.
        kinds: only these.
        inherited: with the past of what it was cloned from in front.
        max_bytes: the page's size, 8 MiB if left out; one item comes at least.
    """
    return call(
        "history",
        reply_reader(replies.HistoryPage),
        items="events",
        agent=agent,
        since=since,
        limit=limit,
        kinds=None if kinds is None else list(kinds),
        inherited=inherited,
        max_bytes=max_bytes,
    )


def replay(
    agent: str,
    at: int | None = None,
    view: Literal["messages", "conversation"] | None = None,
    strict: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    since: int | None = None,
    limit: int | None = None,
    max_bytes: int | None = None,
) -> Call[replies.ReplayPage]:
    """Read the state anew from the log; without ``at`` the running state is compared with it, and mended.

    Raises:
        InvalidMessage: ``strict``, and an event of the conversation is no message.
    """
    return call(
        "replay",
        reply_reader(replies.ReplayPage),
        items=view or "messages",
        agent=agent,
        at=at,
        view=view,
        strict=strict,
        since=since,
        limit=limit,
        max_bytes=max_bytes,
    )
