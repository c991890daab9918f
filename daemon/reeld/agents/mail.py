"""What can lie in an agent's mailbox: three kinds of turns."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from reel.errors import ReelError
from reeld.core.commands import Reply, Stage
from reeld.core.state import State

if TYPE_CHECKING:
    from reeld.agents.agent import Agent


class Keyed(NamedTuple):
    """An idempotency key, and the digest of the command that it stands for."""

    key: str
    digest: bytes


class Terms(NamedTuple):
    """What every command carries beside its own parameters."""

    if_seq: int | None = None
    keyed: Keyed | None = None
    client: str | None = None


class Write(NamedTuple):
    """A command that moves the tip forward or not at all; a run of them is written as one unit.

    ``answer`` takes the reply, or the error.
    """

    stage: Callable[[Stage], Reply]
    terms: Terms
    answer: Callable[[Reply | ReelError], None]


class Look(NamedTuple):
    """A look at the committed state, which takes no time."""

    look: Callable[[State], Any]
    answer: Callable[[Any], None]


class Turn(NamedTuple):
    """Anything that has to wait for something; the agent does nothing else until it is over."""

    run: "Callable[[Agent], Awaitable[Any]]"
    answer: Callable[[Any], None]


Mail: TypeAlias = Write | Look | Turn
