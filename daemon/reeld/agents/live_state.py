"""The state of a live agent: what is committed is folded into it and told to subscribers, and its memory is counted."""

import logging
from collections.abc import Mapping, Sequence

from reeld.agents.event_bus import CommittedEvent, EventBus
from reeld.core.conversation import Conversation
from reeld.core.events import Event
from reeld.core.milestones import Extent
from reeld.core.path import Turn
from reeld.core.reading import LEAST_READ
from reeld.core.state import State
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite

log = logging.getLogger(__name__)

_NONE: Mapping[int, Turn] = {}

# The most entries of a conversation that stay in memory, however small they are: to cut off, drop or compare so many
# takes the event loop up to 15 ms. One command may put more there until it is done.
MOST_HELD = 50_000


class Held:
    """About how many bytes the conversations of all live agents take: a sum over them took longer than creating one."""

    def __init__(self) -> None:
        self.bytes = 0


class LiveState:
    """The committed state of an agent.

    Args:
        row: the agent's number in the database.
        store: holds its log.
        bus: tells subscribers what happens to it.
        state: the state, if it is known; else it has to be read from the log.
        held: what all agents take, this one included until it leaves.
    """

    def __init__(self, row: int, store: Store, bus: EventBus, state: State | None, held: Held) -> None:
        self._row = row
        self._store = store
        self._bus = bus
        self.state = state
        self._held = held
        # About how many bytes of the conversation are in memory, as was counted last: its part of what all take.
        self.size = 0
        # Whether it has grown much since :meth:`has_grown` was asked.
        self._has_grown = False

    @property
    def committed(self) -> State:
        """The state of an agent that has been loaded."""
        assert self.state is not None  # noqa: S101 - no job runs before the load
        return self.state

    def count(self) -> None:
        """Take note of how much of the conversation is in memory by now."""
        size = 0 if self.state is None else self.state.conversation.size
        if size != self.size:
            self._held.bytes += size - self.size
            self.size = size

    def leave(self) -> None:
        """Count no more, because nobody finds the agent any more."""
        self._held.bytes -= self.size
        self._held, self.size = Held(), 0

    def shrink(self, most: int = LEAST_READ) -> None:
        """Keep about so many of the newest entries in memory."""
        if self.state is not None:
            self.state.conversation.trim(most)
            self.count()

    def has_grown(self) -> bool:
        """Return whether it has grown by about as much as one milestone is apart from the next since the last call."""
        grown, self._has_grown = self._has_grown, False
        return grown

    def apply(self, part: AgentWrite, first: int, turns: Mapping[int, Turn] = _NONE) -> None:
        """Fold committed events into the state, and publish them.

        Args:
            part: the events.
            first: the id of the first one.
            turns: the states that they take over, by the numbers of the events, if those are not in memory.
        """
        state, bus = self.committed, self._bus
        state.profile = part.profile
        conversation = state.conversation
        if bus.has_subscribers(self._row):
            for number, event in enumerate(part.events):
                kept = self._apply(part.events, number, first, turns)
                bus.publish(CommittedEvent(part.profile, first + number, event, kept, conversation.extent))
        else:
            done = 0
            for number in sorted(turns):
                conversation.apply_all(first + done, part.events[done:number])
                self._apply(part.events, number, first, turns)
                done = number + 1
            conversation.apply_all(first + done, part.events[done:])
        self.count()
        bus.newest = first + len(part.events) - 1
        self._note_milestones()

    def _apply(self, events: Sequence[Event], number: int, first: int, turns: Mapping[int, Turn]) -> Extent:
        """Fold an event, and return how long a prefix it left unchanged; ``first`` is the id of the first one."""
        turn = turns.get(number)
        if turn is None:
            return self.committed.conversation.apply(first + number, events[number])
        self._note_milestones()  # the turn may leave them behind
        return self.committed.conversation.apply(first + number, events[number], turn.takeover(first, events))

    def _note_milestones(self) -> None:
        if self.committed.conversation.has_new_milestones:
            self._store.writer.note(self.committed.conversation.take_new_milestones())
            self._has_grown = True

    async def load(self) -> None:
        """Read the state from the log.

        Raises:
            NotFound: there is no such agent any more.
            Storage: the log cannot be read.
        """
        self.state = await self._store.load(self._row)
        self.count()

    def repair(self, conversation: Conversation) -> None:
        """Replace a conversation that differs from the log."""
        log.error("agent=%s differed from its log and was replaced", self.committed.profile.name)
        self.committed.conversation = conversation
        self.count()
        self.reset()

    def reset(self) -> None:
        """Make all clients read the conversation again: it was replaced, or they may have missed events."""
        self._store.writer.changes.note_any()
        if self.state is not None:
            self._bus.reset(self.state.profile)
