"""What goes on just now: waiting for it, following it, showing what is being written."""

from collections.abc import Sequence
from typing import Literal

from reel import replies
from reel.requests.calls import Call, call, reply_reader


def wait(
    agent: str, since: int, kinds: Sequence[str] | None = None, timeout: int | None = None
) -> Call[replies.Waited]:
    """Wait until there is something later than a seq.

    Args:
        agent: a name or an id.
        since: the seq.
        kinds: only these count.
        timeout: how long, in milliseconds; 30,000 if left out, 3,600,000 at most.
    """
    return call(
        "wait",
        reply_reader(replies.Waited),
        agent=agent,
        since=since,
        kinds=None if kinds is None else list(kinds),
        timeout=timeout,
    )


def subscribe(
    agent: str | None = None,
    since: int | None = None,
    view: Literal["messages", "conversation", "none"] | None = None,
    kinds: Sequence[str] | None = None,
) -> Call[replies.Subscribed]:
    """Follow what happens, as it happens: a client makes an iterator of it, on a connection of its own.

    Args:
        agent: a name or an id; left out, all agents.
        since: begin after this seq, or event id where all are followed; left out, with what happens from now on.
        view: what events bring along: messages, records (``conversation``) or nothing.
        kinds: only these.
    """
    return call(
        "subscribe",
        reply_reader(replies.Subscribed),
        agent=agent,
        since=since,
        view=view,
        kinds=None if kinds is None else list(kinds),
    )


def draft(agent: str, text: str) -> Call[None]:
    """Show the others what is being written; an empty text, the next ``add`` and the connection's end take it away."""
    return call("draft", lambda _: None, agent=agent, text=text)
