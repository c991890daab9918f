"""Creating agents: with a system prompt, with their first messages, or as a clone of another."""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from reel.errors import Exists
from reel.ids import new_id
from reeld.agents import exclusive, many_rows
from reeld.agents.agent import Agent, now, write
from reeld.agents.exclusive import Addition, state_at
from reeld.agents.idempotency import CommandOptions, key_row
from reeld.agents.jobs import Exclusive, Write
from reeld.agents.packing import loop_packer
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.commands import Reply, Stage
from reeld.core.conversation import Conversation
from reeld.core.state import Profile, Source, State, info
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite, Transaction

# No vowels, so that no name spells a word, and no characters that look alike.
_LETTERS = "bcdfghjkmnpqrstvwxz23456789"
_SHORT = 5
# Attempts to find a free short name before falling back to a long one; with 27^5 names even a second attempt is rare.
_TRIES = 20


def short_name() -> str:
    """Return a name for an agent that has none; it may be taken."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_SHORT))


class AgentFactory:
    """Creates agents.

    Args:
        registry: finds live agents.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store: Store = registry.store

    def new_profile(
        self, name: str, title: str | None, tags: dict[str, str] | None, source: Source | None = None
    ) -> Profile:
        """Return the profile of an agent that does not exist yet."""
        head = 0 if source is None else source.at
        time = now()
        row = self._store.new_row(0 if source is None else source.row)
        return Profile(row, new_id(), name, title, tags or {}, source, time, time, None, head)

    async def create(
        self,
        options: CommandOptions,
        name: str | None,
        system: str | None = None,
        title: str | None = None,
        tags: dict[str, str] | None = None,
    ) -> Reply:
        """Create an agent, with a system prompt if there is one.

        Args:
            options: the command's.
            name: its name; ``None`` for a short one that is free.
            system: its system prompt.
            title: its title.
            tags: its tags.

        Raises:
            Exists: an agent that is not killed has this name.
        """

        async def make(free: str) -> Reply:
            stage = self._stage(options, self.new_profile(free, title, tags, None))
            created = commands.create(stage, system)
            reply = {**_preview(stage), "command": created["command"], "time": created["time"]}
            await self._commit(options, stage, reply)
            return reply

        return await self._with_free_name(name, make)

    async def create_and_add(
        self, options: CommandOptions, name: str, added: Addition, tags: dict[str, str] | None = None
    ) -> Reply:
        """Create an agent and add to it in one command; if it was created concurrently, add to that one.

        Args:
            options: the command's.
            name: the agent's.
            added: what is added.
            tags: its tags.
        """

        def add(stage: Stage, command: int | None = None) -> Reply:
            return added.complete(commands.add(stage, added.rows, added.altered, command=command), {})

        async def make(free: str) -> Reply:
            stage = self._stage(options, self.new_profile(free, None, tags, None))
            exclusive.require_values(stage, added.expected, {})
            created = commands.create(stage, None)
            reply = await many_rows.put(stage, added.rows, partial(add, stage, created["command"]))
            await self._commit(options, stage, reply)
            return reply

        try:
            return await self._with_free_name(name, make)
        except Exists:
            agent = await self._registry.find(name)
            reply: Reply = await self._registry.ask(
                agent,
                lambda answer: (
                    Write(add, options, answer)
                    if added.is_plain and added.items is None
                    else Exclusive(lambda agent: exclusive.add(agent, options, added), answer)
                ),
            )
            return reply

    async def clone(self, options: CommandOptions, source: Agent, name: str | None, at: int | None) -> Reply:
        """Create an agent with the state of another one, current or at a seq; the caller holds the source's lock."""
        source.stage(options)  # checks if_seq; the source itself is not written to
        origin = source.committed.profile
        position, conversation = await state_at(source, at)
        begin = Source(origin.row, origin.uid, position.at)

        async def make(free: str) -> Reply:
            profile = self.new_profile(free, origin.title, origin.tags, begin)
            stage = Stage(State(profile, conversation), now(), loop_packer.pack)
            stage.client = options.client
            reply = stage.info(commands.clone_from(stage, begin.uid, begin.at, position.tip))
            await self._commit(options, stage, reply, conversation, frozenset([source.row]))
            return reply

        return await self._with_free_name(name, make)

    async def _with_free_name(self, name: str | None, make: Callable[[str], Awaitable[Reply]]) -> Reply:
        """Create an agent with this name, or with a short one that is free."""
        if name is not None:
            await self.require_free(name)
            return await make(name)
        for _ in range(_TRIES):
            with suppress(Exists):
                return await make(short_name())
        return await make(new_id()[:16])

    async def require_free(self, name: str) -> None:
        """Refuse a taken name before anything is staged; the database's unique index has the last word."""
        found = await self._store.find(name)
        if found is not None and found.alive:
            raise taken(name)

    def _stage(self, options: CommandOptions, profile: Profile) -> Stage:
        stage = Stage(State(profile, Conversation()), now(), loop_packer.pack)
        stage.client = options.client
        stage.require_head(options.if_seq)
        return stage

    async def _commit(
        self,
        options: CommandOptions,
        stage: Stage,
        reply: Reply,
        origin: Conversation | None = None,
        reads: frozenset[int] = frozenset(),
    ) -> None:
        """Commit the first command of a new agent, which may be a clone of this conversation."""
        keys = [] if options.key is None else [key_row(options.key, stage.profile.row, reply, reply["command"])]
        part = AgentWrite(stage.profile, stage.events, new=True)

        def on_commit(firsts: list[int]) -> None:
            self._registry.publish_new(part, firsts[0], origin)

        try:
            await write(
                self._store, await many_rows.prepare(self._store, Transaction([part], keys, reads=reads)), on_commit
            )
        except Exists:
            raise taken(stage.base.name) from None


def _preview(stage: Stage) -> dict[str, Any]:
    """Describe a new agent as it will be, from its staged events alone."""
    conversation = Conversation()
    for number, event in enumerate(stage.events, 1):
        conversation.apply(number, event)
    return info(stage.profile, conversation)


def taken(name: str) -> Exists:
    """Return the error for a name that a live agent has."""
    return Exists(f"agent {name} exists already; choose another name, or continue with that agent", agent=name)
