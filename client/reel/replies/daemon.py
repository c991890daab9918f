"""The replies about the daemon itself."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Hello(NamedTuple):
    """The daemon's introduction, and the negotiated protocol.

    ``changes`` is where clients can see what changes; ``None`` if they cannot.
    """

    server: dict[str, Any]
    protocol: int
    framing: str
    connection: int
    features: list[str]
    limits: dict[str, int]
    changes: dict[str, Any] | None = None


class MethodInfo(NamedTuple):
    """A method of the daemon: its parameters in order, the optional ones with a question mark."""

    name: str
    params: list[str]
    summary: str


class Problem(NamedTuple):
    """Damage that was found: a stable name for it, the reason, and the agent and event that it is about."""

    what: str
    reason: str
    agent: str | None = None
    name: str | None = None
    seq: int | None = None
    id: int | None = None


class Verified(NamedTuple):
    """How many agents and events were checked, and the problems; ``omitted`` further ones are not listed."""

    agents: int
    events: int
    problems: list[Problem]
    omitted: int


class BackedUp(NamedTuple):
    """A copy of the database was written; ``bytes`` is its size.

    The other fields are the result of checking it, as in :class:`Verified`; an older daemon does not check it.
    """

    path: str
    bytes: int
    agents: int | None = None
    events: int | None = None
    problems: Sequence[Problem] = ()
    omitted: int = 0
