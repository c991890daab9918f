"""One command on several agents: all of its parts are written, or none.

All agents are locked first: :meth:`Registry.lock` takes them in the order of their rows, so two such commands never
deadlock. Each part is staged over the result of the parts before it. The committed state does not change until the one
transaction commits, so a refused part leaves nothing to roll back. In the log of each agent the parts are ordinary
commands; consecutive additions are one command.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from reel.errors import Exists, InvalidMessage, InvalidParams, NotFound, ReelError
from reeld.agents.agent import Agent, now, write
from reeld.agents.creation import AgentFactory, short_name, taken
from reeld.agents.exclusive import Addition, require_values, stage_rows
from reeld.agents.idempotency import CommandOptions, first_reply, key_row
from reeld.agents.many_rows import prepare
from reeld.agents.packing import loop_packer
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.commands import Reply, Stage
from reeld.core.conversation import Conversation, Takeover
from reeld.core.state import State
from reeld.core.validation import why_not_a_name
from reeld.store.transactions import AgentWrite, Transaction

# How often a command is staged again after a name was taken concurrently.
_TRIES = 20
# The only fields of a result. None of them is content: the reply is stored with the key, and an erasure looks only at
# the keys of its own agent.
_TOLD = frozenset(
    {
        *("agent", "name", "head", "command", "time", "first", "seqs", "known", "dropped", "was"),
        *("replaced", "numbers_as_text"),
    }
)


class New(NamedTuple):
    """How a missing agent is created; with ``must_be_new`` it is an error if it exists."""

    title: str | None = None
    tags: dict[str, str] | None = None
    system: str | None = None
    must_be_new: bool = False


class Target:
    """An agent that is written to.

    Args:
        stage: what is written.
        state: the state that it is staged over.
        agent: the agent; ``None`` if it is made.
        new: what it is made with.
    """

    def __init__(self, stage: Stage, state: State, agent: Agent | None, new: New | None = None) -> None:
        self.stage = stage
        self.state = state
        self.agent = agent
        self.new = new
        # The seq of a command that further parts can add to.
        self.command: int | None = None
        # The state that it takes over, if that is not in memory.
        self.past: Takeover | None = None
        self.is_changed = False
        # The references that are added.
        self.refs: set[str] = set()

    @property
    def row(self) -> int:
        """Its number in the database."""
        return self.state.profile.row

    @property
    def write(self) -> AgentWrite:
        """What is committed."""
        is_new = self.agent is None
        return AgentWrite(self.stage.profile, self.stage.events, is_new, self.is_changed and not is_new)


# Stages what a part writes; returns its result.
Put: TypeAlias = Callable[["Together", Target], Awaitable[Reply]]


class Part(NamedTuple):
    """A command on one agent, as a part of one on several.

    Args:
        address: the agent's name or id; ``None`` for a new agent with a short name.
        put: stages what it writes.
        if_seq: the head that the agent must have before the whole command.
        new: what the agent is made with if it is missing; ``None`` if it must be there.
    """

    address: str | None
    put: Put
    if_seq: int | None = None
    new: New | None = None


class _NameTaken(Exists):
    """A name was taken while the command was staged."""


class Together:
    """A command on several agents.

    Args:
        registry: finds the agents.
        factory: makes those that are missing.
        options: the command's.
        parts: what it does, in this order.
    """

    def __init__(
        self, registry: Registry, factory: AgentFactory, options: CommandOptions, parts: Sequence[Part]
    ) -> None:
        self.store = registry.store
        self._registry = registry
        self._factory = factory
        self._options = options
        self._parts = parts
        # The names that it gives, and the agents that it creates, by name.
        self._names: set[str] = set()
        self._made: dict[str, Target] = {}

    async def commit(self) -> Reply:
        """Write all parts in one transaction.

        Raises:
            ReelError: nothing was written; ``data`` has the number of the part that was refused, if it was one.
        """
        for _ in range(_TRIES - 1):
            try:
                return await self._try()
            except _NameTaken:  # staged again, the part that wants the name is refused with a remedy
                continue
        return await self._try()

    async def claim(self, target: Target, name: str) -> None:
        """Give an agent another name.

        Raises:
            Exists: another one has it.
        """
        if name == target.stage.base.name:
            return
        if name in self._names:
            raise taken(name)
        found = await self.store.find(name)
        if found is not None and found.alive and found.row != target.row:
            raise taken(name)
        self._names.add(name)

    async def _try(self) -> Reply:
        self._names, self._made = set(), {}
        found = [await self._find(number, part) for number, part in enumerate(self._parts)]
        agents = {agent.row: agent for agent in found if agent is not None}
        async with self._registry.lock(list(agents.values())) as locked:
            held = {agent.row: agent for agent in locked}
            targets = self._targets([None if agent is None else held[agent.row] for agent in found])
            results = []
            for number, (part, target) in enumerate(zip(self._parts, targets, strict=True)):
                with in_part(number):
                    result = await part.put(self, target)
                results.append({name: value for name, value in result.items() if name in _TOLD})
            return await self._commit(list(dict.fromkeys(targets)), results)

    async def _find(self, number: int, part: Part) -> Agent | None:
        """Return the agent of a part; ``None`` if this part, or one before it, creates the agent."""
        address, new = part.address, part.new
        if address is None:
            return None
        with in_part(number):
            must_be_new = new is not None and new.must_be_new
            if address in self._names:
                if must_be_new:
                    raise taken(address)
                return None
            if must_be_new:
                await self._factory.require_free(address)
            else:
                try:
                    return await self._registry.find(address, alive=new is not None)
                except NotFound:
                    if new is None:
                        raise
            if (problem := why_not_a_name(address)) is not None:
                raise InvalidParams(f"agent: {problem}", field="agent")
        self._names.add(address)
        return None

    def _targets(self, agents: list[Agent | None]) -> list[Target]:
        """Return what each part writes to; parts of one agent share it."""
        time = now()
        there: dict[int, Target] = {}
        targets = []
        for number, (part, agent) in enumerate(zip(self._parts, agents, strict=True)):
            if agent is None:
                target = self._new(part, time)
            elif agent.row in there:
                target = there[agent.row]
            else:
                target = there[agent.row] = Target(self._stage(agent.committed, time), agent.committed, agent)
            with in_part(number):
                target.stage.require_head(part.if_seq)
            targets.append(target)
        for target in self._made.values():
            new = target.new or New()
            made = commands.create(target.stage, new.system)
            target.command = None if new.must_be_new else made["command"]
        return targets

    def _new(self, part: Part, time: int) -> Target:
        name, new = part.address or short_name(), part.new or New()
        if name not in self._made:
            state = State(self._factory.new_profile(name, new.title, new.tags), Conversation())
            self._made[name] = Target(self._stage(state, time), state, None, new)
        return self._made[name]

    def _stage(self, state: State, time: int) -> Stage:
        stage = Stage(state, time, loop_packer.pack)
        stage.client = self._options.client
        return stage

    async def _commit(self, targets: list[Target], results: list[Reply]) -> Reply:
        """Commit what is staged; the reply names the command of the first agent that has one."""
        key = self._options.key
        written = [target for target in targets if target.stage.events]
        head = (written or targets)[0].stage
        reply: Reply = {"agent": head.base.uid, "head": head.head, "results": results}
        if not written:
            return await first_reply(self.store, key) or reply
        first = head.events[0]
        reply |= {"command": first.command, "time": first.time}
        keys = [] if key is None else [key_row(key, written[0].row, reply, first.command)]
        writes = [target.write for target in written]

        def on_commit(firsts: list[int]) -> None:
            for target, part, first in zip(written, writes, firsts, strict=True):
                if target.agent is None:
                    self._registry.publish_new(part, first)
                else:
                    target.agent.apply(part, first, target.past)
                    if target.is_changed:
                        self._registry.reindex(target.agent)

        try:
            reads = frozenset(target.row for target in targets)
            await write(self.store, await prepare(self.store, Transaction(writes, keys, reads=reads)), on_commit)
        except Exists as error:
            raise _NameTaken(error.message) from None
        return reply


@contextmanager
def in_part(number: int) -> Iterator[None]:
    """Say in an error which part was refused."""
    try:
        yield
    except ReelError as error:
        raise type(error)(f"parts[{number}]: {error.message}", **{**error.data, "part": number}) from None


async def create(_together: Together, target: Target) -> Reply:
    """Report the new agent, which is created before all parts."""
    return target.stage.reply(1, name=target.stage.base.name)


async def add(together: Together, target: Target, added: Addition) -> Reply:
    """Stage messages or items."""
    if added.begin is not None and target.agent is None:
        name = target.stage.base.name
        raise NotFound(f"no agent {name}, and so no message {added.begin} to replace; add without from", agent=name)
    if added.begin is not None and target.stage.events:
        raise InvalidParams("from: only the first part of an agent may replace messages", field="from")
    for ref, index in added.refs.items():
        if ref in target.refs:
            why = f"a part before has {ref!r} already; give each its own"
            raise InvalidMessage(f"messages[{index}].ref: {why}", index=index, field="ref")
    target.refs.update(added.refs)
    if target.agent is None:  # it has no past
        require_values(target.stage, added.expected, {})
        added = added._replace(refs={}, expected=())
    reply, past = await stage_rows(together.store, target.state, target.stage, added, target.command)
    target.past = past or target.past
    target.command = reply.get("command", target.command)
    return reply


async def change(
    together: Together, target: Target, name: str | None, title: str | None, tags: dict[str, str] | None
) -> Reply:
    """Stage another name, title or tags."""
    if name is not None:
        await together.claim(target, name)
    changed = commands.change(target.stage, name, title, tags)
    target.command, target.is_changed = None, True
    return target.stage.reply(changed["command"])
