"""The registry of live agents: they start when they are created or first used, and are evicted when idle.

Agents are virtual: any agent in the log can be addressed, live or not. Names and ids of live agents are looked up here
without awaiting; those of all others are looked up in the database. A failed agent is dropped at once, so that the next
use reads its log again.
"""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup

from reel.errors import Busy, ReelError
from reeld.agents import many_rows
from reeld.agents.agent import MAILBOX, MOST_HELD, Agent, Held
from reeld.agents.event_bus import EventBus
from reeld.agents.jobs import Exclusive, Job, Read
from reeld.core.commands import gone, not_found
from reeld.core.conversation import Conversation
from reeld.core.state import Profile, State
from reeld.store import queries
from reeld.store.elsewhere import Elsewhere, ForeignEvent
from reeld.store.loss import Loss
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite, DivergedError

log = logging.getLogger(__name__)

# Live agents, the bytes of their conversations in memory, and how many seconds one may be idle.
MAX_LIVE = 1000
MEMORY = 256 << 20
IDLE = 600.0
# The most bytes that are dropped in advance when there are too many, which takes the event loop 10 ms.
_SLACK = 16 << 20
# The share that remains after an eviction: evicting a tenth at a time sorts the live agents once per hundred starts.
_KEPT_WHEN_FULL = 0.9


class Registry:
    """Starts, finds and evicts agents.

    Args:
        store: holds their logs.
        tasks: the group that their tasks belong to.
        max_live: how many agents may be live. Beyond this limit the least recently used idle ones are evicted; if none
            is idle, no further agent is started. Only a cascading kill may exceed it, because it needs all clones at
            once.
        idle: seconds after which an unused agent is evicted.
        mailbox: how many jobs may wait for one agent.
        memory: how many bytes of conversations may be in memory. Beyond this limit the least recently used ones keep
            only their newest messages, and if that is not enough, idle agents are evicted.
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
        self._max_live = max_live
        self._idle = idle
        self._mailbox = mailbox
        self._memory = memory
        self._live: dict[int, Agent] = {}
        # What they take; a sum over all of them took longer than anything else that creating an agent does.
        self._held = Held()
        # The addresses of each live agent that are certain.
        self._addresses: dict[Agent, Sequence[str]] = {}
        self._by_address: dict[str, Agent] = {}
        self._scopes: dict[int, anyio.CancelScope] = {}
        # Agents that must not be started for now, and what ends that.
        self._held_still: dict[int, anyio.Event] = {}
        # Agents that received jobs since the last pump. Those of a batch are pumped at its end.
        self._posted: list[Agent] = []
        self._batch = store.poller.batch
        store.writer.follow(self._live.__contains__, self._on_elsewhere, self._on_loss)
        self.started = 0
        self.failed = 0
        self.repaired = 0

    def __len__(self) -> int:
        return len(self._live)

    def get(self, address: str) -> Agent | None:
        """Return a live agent by its id or its current name."""
        agent = self._by_address.get(address)
        return None if agent is None or agent.failed else agent

    def live(self, row: int | None = None) -> list[Agent]:
        """Return the live agents, or only the one of a row if it is live."""
        agents = self._live.values() if row is None else filter(None, [self._live.get(row)])
        return [agent for agent in agents if not agent.failed]

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
            if profile.row not in self._live:
                self._make_room()
            agent = self.start(profile)
            if not self.store.is_shared or await self._is_still(agent, profile):
                return agent

    async def _is_still(self, agent: Agent, found: Profile) -> bool:
        """Return whether an agent, now that its log has been read, is called as it was when it was found."""
        read: Profile = await self.ask(agent, lambda answer: Read(lambda state: state.profile, answer))
        return (read.name, read.alive) == (found.name, found.alive)

    def _on_elsewhere(self, elsewhere: Elsewhere, newest: int) -> None:
        """Take note of what other daemons have written, up to an id.

        An agent in memory folds it into its state and notifies its subscribers, as with its own events. If it cannot,
        it reads its state again before its next job, and the subscribers read the log.
        """
        news: dict[int, list[ForeignEvent]] = {}
        for foreign in elsewhere.events:
            news.setdefault(foreign.row, []).append(foreign)
        following = {row for row, events in news.items() if row in self._live and self._live[row].can_follow(events)}
        missed = elsewhere.rows - following
        for row in missed:
            self._fall_behind(row, news.get(row, []))
        self.bus.tell_elsewhere(missed)  # first: a subscriber of all agents must not get a later event before this one
        for row, event_id, event in elsewhere.events:
            if row in following:
                self._live[row].follow(event_id, event)
        self.bus.newest = max(self.bus.newest, newest)

    def _on_loss(self, loss: Loss, newest: int) -> None:
        """Drop the states of all agents, and tell all subscribers to read the log again.

        No id is ever given again, so caches by the ids of events stay right.
        """
        for agent in self.live():
            self._unindex(agent)
            agent.lose(at_once=self.bus.has_subscribers(agent.row))
        self.bus.newest = newest
        live = [agent.state.profile for agent in self.live() if agent.state is not None]
        self.bus.tell_loss([*live, *loss.agents])

    def _fall_behind(self, row: int, events: Sequence[ForeignEvent]) -> None:
        """Take note that other daemons have written events that an agent cannot fold into its state."""
        agent = self._live.get(row)
        is_followed = self.bus.has_subscribers(row)
        if agent is not None:
            self._unindex(agent)  # it may have been renamed or killed: the next look-up asks the database
            agent.fall_behind(events, at_once=is_followed)
        elif is_followed and len(self._live) < self._max_live:
            self._tasks.start_soon(self._start_followed, row)  # so that it can follow what comes next

    async def _start_followed(self, row: int) -> None:
        with suppress(ReelError):  # the log has everything
            await self.start_all([row])

    def _make_room(self) -> None:
        if len(self._live) < self._max_live:
            return
        self.evict(keep=int(self._max_live * _KEPT_WHEN_FULL))
        if len(self._live) >= self._max_live:
            raise Busy(f"{self._max_live} agents are at work at once; retry when some of them are done")

    def start(self, profile: Profile) -> Agent:
        """Return the live agent of a profile; its jobs wait until it has been loaded."""
        agent = self._live.get(profile.row)
        if agent is not None and not agent.failed:
            return agent
        if len(self._live) >= self._max_live:
            self.evict(keep=int(self._max_live * _KEPT_WHEN_FULL))
        # On a server, the name may have changed hands since it was read; it is certain once the log has been read.
        return self._start(profile, profile.addresses[:1] if self.store.is_shared else profile.addresses)

    def publish_new(self, part: AgentWrite, first: int, origin: Conversation | None = None) -> None:
        """Publish the first events of a new agent.

        Unless it is a clone, the agent is live from then on if there is room: its next command, which most get soon,
        need not read the log.

        Args:
            part: the events.
            first: the id of the first one.
            origin: the conversation that it is cloned from, which is not changed.
        """
        is_read = part.profile.row in self._live  # somebody has found it in the database since the commit
        # Many events would hold up the event loop while they are folded.
        is_large = many_rows.are_many(part.events)
        if origin is not None or is_read or is_large or len(self._live) >= self._max_live:
            self.bus.publish_new_agent(part.profile, part.events, first, origin or Conversation())
            return
        agent = self._start(part.profile, part.profile.addresses, State(part.profile, Conversation()))
        agent.apply(part, first)
        self.limit_memory()

    def _start(self, profile: Profile, addresses: Sequence[str], state: State | None = None) -> Agent:
        agent = Agent(
            profile.row, self.store, self.bus, self._mailbox, self.limit_memory, self.reindex, state, self._held
        )
        self._live[profile.row] = agent
        self._index(agent, addresses)
        self.started += 1
        # Made here and not by the task: a new agent may be evicted before its task begins.
        self._scopes[profile.row] = scope = anyio.CancelScope()
        self._tasks.start_soon(self._run, agent, profile, scope)
        return agent

    async def start_all(self, rows: Iterable[int]) -> list[Agent]:
        """Return the live agents of some rows, except for those that were purged."""
        profiles = [await self._profile(row) for row in sorted(rows)]
        return [self.start(profile) for profile in profiles if profile is not None]

    async def relocate(self, agent: Agent) -> Agent:
        """Return the live agent of this row: the given one may have been evicted or have failed since."""
        live = self._live.get(agent.row)
        if live is not None and not live.failed:
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
        agent = self._live.get(row)
        if self.bus.attached(row) or not (agent is None or agent.idle):
            return False
        if agent is not None:
            self._evict(agent)
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
        self._drop(agent)
        agent.end(gone())

    async def _run(self, agent: Agent, profile: Profile, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await agent.run()
            except MemoryError as error:
                agent.crash(error, [])
            finally:
                self._drop(agent)
        if agent.failed and not agent.purged:
            self.failed += 1
            log.warning("agent=%s failed and was dropped", profile.name)

    def _drop(self, agent: Agent) -> None:
        if self._live.get(agent.row) is agent:
            del self._live[agent.row]
            del self._scopes[agent.row]
            self.store.writer.behind.pop(agent.row, None)
        agent.leave()
        self._unindex(agent)

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
        if self._live.get(agent.row) is agent and not agent.is_behind:
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

    async def ask(self, agent: Agent, make_job: Callable[[Callable[[Any], None]], Job]) -> Any:
        """Post a job and wait for its result.

        Args:
            agent: whose mailbox.
            make_job: returns the job; its argument takes the job's outcome.

        Raises:
            ReelError: the job failed with it.
        """
        answered = anyio.Event()
        outcomes: list[Any] = []

        def answer(outcome: Any) -> None:
            outcomes.append(outcome)
            answered.set()

        self.post(await self.relocate(agent), make_job(answer))
        self.pump()
        await answered.wait()
        if isinstance(outcomes[0], ReelError):
            raise outcomes[0]
        return outcomes[0]

    @asynccontextmanager
    async def lock(self, agents: Sequence[Agent]) -> AsyncIterator[list[Agent]]:
        """Lock several agents for a command that changes them all; yield the locked agents.

        Locks are taken in the order of the agents' rows, so that two commands never wait for each other.
        """
        async with AsyncExitStack() as stack:
            locked: dict[int, Agent] = {}
            for agent in sorted(agents, key=lambda agent: agent.row):
                locked[agent.row] = await stack.enter_async_context(self._lock(agent))
            try:
                yield [locked[agent.row] for agent in agents]
            except ReelError:
                raise
            except Exception as error:
                for agent in locked.values():
                    if isinstance(error, DivergedError) and self.store.is_shared:
                        agent.fall_behind()
                    else:
                        agent.crash(error, [])  # the states may be half changed
                raise

    @asynccontextmanager
    async def _lock(self, agent: Agent) -> AsyncIterator[Agent]:
        begun, over = anyio.Event(), anyio.Event()
        failures: list[ReelError] = []

        async def hold(_: Agent) -> None:
            begun.set()
            await over.wait()

        def answer(outcome: ReelError | None) -> None:
            if outcome is not None:
                failures.append(outcome)
            begun.set()

        agent = await self.relocate(agent)
        self.post(agent, Exclusive(hold, answer))
        self.pump()
        try:
            await begun.wait()
            if failures:
                raise failures[0]
            yield agent
        finally:
            over.set()

    def evict(self, keep: int | None = None) -> None:
        """Drop idle agents: those unused for long, and the least recently used beyond ``keep``."""
        oldest = sorted(self._live.values(), key=lambda agent: agent.last_used)
        before = time.monotonic() - self._idle
        excess = 0 if keep is None else len(oldest) - keep
        for agent in oldest:
            if excess <= 0 and agent.last_used >= before:
                break
            if agent.idle:
                excess -= 1
                self._evict(agent)

    def _evict(self, agent: Agent) -> None:
        scope = self._scopes[agent.row]
        self._drop(agent)  # first, so that nobody finds it; then end its task
        scope.cancel()

    @property
    def size(self) -> int:
        """About how many bytes of conversations are in memory."""
        return self._held.bytes

    def has_room_for(self, conversation: Conversation) -> bool:
        """Return whether a conversation from the log may be kept in memory: it takes half of the room at most."""
        return conversation.size <= self._memory // 2 and len(conversation.entries) <= MOST_HELD

    @property
    def waiting(self) -> int:
        """How many jobs wait in the mailboxes."""
        return sum(agent.waiting for agent in self._live.values())

    def limit_memory(self) -> None:
        """Drop the least recently used conversations, if too much is in memory."""
        excess = self.size - self._memory
        if excess <= 0:
            return
        excess += min(self._memory // 10, _SLACK)  # one check covers many commits
        oldest = sorted(self._live.values(), key=lambda agent: agent.last_used)
        for agent in oldest:
            before = agent.size
            agent.shrink()
            excess -= before - agent.size
            if excess <= 0:
                return
        for agent in oldest[:-1]:
            if agent.idle:
                excess -= agent.size
                self._evict(agent)
            if excess <= 0:
                return

    async def drain(self) -> None:
        """Wait until every agent has done all of its jobs."""
        for agent in list(self._live.values()):
            with suppress(ReelError):  # a failed agent has nothing left to do
                await self.ask(agent, lambda answer: Read(lambda _: None, answer))
