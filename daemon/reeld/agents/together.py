"""One command on several agents: all of its parts are written, or none.

Each part is staged over the result of the parts before it. In the log of each agent the parts are ordinary commands;
consecutive additions are one command.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from reel.base.errors import InvalidParams, NotFound, ReelError
from reel.base.light_typing import NamedTuple
from reeld.agents import adding, appending
from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.executor import Command, Target, Work, job, require_free, short_name, taken
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Exclusive, Write
from reeld.agents.many_rows import are_many
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.stage import Reply, Stage
from reeld.core.stretch import Stretch
from reeld.core.superseding import has_results
from reeld.core.validation import why_not_a_name
from reeld.protocol.params import Change

# The only fields of a result. None of them is content: the reply is stored with the key, and an erasure looks only at
# the keys of its own agent.
_TOLD = frozenset(
    {
        *("agent", "name", "head", "command", "time", "first", "seqs", "known", "dropped", "was"),
        *("replaced", "numbers_as_text", "late"),
    }
)


class New(NamedTuple):
    """How a missing agent is created; with ``must_be_new`` it is an error if it exists."""

    title: str | None = None
    tags: dict[str, str] | None = None
    system: str | None = None
    must_be_new: bool = False


# Called with the row of an agent.
OnStaged: TypeAlias = Callable[[int], None]
# Stages what a part writes; returns its result.
Put: TypeAlias = Callable[[Work, Target], Awaitable[Reply]]


class Part(NamedTuple):
    """A command on one agent, as a part of one on several.

    Args:
        address: the agent's name or id; ``None`` for a new agent with a short name.
        put: stages what it writes.
        if_seq: the head that the agent must have before the whole command.
        new: what the agent is made with if it is missing; ``None`` if it must be there.
        plain: what it adds, if that is all that it does, and plain.
    """

    address: str | None
    put: Put
    if_seq: int | None = None
    new: New | None = None
    plain: Addition | None = None


class Together:
    """A command on several agents.

    Args:
        registry: finds the agents.
        parts: what it does, in this order.
    """

    def __init__(self, registry: Registry, parts: Sequence[Part]) -> None:
        self._registry = registry
        self._parts = parts
        # For each part the row of its agent; ``None`` if this part, or one before it, creates the agent.
        self._rows: list[int | None] = []

    @property
    def command(self) -> Command:
        """The command."""
        return Command(self._stage, resolve=self._resolve)

    def alone(self) -> Agent | None:
        """Return the one live agent to which all parts only add what is plain; ``None`` for any other command."""
        addresses = {part.address for part in self._parts}
        address = addresses.pop() if len(addresses) == 1 else None
        agent = None if address is None else self._registry.get(address)
        plain = [part.plain for part in self._parts if part.plain is not None]
        if agent is None or len(plain) < len(self._parts) or are_many(sum(len(added.rows) for added in plain)):
            return None
        # What may have to be looked for in the log is in the first part: nothing is staged before it.
        return None if any(has_results(added.rows) or added.looks_up for added in plain[1:]) else agent

    def write(self, options: CommandOptions, agent: Agent, answer: Callable[[Any], None], on_staged: OnStaged) -> Write:
        """Return the job of a command that is about an agent :meth:`alone`.

        Args:
            options: the command's.
            agent: the agent.
            answer: takes the reply or the error.
            on_staged: called with the agent's row, once the command can no longer be refused.
        """
        self._rows = [agent.row] * len(self._parts)

        def stage_parts(stage: Stage) -> Reply:
            for number, part in enumerate(self._parts):
                with in_part(number):
                    stage.require_head(part.if_seq)
            results: list[Reply] = []
            command = None
            for number, part in enumerate(self._parts):
                assert part.plain is not None, "alone() sees to it"  # noqa: S101 - as it says
                with in_part(number):
                    results.append(adding.put_plain(self._registry.store, stage, part.plain, command))
                command = results[0]["command"]
            on_staged(agent.row)
            first = results[0]
            told = {"agent": first["agent"], "head": stage.head, "results": [_told(result) for result in results]}
            return {**told, "command": first["command"], "time": first["time"]}

        async def stage_apart(work: Work) -> Reply:
            reply = await self._stage(work)
            on_staged(agent.row)
            return reply

        def apart() -> Exclusive:
            return job(self._registry, options, Command(stage_apart), answer)

        return Write(stage_parts, options, answer, apart)

    async def _resolve(self) -> Sequence[Agent]:
        names: set[str] = set()
        found = [await self._find(number, part, names) for number, part in enumerate(self._parts)]
        self._rows = [None if agent is None else agent.row for agent in found]
        return list({agent.row: agent for agent in found if agent is not None}.values())

    async def _find(self, number: int, part: Part, names: set[str]) -> Agent | None:
        """Return the agent of a part; ``names`` are those of the agents that the parts before it create."""
        address, new = part.address, part.new
        if address is None:
            return None
        with in_part(number):
            must_be_new = new is not None and new.must_be_new
            if address in names:
                if must_be_new:
                    raise taken(address)
                return None
            if must_be_new:
                await require_free(self._registry.store, address)
            else:
                try:
                    return await self._registry.find(address, alive=new is not None)
                except NotFound:
                    if new is None:
                        raise
            if (problem := why_not_a_name(address)) is not None:
                raise InvalidParams(f"agent: {problem}", field="agent")
        names.add(address)
        return None

    async def _stage(self, work: Work) -> Reply:
        targets = self._targets(work)
        results = []
        for number, (part, target) in enumerate(zip(self._parts, targets, strict=True)):
            with in_part(number):
                result = await part.put(work, target)
            results.append(_told(result))
        head = next((target for target in targets if target.stage.events), targets[0]).stage
        return {"agent": head.base.uid, "head": head.head, "results": results}

    def _targets(self, work: Work) -> list[Target]:
        """Return what each part writes to; parts of one agent share it."""
        held = {agent.row: agent for agent in work.agents}
        made: dict[str, tuple[Target, New]] = {}
        targets = []
        for number, (part, row) in enumerate(zip(self._parts, self._rows, strict=True)):
            if row is not None:
                target = work.target(held[row])
            else:
                name, new = part.address or short_name(), part.new or New()
                if name not in made:
                    work.give(name)
                    made[name] = work.create(name, new.title, new.tags), new
                target, _ = made[name]
            with in_part(number):
                target.stage.require_head(part.if_seq)
            targets.append(target)
        for target, new in made.values():
            begun = commands.create(target.stage, new.system)
            target.command = None if new.must_be_new else begun["command"]
        return targets


def _told(result: Reply) -> Reply:
    return {name: value for name, value in result.items() if name in _TOLD}


@contextmanager
def in_part(number: int) -> Iterator[None]:
    """Say in an error which part was refused."""
    try:
        yield
    except ReelError as error:
        raise type(error)(f"parts[{number}]: {error.message}", **{**error.data, "part": number}) from None


async def create(_: Work, target: Target) -> Reply:
    """Report the new agent, which is created before all parts."""
    return target.stage.reply(1, name=target.stage.base.name)


async def add(work: Work, target: Target, added: Addition) -> Reply:
    """Stage messages or items."""
    return await adding.put(work.store, target, added)


async def append(work: Work, target: Target, stretch: Stretch) -> Reply:
    """Stage a stretch of a log."""
    reply = await appending.put(work, target, stretch)
    target.command = None
    return reply


async def change(work: Work, target: Target, asked: Change) -> Reply:
    """Stage another name, title or tags."""
    if asked.name not in (None, target.profile.name):
        await work.claim(asked.name, target.row)
    changed = commands.change(target.stage, *asked)
    target.command, target.is_changed = None, True
    return target.stage.reply(changed["command"])
