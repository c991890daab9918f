"""The registry of live agents: they start when they are created or first used, and are evicted when idle.

Agents are virtual: any agent in the log can be addressed, live or not. Names and ids of live agents are looked up here
without awaiting; those of all others are looked up in the database. A failed agent is dropped at once, so that the next
use reads its log again.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import anyio
from anyio.abc import TaskGroup

from reeld.agents import many_rows
from reeld.agents.agent import MAILBOX, Agent
from reeld.agents.event_bus import EventBus
from reeld.agents.jobs import Job, Read
from reeld.agents.residency import IDLE, MAX_LIVE, MEMORY, Residency
from reeld.answer import Answer
from reeld.core.commands import gone, not_found
from reeld.core.conversation import Conversation
from reeld.core.path import Turn
from reeld.core.state import Profile, State
from reeld.store import queries
from reeld.store.loss import Loss
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite

log = logging.getLogger(__name__)
_NO_TURNS: Mapping[int, Turn] = {}


class Registry:
    """Starts and finds agents.

    Args:
        store: holds their logs.
        tasks: the group that their tasks belong to.
        max_live: how many agents may be live; see :class:`Residency`.
        idle: seconds after which an unused agent is evicted.
        mailbox: how many jobs may wait for one agent.
        memory: how many bytes of conversations may be in memory.
    """

    def __init__(
        self,
        store: Store,
        tasks: TaskGroup,
        max_live: int = MAX_LIVE,
        idle: float = IDLE,
        mailbox: int = MAILBOX,
        memory: int = MEMORY,
    ) -> None:
        self.store = store
        # From now on it is notified of everything; what other daemons wrote while the store was opened is already
        # known.
        self.bus = EventBus(store.writer.newest, store.poller.call_soon)
        self._tasks = tasks
        self._mailbox = mailbox
        self.residency = Residency(max_live, idle, memory, self._unindex)
        # The addresses of each live agent that are certain.
        self._addresses: dict[Agent, Sequence[str]] = {}
        self._by_address: dict[str, Agent] = {}
        # Agents that must not be started for now, and what ends that.
        self._held_still: dict[int, anyio.Event] = {}
        # Agents that received jobs since the last pump. Those of a batch are pumped at its end.
        self._posted: list[Agent] = []
        self._batch = store.poller.batch
        store.writer.report(self._on_moved, self._on_loss)
        self.started = 0
        self.failed = 0
        self.repaired = 0

    def __len__(self) -> int:
        return len(self.residency)

    def get(self, address: str) -> Agent | None:
        """Return a live agent by its id or its current name."""
        agent = self._by_address.get(address)
        return None if agent is None or agent.refusal is not None else agent

    def live(self, row: int | None = None) -> list[Agent]:
        """Return the live agents, or only the one of a row if it is live."""
        if row is None:
            return [agent for agent in self.residency if agent.refusal is None]
        agent = self._live_at(row)
        return [] if agent is None else [agent]

    def _live_at(self, row: int) -> Agent | None:
        agent = self.residency.get(row)
        return None if agent is None or agent.refusal is not None else agent

    async def find(self, address: str, *, alive: bool = False) -> Agent:
        """Return an agent by its address; start it if it is not live.

        Args:
            address: its name or its id.
            alive: whether the name of a killed agent counts as free.

        Raises:
            NotFound: no agent has this address.
            Busy: the limit of live agents is reached, and none is idle.
        """
        while True:
            agent = self.get(address)
            if agent is not None:
                return agent
            profile = await self._once_free(lambda: self.store.read(queries.find, address))
            if profile is None or (alive and not profile.alive and profile.uid != address):
                raise not_found(address)
            if self.residency.get(profile.row) is None:
                self.residency.make_room()
            agent = self.start(profile)
            if not self.store.is_shared or await self._is_still(agent, profile):
                return agent

    async def _is_still(self, agent: Agent, found: Profile) -> bool:
        """Return whether an agent, now that its log has been read, is called as it was when it was found."""
        answer: Answer[Profile] = Answer()
        self.post(agent, Read(lambda state: state.profile, answer.take))
        self.pump()
        read = await answer.wait()
        return (read.name, read.alive) == (found.name, found.alive)

    def _on_moved(self, rows: frozenset[int], newest: int) -> None:
        """Drop the agents to which other daemons have written, up to an id; their subscribers read the log."""
        for agent in filter(None, map(self._live_at, rows)):
            self.residency.drop(agent)
            agent.overtake()
        self.bus.tell_elsewhere(rows)
        self.bus.newest = max(self.bus.newest, newest)

    def _on_loss(self, loss: Loss, newest: int) -> None:
        """Drop all agents, and tell all subscribers to read the log again.

        No id is ever given again, so caches by the ids of events stay right.
        """
        live = self.live()
        for agent in live:
            self.residency.drop(agent)
            agent.lose()
        self.bus.newest = newest
        loaded = [agent.committed.profile for agent in live if agent.live.state is not None]
        self.bus.tell_loss([*loaded, *loss.agents])

    def start(self, profile: Profile) -> Agent:
        """Return the live agent of a profile; its jobs wait until it has been loaded."""
        agent = self._live_at(profile.row)
        if agent is not None:
            return agent
        self.residency.evict_if_full()
        # On a server, the name may have changed hands since it was read; it is certain once the log has been read.
        return self._start(profile, profile.addresses[:1] if self.store.is_shared else profile.addresses)

    def publish_new(
        self, part: AgentWrite, first: int, origin: Conversation | None = None, turns: Mapping[int, Turn] = _NO_TURNS
    ) -> None:
        """Publish the first events of a new agent.

        Unless it is a clone, the agent is live from then on if there is room: its next command, which most get soon,
        need not read the log.

        Args:
            part: the events.
            first: the id of the first one.
            origin: the conversation that it is cloned from, which is not changed.
            turns: the states that events take over, by the numbers of the events.
        """
        # Whether somebody has found it in the database since the commit.
        is_read = self.residency.get(part.profile.row) is not None
        # Many events would hold up the event loop while they are folded.
        is_large = many_rows.are_many(len(part.events))
        if origin is not None or is_read or is_large or self.residency.is_full:
            self.bus.publish_new_agent(part.profile, part.events, first, origin or Conversation(), turns)
            return
        agent = self._start(part.profile, part.profile.addresses, State(part.profile, Conversation()))
        agent.live.apply(part, first, turns)
        self.residency.limit_memory()

    def _start(self, profile: Profile, addresses: Sequence[str], state: State | None = None) -> Agent:
        residency = self.residency
        agent = Agent(
            profile.row,
            self.store,
            self.bus,
            self._mailbox,
            residency.limit_memory,
            self.reindex,
            state,
            residency.held,
        )
        scope = residency.enter(agent)
        self._index(agent, addresses)
        self.started += 1
        self._tasks.start_soon(self._run, agent, profile, scope)
        return agent

    async def start_all(self, rows: Iterable[int]) -> list[Agent]:
        """Return the live agents of some rows, except for those that were purged."""
        profiles = [await self._profile(row) for row in sorted(rows)]
        return [self.start(profile) for profile in profiles if profile is not None]

    async def relocate(self, agent: Agent) -> Agent:
        """Return the live agent of this row: the given one may have been evicted or have failed since."""
        live = self._live_at(agent.row)
        if live is not None:
            return live
        profile = await self._profile(agent.row)
        if profile is None:
            raise gone()
        return self.start(profile)

    @contextmanager
    def hold(self, rows: Iterable[int]) -> Iterator[list[int]]:
        """Hold agents still that nobody uses or follows, without starting them; yield their rows.

        Whoever needs one of them waits until the block ends.
        """
        over, held = anyio.Event(), [row for row in rows if self._leave_alone(row)]
        self._held_still.update(dict.fromkeys(held, over))
        try:
            yield held
        finally:
            for row in held:
                del self._held_still[row]
            over.set()

    def _leave_alone(self, row: int) -> bool:
        """Evict an agent if it is live; return whether nobody uses or follows it."""
        agent = self.residency.get(row)
        if self.bus.attached(row) or not (agent is None or agent.idle):
            return False
        if agent is not None:
            self.residency.evict(agent)
        return True

    async def _profile(self, row: int) -> Profile | None:
        return await self._once_free(lambda: self.store.read(queries.profile_unless_purged, row))

    async def _once_free(self, look: Callable[[], Awaitable[Profile | None]]) -> Profile | None:
        """Return the agent that is found once nobody holds it still; it may be gone by then."""
        while (profile := await look()) is not None and profile.row in self._held_still:
            await self._held_still[profile.row].wait()
        return profile

    def remove(self, agent: Agent) -> None:
        """Drop an agent that was purged: its waiting jobs are refused, and it is no longer found."""
        self.residency.drop(agent)
        agent.end(gone())

    async def _run(self, agent: Agent, profile: Profile, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await agent.run()
            except MemoryError as error:
                agent.crash(error, [])
            finally:
                self.residency.drop(agent)
        if agent.failed:
            self.failed += 1
            log.warning("agent=%s failed and was dropped", profile.name)

    def _index(self, agent: Agent, addresses: Sequence[str]) -> None:
        self._addresses[agent] = addresses
        for address in addresses:
            self._by_address[address] = agent

    def _unindex(self, agent: Agent) -> None:
        for address in self._addresses.pop(agent, ()):
            if self._by_address.get(address) is agent:  # the name may belong to another agent by now
                del self._by_address[address]

    def reindex(self, agent: Agent) -> None:
        """Take note that an agent's log was read, or that it was renamed, killed or revived."""
        self._unindex(agent)
        if self.residency.get(agent.row) is agent:
            self._index(agent, agent.committed.profile.addresses)

    def post(self, agent: Agent, job: Job) -> None:
        """Put a job into the mailbox of an agent, which is pumped at the end of the batch, or by the caller.

        Raises:
            Busy: the mailbox is full.
        """
        agent.post(job)
        posted = self._posted
        if not posted:
            self._batch.note(self.pump)
        if not posted or posted[-1] is not agent:
            posted.append(agent)

    def pump(self) -> None:
        """Advance every agent that received a job; called once for all requests that arrived together."""
        posted, self._posted = self._posted, []
        used = time.monotonic()
        for agent in posted:
            agent.last_used = used
            agent.advance()

    def note_replay(self, *, matched: bool) -> None:
        """Count a live state that was compared with its log, if it had to be repaired."""
        self.repaired += not matched

    @property
    def waiting(self) -> int:
        """How many jobs wait in the mailboxes."""
        return sum(agent.waiting for agent in self.residency)
