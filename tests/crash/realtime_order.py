"""The times of calls: which positions of an agent a call may have seen, and whether the log respects real time."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.crash.history import Call, Command
from tests.crash.reference_model import Position, ReferenceModel


class Span(NamedTuple):
    """The time and the head of a command or a read; at the same head a read sorts after the command."""

    head: int
    reads: bool
    sent: float
    answered: float


class Seen(NamedTuple):
    """The positions in which a call may have seen an agent.

    Args:
        certain: whether the agent existed when the call was sent.
    """

    agent: str
    positions: Sequence[Position]
    certain: bool

    def may_be(self, address: str) -> bool:
        """Return whether the agent may have been found at an address."""
        return address == self.agent or any(position.name == address for position in self.positions)

    def must_be(self, address: str) -> bool:
        """Return whether the agent, or another one in its place, must have been found at an address."""
        named = address == self.agent or all(position.name == address for position in self.positions)
        return self.certain and named


class RealtimeOrder:
    """The spans of all commands and reads; a command is noted once the model has executed it."""

    def __init__(self, reference: ReferenceModel) -> None:
        self._reference = reference
        self._writes = defaultdict[str, list[Span]](list)
        self._reads = defaultdict[str, list[Span]](list)

    def note_command(self, command: Command, attempts: Sequence[Call]) -> None:
        """Note the time from a command's first attempt to its first reply."""
        sent = min((call.sent for call in attempts), default=-math.inf)
        answered = min((call.answered for call in attempts if call.acknowledged), default=math.inf)
        for agent, head in command.heads.items():
            self._writes[agent].append(Span(head, False, sent, answered))

    def note_read(self, agent: str, head: int, call: Call) -> None:
        """Note a read of an agent."""
        self._reads[agent].append(Span(head, True, call.sent, call.answered))

    def seen(self, agent: str, call: Call) -> Seen:
        """Return the positions in which a call may have seen an agent, in any possible order of the commands."""
        writes = self._writes[agent]
        first = max((place for place, span in enumerate(writes) if span.answered < call.sent), default=-1)
        last = min((place for place, span in enumerate(writes) if span.sent > call.answered), default=len(writes)) - 1
        return Seen(agent, self._reference.positions.get(agent, ())[max(first, 0) : last + 1], first >= 0)

    def against_time(self) -> Iterator[str]:
        """Report entries that were answered before an entry with a lower head was sent."""
        for agent, writes in self._writes.items():
            earliest = Span(0, False, math.inf, math.inf)
            for span in sorted([*writes, *self._reads[agent]], reverse=True):
                if earliest.answered < span.sent:
                    yield f"against time: {span} was sent after {earliest} had been answered"
                earliest = min(earliest, span, key=lambda each: each.answered)
