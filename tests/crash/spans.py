"""When everything was under way: who may have seen what, and whether order keeps to real time."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.crash.history import Call, Command
from tests.crash.world import Position, World


class Span(NamedTuple):
    """When something was under way, and where it stands: at a head; what reads it comes after what wrote it."""

    head: int
    reads: bool
    sent: float
    answered: float


class Seen(NamedTuple):
    """What an agent may have been at some moment while a call was under way.

    Args:
        certain: whether it was there from the first moment on.
    """

    agent: str
    positions: Sequence[Position]
    certain: bool

    def may_be(self, address: str) -> bool:
        """Whether it may have been found at an address."""
        return address == self.agent or any(position.name == address for position in self.positions)

    def must_be(self, address: str) -> bool:
        """Whether it, or another one in its place, was found at an address in any case."""
        named = address == self.agent or all(position.name == address for position in self.positions)
        return self.certain and named


class Spans:
    """The spans of all agents; a command's is noted when the world has done it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._writes = defaultdict[str, list[Span]](list)
        self._reads = defaultdict[str, list[Span]](list)

    def note_command(self, command: Command, attempts: Sequence[Call]) -> None:
        """Note the time from a command's first attempt to its first answer."""
        sent = min((call.sent for call in attempts), default=-math.inf)
        answered = min((call.answered for call in attempts if call.acknowledged), default=math.inf)
        for agent, head in command.heads.items():
            self._writes[agent].append(Span(head, False, sent, answered))

    def note_read(self, agent: str, head: int, call: Call) -> None:
        """Note that somebody read an agent."""
        self._reads[agent].append(Span(head, True, call.sent, call.answered))

    def seen(self, agent: str, call: Call) -> Seen:
        """Give what an agent may have been during a call: what some order in which all can have happened has it be."""
        writes = self._writes[agent]
        first = max((place for place, span in enumerate(writes) if span.answered < call.sent), default=-1)
        last = min((place for place, span in enumerate(writes) if span.sent > call.answered), default=len(writes)) - 1
        return Seen(agent, self._world.positions.get(agent, ())[max(first, 0) : last + 1], first >= 0)

    def against_time(self) -> Iterator[str]:
        """Look for what was answered before something that stands before it was sent."""
        for agent, writes in self._writes.items():
            earliest = Span(0, False, math.inf, math.inf)
            for span in sorted([*writes, *self._reads[agent]], reverse=True):
                if earliest.answered < span.sent:
                    yield f"against time: {span} was sent after {earliest} had been answered"
                earliest = min(earliest, span, key=lambda each: each.answered)
