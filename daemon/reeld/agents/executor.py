"""Executes commands: the one place that locks, stages, commits, applies, remembers the key and begins again.

A :class:`Command` is a value: the agents that it is about, and a function that stages what it writes to them. The
agents are locked while it looks things up and stages. Nothing in memory changes before the one transaction commits, so
a refused command leaves nothing to roll back.

A command on one agent that only moves the tip forward needs none of this: it is a ``Write`` in the agent's mailbox, and
shares a transaction with those around it (:mod:`reeld.agents.agent`).
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

from reel.base.errors import Exists
from reel.base.ids import new_id
from reel.base.light_typing import NamedTuple
from reeld.agents.agent import Agent
from reeld.agents.asking import ask, lock
from reeld.agents.clock import now
from reeld.agents.idempotency import CommandOptions, first_reply, key_row
from reeld.agents.jobs import Exclusive
from reeld.agents.many_rows import are_many, prepare
from reeld.agents.packing import loop_packer
from reeld.agents.registry import Registry
from reeld.core.conversation import Conversation, Takeover
from reeld.core.path import Turn
from reeld.core.stage import Reply, Stage
from reeld.core.state import Profile, Source, State
from reeld.store import queries
from reeld.store.erasures import Decision
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite, Family, Transaction

# No vowels, so that no name spells a word, and no characters that look alike.
_LETTERS = "bcdfghjkmnpqrstvwxz23456789"
_SHORT = 5
# Attempts while other commands take the names that this one gives. With 27^5 short names even a second one is rare; the
# last one takes a long name.
_TRIES = 20


class _NameTaken(Exists):
    """Another command took a name after this one had found it free."""


class Target:
    """An agent that is written to.

    Args:
        stage: what is written.
        state: the state that it is staged over.
        agent: the agent; ``None`` if it is made.
        origin: the conversation that a new agent is cloned from.
    """

    def __init__(self, stage: Stage, state: State, agent: Agent | None, origin: Conversation | None = None) -> None:
        self.stage = stage
        self.state = state
        self.agent = agent
        self.origin = origin
        # The states that its events take over, by their numbers, if those are not in memory.
        self.turns: dict[int, Turn] = {}
        # Whether its name, title, tags or death change.
        self.is_changed = False
        # The seq of a command that more rows can be added to, and the references that it adds.
        self.command: int | None = None
        self.refs: set[str] = set()

    def take_over(self, past: Takeover) -> None:
        """Note the state that its first event takes over."""
        self.turns[0] = Turn(past)

    @property
    def row(self) -> int:
        """Its number in the database."""
        return self.state.profile.row

    @property
    def profile(self) -> Profile:
        """Its profile as it will be."""
        return self.stage.profile

    @property
    def write(self) -> AgentWrite:
        """What is committed."""
        is_new = self.agent is None
        return AgentWrite(self.stage.profile, self.stage.events, is_new, self.is_changed and not is_new)


class Work:
    """One attempt to execute a command.

    Args:
        registry: has the agents.
        options: the command's.
        agents: those that are locked.
        is_last: whether there is no further attempt.
    """

    def __init__(self, registry: Registry, options: CommandOptions, agents: Sequence[Agent], *, is_last: bool) -> None:
        self.registry = registry
        self.store = registry.store
        self.options = options
        self.agents = agents
        # All clones of the first agent, if the command depends on these: another one makes the commit fail.
        self.family: Family | None = None
        self._is_last = is_last
        self._time = now()
        self._targets: list[Target] = []
        # The names that it gives.
        self._names: set[str] = set()

    def target(self, agent: Agent) -> Target:
        """Return what is written to a locked agent; the first target with events has the key."""
        for target in self._targets:
            if target.agent is agent:
                return target
        return self._add(agent.committed, agent)

    def alone(self) -> Target:
        """Return what is written to the first agent, whose head is the one that the command may expect.

        Raises:
            Conflict: it has another head.
        """
        target = self.target(self.agents[0])
        target.stage.require_head(self.options.if_seq)
        return target

    def create(
        self,
        name: str,
        title: str | None = None,
        tags: dict[str, str] | None = None,
        source: Source | None = None,
        origin: Conversation | None = None,
    ) -> Target:
        """Return what is written to an agent that is made, as a clone of this conversation if there is one."""
        head, above = (0, 0) if source is None else (source.at, source.row)
        row = self.store.new_row(above)
        profile = Profile(row, new_id(), name, title, tags or {}, source, self._time, self._time, None, head)
        return self._add(State(profile, origin or Conversation()), None, origin)

    def _add(self, state: State, agent: Agent | None, origin: Conversation | None = None) -> Target:
        stage = Stage(state, self._time, loop_packer.pack)
        stage.client = self.options.client
        target = Target(stage, state, agent, origin)
        self._targets.append(target)
        return target

    async def claim(self, name: str | None, row: int | None = None) -> str:
        """Return the name for an agent; ``None`` asks for a short one that is probably free.

        Args:
            name: the name.
            row: the agent, if it exists.

        Raises:
            Exists: another agent that is alive has it, or this command gives it to another one.
        """
        if name is None:
            return new_id()[:16] if self._is_last else short_name()
        if name in self._names:
            raise taken(name)
        await require_free(self.store, name, row)
        self._names.add(name)
        return name

    def give(self, name: str) -> None:
        """Take note that an agent gets a name that is known to be free."""
        self._names.add(name)

    async def commit(self, reply: Reply, decision: Decision | None = None) -> Reply:
        """Write what is staged for all targets, or nothing; return the reply, with the command and its time.

        If there is nothing to write, the command may have been carried out before, under the same key.

        Args:
            reply: the reply, which is stored with the key.
            decision: the erasure that the command decides.
        """
        key = self.options.key
        written = [target for target in self._targets if target.stage.events]
        if not written:
            return await first_reply(self.store, key) or reply
        first = written[0].stage.events[0]
        reply = {**reply, "command": first.command, "time": first.time}
        keys = [] if key is None else [key_row(key, written[0].row, reply, first.command)]
        writes = [target.write for target in written]
        # What is read of the others counts, too: one that needs no kill, because it is dead, may have been revived.
        reads = frozenset(agent.row for agent in self.agents).difference(target.row for target in written)

        def on_commit(firsts: list[int]) -> None:
            for target, part, first in zip(written, writes, firsts, strict=True):
                self._apply(target, part, first)

        transaction = Transaction(writes, keys, reads=reads, family=self.family, decision=decision)
        # A family is queued without awaiting anything, so that no clone can act in between.
        if self.family is None and are_many(sum(len(part.events) for part in writes)):
            transaction = await prepare(self.store, transaction)
        for agent in self.agents:
            if agent.refusal is not None:  # it is not live any more, so this is staged over an outdated state
                raise agent.refusal
        try:
            await self.store.writer.commit(transaction, on_commit)
        except Exists as error:
            raise _NameTaken(error.message) from None
        return reply

    def _apply(self, target: Target, part: AgentWrite, first: int) -> None:
        if target.agent is None:
            self.registry.publish_new(part, first, target.origin, target.turns)
            return
        target.agent.live.apply(part, first, target.turns)
        if target.is_changed:
            self.registry.reindex(target.agent)


# Returns the rows of further agents to lock.
More: TypeAlias = Callable[[Work], Awaitable[set[int]]]


async def _nobody(_: Work) -> set[int]:
    return set()


class Command(NamedTuple):
    """A command as a value.

    Args:
        stage: stages it, and returns its reply; it may look things up.
        agents: those that it is about, all of which are locked.
        resolve: finds them instead, for each attempt.
        more: returns the rows of further agents to lock, which are found once the first ones are.
    """

    stage: Callable[[Work], Awaitable[Reply]]
    agents: Sequence[Agent] = ()
    resolve: Callable[[], Awaitable[Sequence[Agent]]] | None = None
    more: More = _nobody


async def execute(registry: Registry, options: CommandOptions, command: Command) -> Reply:
    """Execute a command, again if another one takes a name that it gives.

    Raises:
        ReelError: it was refused, and nothing was written.
    """
    for _ in range(_TRIES - 1):
        try:
            return await _attempt(registry, options, command)
        except _NameTaken:
            continue
    return await _attempt(registry, options, command, is_last=True)


async def _attempt(registry: Registry, options: CommandOptions, command: Command, *, is_last: bool = False) -> Reply:
    found = command.agents if command.resolve is None else await command.resolve()
    agents = list({agent.row: agent for agent in found}.values())  # one that is named twice is locked once
    if len(agents) == 1 and command.more is _nobody:
        reply: Reply = await ask(registry, agents[0], partial(job, registry, options, command, is_last=is_last))
        return reply
    async with locked(registry, options, agents, command.more, is_last=is_last) as work:
        return await work.commit(await command.stage(work))


@asynccontextmanager
async def locked(
    registry: Registry, options: CommandOptions, agents: Sequence[Agent], more: More, *, is_last: bool = False
) -> AsyncIterator[Work]:
    """Lock agents, and all others that are found once these are locked, for the length of the block."""
    found = list(agents)
    while True:
        async with lock(registry, found) as held:
            work = Work(registry, options, held, is_last=is_last)
            missing = (await more(work)).difference(agent.row for agent in held)
            others = await registry.start_all(missing)
            if not others:
                yield work
                return
        found += others


def job(
    registry: Registry,
    options: CommandOptions,
    command: Command,
    answer: Callable[[Any], None],
    *,
    is_last: bool = False,
) -> Exclusive:
    """Return the job of a command on one agent, which its own task does: nobody has to wait for it."""

    async def run(agent: Agent) -> Reply:
        work = Work(registry, options, [agent], is_last=is_last)
        return await work.commit(await command.stage(work))

    return Exclusive(run, answer)


def short_name() -> str:
    """Return a name for an agent that has none; it may be taken."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_SHORT))


async def require_free(store: Store, name: str, row: int | None = None) -> None:
    """Refuse a name that another live agent has; the database's unique index has the last word."""
    if await row_named(store, name) not in (None, row):
        raise taken(name)


async def row_named(store: Store, name: str) -> int | None:
    """Return the row of the live agent with a name."""
    found = await store.read(queries.find, name)
    return None if found is None or not found.alive else found.row


def taken(name: str) -> Exists:
    """Return the error for a name that a live agent has."""
    return Exists(f"agent {name} exists already; choose another name, or continue with that agent", agent=name)
