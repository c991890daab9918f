"""Requests for following agents live: wait for events, subscribe to them, show drafts."""

from __future__ import annotations

from collections.abc import Sequence

from reel import replies
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from typing import Literal


def wait(
    agent: str, since: int, kinds: Sequence[str] | None = None, timeout: int | None = None
) -> Call[replies.Waited]:
    """Wait until there are events later than a seq.

    Args:
        agent: a name or an id.
        since: the seq.
        kinds: only events of these kinds count.
        timeout: how long to wait, in milliseconds, at most 3,600,000. Default: 30,000.
    """
    return call("wait", reply_reader(replies.Waited), locals())


def subscribe(
    agent: str | None = None,
    since: int | None = None,
    view: Literal["messages", "conversation", "none"] | None = None,
    kinds: Sequence[str] | None = None,
) -> Call[replies.Subscribed]:
    """Follow events live: the method of a client returns an iterator, on a connection of its own.

    Args:
        agent: a name or an id. Default: all agents.
        since: start after this seq, or, for all agents, after this event id. Default: start with the next event.
        view: what is sent with events: ``messages``, ``conversation`` (records) or ``none``.
        kinds: only events of these kinds.
    """
    return call("subscribe", reply_reader(replies.Subscribed), locals())


def draft(agent: str, text: str) -> Call[None]:
    """Show subscribers a draft; the next ``add``, or the end of the connection, removes it.

    Args:
        agent: a name or an id.
        text: the text so far; an empty one removes the draft.
    """
    return call("draft", lambda _: None, locals())
