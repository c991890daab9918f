"""The replies to requests that follow an agent or wait for it."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reel.said.messages import Event


class Subscribed(NamedTuple):
    """A subscription has begun; ``head`` is the agent's, or the id of the newest event if all agents are followed."""

    sub: int
    head: int
    agent: str | None = None


class Waited(NamedTuple):
    """The events later than ``since``; none if the time ran out."""

    head: int
    events: list[Event]
