"""Which agents are live: they start on first use, and retire when nobody uses them.

Names and ids of live agents are looked up here without waiting; all others in the database. A failed agent is
forgotten at once, so that the next use reads its log anew.
"""

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup

from reel.errors import Busy, ReelError
from reeld.agents.agent import MAILBOX, Agent
from reeld.agents.event_bus import Hub
from reeld.agents.mail import Look, Mail, Turn
from reeld.core.commands import not_found
from reeld.core.state import Profile
from reeld.store.store import Store

log = logging.getLogger(__name__)

# Live agents, and how long one may be idle, in seconds.
MAX_LIVE = 1000
IDLE = 600.0


class Registry:
    """Starts, finds and retires agents.

    Args:
        store: where their logs are.
        tasks: what their tasks belong to.
        max_live: when there are more, those that were used least recently retire; where none can, nobody else
            is found, but a kill takes all of an agent's clones at once.
        idle: how long an agent that nobody uses stays, in seconds.
        mailbox: how much may wait for one agent.
    """

    def __init__(
        self, store: Store, tasks: TaskGroup, max_live: int = MAX_LIVE, idle: float = IDLE, mailbox: int = MAILBOX
    ) -> None:
        self.store = store
        self.hub = Hub(store.newest)
        self._tasks = tasks
        self._max_live = max_live
        self._idle = idle
        self._mailbox = mailbox
        self._live: dict[int, Agent] = {}
        # What each is found by: its id, and its name while it lives.
        self._addresses: dict[Agent, list[str]] = {}
        self._by_address: dict[str, Agent] = {}
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._posted: list[Agent] = []
        self.started = 0
        self.failed = 0
        self.mended = 0

    def __len__(self) -> int:
        return len(self._live)

    def get(self, address: str) -> Agent | None:
        """Find a live agent by its living name or its id."""
        agent = self._by_address.get(address)
        return None if agent is None or agent.failed else agent

    def live(self, row: int | None = None) -> list[Agent]:
        """List the live agents, or the one of a row where it is live."""
        agents = self._live.values() if row is None else filter(None, [self._live.get(row)])
        return [agent for agent in agents if not agent.failed]

    async def find(self, address: str) -> Agent:
        """Find an agent, and start it where it is not live.

        Raises:
            NotFound: there is none.
            Busy: as many as may be live are at work.
        """
        agent = self.get(address)
        if agent is not None:
            return agent
        profile = await self.store.find(address)
        if profile is None:
            raise not_found(address)
        if profile.row not in self._live:
            self._make_room()
        return self.start(profile)

    def _make_room(self) -> None:
        """Let agents retire where as many are live as may be."""
        if len(self._live) < self._max_live:
            return
        self.retire(keep=self._max_live * 9 // 10)
        if len(self._live) >= self._max_live:
            raise Busy(f"{self._max_live} agents are at work at once; ask again when some of it has been answered")

    def start(self, profile: Profile) -> Agent:
        """Give the live agent of a profile; what is posted waits until it has been loaded."""
        agent = self._live.get(profile.row)
        if agent is not None and not agent.failed:
            return agent
        if len(self._live) >= self._max_live:
            self.retire(keep=self._max_live * 9 // 10)
        agent = self._live[profile.row] = Agent(profile.row, self.store, self.hub, self._mailbox)
        self._enter(agent, profile)
        self.started += 1
        self._tasks.start_soon(self._run, agent, profile)
        return agent

    async def again(self, agent: Agent) -> Agent:
        """Give the live agent of this row: the one that was found may have retired or failed since."""
        live = self._live.get(agent.row)
        if live is not None and not live.failed:
            return live
        return self.start(await self.store.profile(agent.row))

    async def _run(self, agent: Agent, profile: Profile) -> None:
        with anyio.CancelScope() as scope:
            self._scopes[agent.row] = scope
            try:
                await agent.run()
            finally:
                self._forget(agent)
        if agent.failed:
            self.failed += 1
            log.warning("agent=%s failed and was dropped", profile.name)

    def _forget(self, agent: Agent) -> None:
        if self._live.get(agent.row) is agent:
            del self._live[agent.row]
            del self._scopes[agent.row]
        self._strike(agent)

    def _enter(self, agent: Agent, profile: Profile) -> None:
        """Let an agent be found by what it is called."""
        self._addresses[agent] = [profile.uid, profile.name] if profile.alive else [profile.uid]
        for address in self._addresses[agent]:
            self._by_address[address] = agent

    def _strike(self, agent: Agent) -> None:
        """Let an agent not be found any more; what it was called may be another's by now."""
        for address in self._addresses.pop(agent, []):
            if self._by_address.get(address) is agent:
                del self._by_address[address]

    def renamed(self, agent: Agent) -> None:
        """Note that an agent's name changed, or that it died or came back to life."""
        self._strike(agent)
        self._enter(agent, agent.living.profile)

    def posted(self, agent: Agent) -> None:
        """Note that an agent has mail; :meth:`advance` sees to it."""
        agent.used = time.monotonic()
        self._posted.append(agent)

    def advance(self) -> None:
        """Let the agents that have mail go as far as they go: once for a batch of requests."""
        posted, self._posted = self._posted, []
        for agent in posted:
            agent.advance()

    async def ask(self, agent: Agent, mail: Callable[[Callable[[Any], None]], Mail]) -> Any:
        """Post mail and wait for what is answered.

        Args:
            agent: whose mailbox.
            mail: makes the mail, given where its answer goes.

        Raises:
            ReelError: what was answered is one.
        """
        answered = anyio.Event()
        outcomes: list[Any] = []

        def answer(outcome: Any) -> None:
            outcomes.append(outcome)
            answered.set()

        agent = await self.again(agent)
        agent.post(mail(answer))
        self.posted(agent)
        self.advance()
        await answered.wait()
        if isinstance(outcomes[0], ReelError):
            raise outcomes[0]
        return outcomes[0]

    @asynccontextmanager
    async def hold(self, agents: Sequence[Agent]) -> AsyncIterator[list[Agent]]:
        """Hold the turns of several agents at once, for what touches them all; give those that are held.

        Turns are taken in the order of the agents' rows, so that two holders never wait for each other.
        """
        async with AsyncExitStack() as stack:
            held: dict[int, Agent] = {}
            for agent in sorted(agents, key=lambda agent: agent.row):
                held[agent.row] = await stack.enter_async_context(self._hold(agent))
            try:
                yield [held[agent.row] for agent in agents]
            except ReelError:
                raise
            except Exception as bug:  # their states may be half of what they were to become
                for agent in held.values():
                    agent.crash(bug, [])
                raise

    @asynccontextmanager
    async def _hold(self, agent: Agent) -> AsyncIterator[Agent]:
        begun, over = anyio.Event(), anyio.Event()
        failures: list[ReelError] = []

        async def turn(_: Agent) -> None:
            begun.set()
            await over.wait()

        def answer(outcome: ReelError | None) -> None:
            if outcome is not None:
                failures.append(outcome)
            begun.set()

        agent = await self.again(agent)
        agent.post(Turn(turn, answer))
        self.posted(agent)
        self.advance()
        try:
            await begun.wait()
            if failures:
                raise failures[0]
            yield agent
        finally:
            over.set()

    def retire(self, keep: int | None = None) -> None:
        """Let go of agents that are idle: those unused for long, and the least recently used above ``keep``."""
        oldest = sorted(self._live.values(), key=lambda agent: agent.used)
        before = time.monotonic() - self._idle
        excess = 0 if keep is None else len(oldest) - keep
        for agent in oldest:
            if excess <= 0 and agent.used >= before:
                break
            if agent.idle:
                excess -= 1
                scope = self._scopes[agent.row]
                self._forget(agent)
                scope.cancel()

    async def drain(self) -> None:
        """Wait until every agent has done what it was asked for."""
        for agent in list(self._live.values()):
            with suppress(ReelError):  # who failed has nothing left to do
                await self.ask(agent, lambda answer: Look(lambda _: None, answer))
