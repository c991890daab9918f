"""Questions about agents: which there are, what was said, what happened."""

from __future__ import annotations

from collections.abc import Sequence

from reel import replies
from reel.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from typing import Literal

_INFO = reply_reader(replies.AgentInfo)


def agents(
    prefix: str | None = None,
    alive: bool | None = None,  # noqa: FBT001 - in the protocol's order
    limit: int | None = None,
    after: str | None = None,
    *,
    max_bytes: int | None = None,
    order: Literal["created", "updated"] | None = None,
    details: bool | None = None,
) -> Call[replies.AgentsPage]:
    """List agents, in the order in which they were created.

    Args:
        prefix: only agents whose name begins with this.
        alive: only live agents, or only killed ones. Default: both.
        limit: the most agents on a page, 1 to 10,000. Default: 1,000.
        after: the id of the last agent on the page before.
        max_bytes: the size of a page, which has at least one item. Default: 8 MiB.
        order: ``updated`` lists the agents that were changed last first.
        details: also count the messages, and say what each conversation is about, whose turn it is and who is writing.
    """
    return call(
        "agents",
        reply_reader(replies.AgentsPage),
        items="agents",
        prefix=prefix,
        alive=alive,
        limit=limit,
        after=after,
        max_bytes=max_bytes,
        order=order,
        details=details,
    )


def agent(agent: str) -> Call[replies.AgentInfo]:
    """Describe one agent and its current state.

    Args:
        agent: a name or an id.

    Raises:
        NotFound: there is no such agent.
    """
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
    """Read the messages of the current conversation.

    Args:
        agent: a name or an id.
        since: only messages later than this seq.
        limit: the most messages on a page, 1 to 10,000. Default: 1,000.
        last: only this many of the newest messages, oldest first.
        at: the conversation as it was at this seq.
        max_bytes: the size of a page, which has at least one item. Default: 8 MiB.
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
    """Read the records of the current conversation as they are stored, the prompt included.

    Args:
        agent: a name or an id.
        since: only records later than this seq.
        limit: the most records on a page, 1 to 10,000. Default: 1,000.
        last: only this many of the newest records, oldest first.
        at: the conversation as it was at this seq.
        max_bytes: the size of a page, which has at least one item. Default: 8 MiB.
    """
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
    inherited: bool | None = None,  # noqa: FBT001 - in the protocol's order
    max_bytes: int | None = None,
) -> Call[replies.HistoryPage]:
    """Read the log of an agent, what was cleared or rewound included.

    Args:
        agent: a name or an id.
        since: only events later than this seq.
        limit: the most events on a page, 1 to 10,000. Default: 1,000.
        kinds: only events of these kinds.
        inherited: first the events of what the agent was cloned from.
        max_bytes: the size of a page, which has at least one item. Default: 8 MiB.
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
    strict: bool | None = None,  # noqa: FBT001 - in the protocol's order
    since: int | None = None,
    limit: int | None = None,
    max_bytes: int | None = None,
) -> Call[replies.ReplayPage]:
    """Read the state from the log. Without ``at``, the live state is compared with it, and repaired if it differs.

    Args:
        agent: a name or an id.
        at: the state as it was at this seq. Default: the newest.
        view: ``messages`` or ``conversation``, the records. Default: messages.
        strict: refuse a log that has an invalid message. Default: it is skipped, and listed in the reply.
        since: only messages, or records, later than this seq.
        limit: the most of them on a page, 1 to 10,000. Default: 1,000.
        max_bytes: the size of a page, which has at least one item. Default: 8 MiB.

    Raises:
        InvalidMessage: with ``strict``, an event of the conversation is not a message.
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
