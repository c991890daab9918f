"""Which agents stay in memory: how many are live, how many bytes they take, and which of them leave first.

An agent that is evicted loses nothing: its next use reads its log again. Those leave that were not used for long, and
the least recently used ones if there are too many or if they take too much.
"""

import time
from collections.abc import Callable, Collection, Iterator

import anyio

from reel.base.errors import Busy
from reeld.agents.agent import Agent
from reeld.agents.live_state import MOST_HELD, Held
from reeld.core.conversation import Conversation

# Live agents, the bytes of their conversations in memory, and how many seconds one may be idle.
MAX_LIVE = 1000
MEMORY = 256 << 20
IDLE = 600.0
# The most bytes that are dropped in advance when there are too many, which takes the event loop 10 ms.
_SLACK = 16 << 20
# The share that remains after an eviction: evicting a tenth at a time sorts the live agents once per hundred starts.
_KEPT_WHEN_FULL = 0.9


class Residency:
    """The live agents.

    Args:
        max_live: how many there may be. Beyond this limit the least recently used idle ones are evicted; if none is
            idle, no further agent is started. Only a cascading kill may exceed it, because it needs all clones at once.
        idle: seconds after which an unused agent is evicted.
        memory: how many bytes of conversations may be in memory. Beyond this limit the least recently used ones keep
            only their newest messages, and if that is not enough, idle agents are evicted.
        on_leave: called with each agent that is dropped, so that nobody finds it any more.
    """

    def __init__(self, max_live: int, idle: float, memory: int, on_leave: Callable[[Agent], None]) -> None:
        self._max_live = max_live
        self._idle = idle
        self._memory = memory
        self._on_leave = on_leave
        self._live: dict[int, Agent] = {}
        self._scopes: dict[int, anyio.CancelScope] = {}
        self.held = Held()

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Agent]:
        return iter(list(self._live.values()))

    def get(self, row: int) -> Agent | None:
        """Return the live agent of a row."""
        return self._live.get(row)

    @property
    def is_full(self) -> bool:
        """Whether there are as many as there may be."""
        return len(self._live) >= self._max_live

    @property
    def size(self) -> int:
        """About how many bytes of conversations are in memory."""
        return self.held.bytes

    def has_room_for(self, conversation: Conversation) -> bool:
        """Return whether a conversation from the log may be kept in memory: it takes half of the room at most."""
        return conversation.size <= self._memory // 2 and len(conversation.entries) <= MOST_HELD

    def enter(self, agent: Agent) -> anyio.CancelScope:
        """Take an agent in; return the scope of its task, which may be cancelled before the task begins."""
        self._live[agent.row] = agent
        self._scopes[agent.row] = scope = anyio.CancelScope()
        return scope

    def drop(self, agent: Agent) -> None:
        """Let an agent go, whose task ends by itself."""
        if self._live.get(agent.row) is agent:
            del self._live[agent.row]
            del self._scopes[agent.row]
        agent.live.leave()
        self._on_leave(agent)

    def evict(self, agent: Agent) -> None:
        """Let an idle agent go, and end its task."""
        scope = self._scopes[agent.row]
        self.drop(agent)  # first, so that nobody finds it; then end its task
        scope.cancel()

    def make_room(self) -> None:
        """Evict idle agents if there are as many as there may be.

        Raises:
            Busy: none is idle.
        """
        self.evict_if_full()
        if self.is_full:
            raise Busy(f"{self._max_live} agents are at work at once; retry when some of them are done")

    def evict_if_full(self) -> None:
        """Evict idle agents if there are as many as there may be."""
        if self.is_full:
            self.evict_idle(keep=int(self._max_live * _KEPT_WHEN_FULL))

    def evict_idle(self, keep: int | None = None) -> None:
        """Evict idle agents: those unused for long, and the least recently used beyond ``keep``."""
        oldest = _by_use(self._live.values())
        before = time.monotonic() - self._idle
        excess = 0 if keep is None else len(oldest) - keep
        for agent in oldest:
            if excess <= 0 and agent.last_used >= before:
                break
            if agent.idle:
                excess -= 1
                self.evict(agent)

    def limit_memory(self) -> None:
        """Drop the least recently used conversations, if too much is in memory."""
        excess = self.size - self._memory
        if excess <= 0:
            return
        excess += min(self._memory // 10, _SLACK)  # one check covers many commits
        oldest = _by_use(self._live.values())
        for agent in oldest:
            before = agent.live.size
            agent.shrink()
            excess -= before - agent.live.size
            if excess <= 0:
                return
        for agent in oldest[:-1]:
            if agent.idle:
                excess -= agent.live.size
                self.evict(agent)
            if excess <= 0:
                return


def _by_use(agents: Collection[Agent]) -> list[Agent]:
    """Return agents, the least recently used first."""
    return sorted(agents, key=lambda agent: agent.last_used)
