"""What makes an agent, or touches several at once: create, clone, kill with its clones."""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from reel.errors import Exists, InvalidParams, ReelError
from reel.ids import new_id
from reel.msgpack_codec import packer
from reeld.agents.agent import Agent, now, write
from reeld.agents.idempotency import first_reply, key_row, repeated
from reeld.agents.mail import Terms, Write
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.commands import Reply, Stage, require_position
from reeld.core.conversation import Conversation
from reeld.core.events import Node
from reeld.core.intake import CheckedRow
from reeld.core.state import Profile, Source, State, info
from reeld.store.reading import Position
from reeld.store.store import Store
from reeld.store.units import Part, Unit

_pack = packer()
# Without vowels and look-alikes: short names that are easy to type and spell nothing.
_LETTERS = "bcdfghjkmnpqrstvwxz23456789"
_TRIES = 20


def _short_name() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(5))


class Founder:
    """Makes agents.

    Args:
        registry: where live agents are found.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store: Store = registry.store

    def _blank(self, name: str, title: str | None, tags: dict[str, str] | None, source: Source | None) -> Profile:
        head = 0 if source is None else source.at
        time = now()
        return Profile(self._store.new_row(), new_id(), name, title, tags or {}, source, time, time, None, head)

    async def _require_free(self, name: str) -> None:
        """Refuse a taken name early; the database has the last word."""
        found = await self._store.find(name)
        if found is not None and found.alive:
            raise taken(name)

    async def create(
        self,
        terms: Terms,
        name: str | None,
        system: str | None = None,
        title: str | None = None,
        tags: dict[str, str] | None = None,
    ) -> Reply:
        """Make an agent with a prompt."""

        def put(stage: Stage) -> Reply:
            return commands.create(stage, system)

        try:
            return await self._found(terms, name, title, tags, put, describe=True)
        except ReelError as error:
            return await repeated(self._store, terms.keyed, error)

    async def create_and_add(self, terms: Terms, name: str, rows: list[CheckedRow], replaced: int) -> Reply:
        """Make an agent and add to it, in one command."""

        def put(stage: Stage) -> Reply:
            begun = commands.create(stage, None)
            return commands.add(stage, rows, replaced, command=begun["command"])

        try:
            return await self._found(terms, name, None, None, put, describe=False)
        except Exists:  # somebody else was faster, and made what was wanted
            agent = await self._registry.find(name)
            reply: Reply = await self._registry.ask(
                agent, lambda answer: Write(lambda stage: commands.add(stage, rows, replaced), terms, answer)
            )
            return reply

    async def _found(
        self,
        terms: Terms,
        name: str | None,
        title: str | None,
        tags: dict[str, str] | None,
        put: Any,
        *,
        describe: bool,
    ) -> Reply:
        async def make(free: str) -> Reply:
            return await self._write_new(terms, self._blank(free, title, tags, None), put, describe=describe)

        return await self._named(name, make)

    async def _named(self, name: str | None, make: Callable[[str], Awaitable[Reply]]) -> Reply:
        """Make an agent of this name, or of a short one that nobody has."""
        if name is not None:
            await self._require_free(name)
            return await make(name)
        for _ in range(_TRIES):
            with suppress(Exists):
                return await make(_short_name())
        return await make(new_id()[:16])

    async def _write_new(self, terms: Terms, profile: Profile, put: Any, *, describe: bool) -> Reply:
        """Write the first command of a new agent."""
        stage = Stage(State(profile, Conversation()), now(), _pack)
        stage.client = terms.client
        stage.require_head(terms.if_seq)
        reply: Reply = put(stage)
        if describe:
            reply = {**_preview(stage), "command": reply["command"], "time": reply["time"]}
        await self._commit_new(terms, stage, reply, Conversation())
        return reply

    async def _commit_new(self, terms: Terms, stage: Stage, reply: Reply, conversation: Conversation) -> None:
        """Commit the first command of an agent that starts from this conversation."""
        keys = [] if terms.keyed is None else [key_row(terms.keyed, stage.profile.row, reply)]
        part = Part(stage.profile, stage.drafts, new=True)

        def committed(firsts: list[int]) -> None:
            self._registry.hub.introduce(part.profile, part.drafts, firsts[0], conversation)

        try:
            await write(self._store, Unit([part], keys), committed)
        except Exists:
            raise taken(stage.base.name) from None

    async def clone(self, terms: Terms, source: Agent, name: str | None, at: int | None) -> Reply:
        """Start a new agent where another one is, or was, in the source's turn."""
        source.stage(terms)  # for its if_seq: nothing is written there
        origin = source.living.profile
        position, conversation = await _state_at(source, at)
        begin = Source(origin.row, origin.uid, position.at)

        async def make(free: str) -> Reply:
            profile = self._blank(free, origin.title, origin.tags, begin)
            return await self._write_clone(terms, profile, position.tip, conversation)

        return await self._named(name, make)

    async def _write_clone(self, terms: Terms, profile: Profile, tip: int | None, conversation: Conversation) -> Reply:
        assert profile.source is not None  # noqa: S101 - a clone has one
        stage = Stage(State(profile, conversation), now(), _pack)
        stage.client = terms.client
        command = commands.clone_from(stage, profile.source.uid, profile.source.at, tip)
        reply = stage.info(command)
        await self._commit_new(terms, stage, reply, conversation)
        return reply


def _preview(stage: Stage) -> Reply:
    """Describe a new agent as it will be: its drafts alone make it."""
    conversation = Conversation()
    for number, draft in enumerate(stage.drafts, 1):
        conversation.apply(number, draft)
    return info(stage.profile, conversation)


def taken(name: str) -> Exists:
    """Say that a living agent has this name."""
    return Exists(f"agent {name} is there already; choose another name, or kill that one first", agent=name)


async def _state_at(source: Agent, at: int | None) -> tuple[Position, Conversation]:
    """Give an agent's position and conversation at a seq, at its head where there is none."""
    living = source.living
    if at is None or at == living.profile.head:
        return Position(living.profile.head, living.conversation.tip), living.conversation
    require_position(at, living.profile.head, living.profile.name)
    position = await source.store.position(source.row, at)
    return position, Conversation((await source.store.walk(position.tip)).nodes)


async def clone_into(registry: Registry, terms: Terms, source: Agent, target: Agent, at: int | None) -> Reply:
    """Replace the state of a living agent by another's, while both hold still."""
    if source.row == target.row:
        raise InvalidParams("into: an agent cannot be cloned into itself; use restore", field="into")
    async with registry.hold([source, target]) as held:
        source, target = held
        stage = target.stage(terms)
        stage.require_alive()
        position, conversation = await _state_at(source, at)
        stage.head = max(stage.head, position.at)
        command = commands.clone_from(stage, source.living.profile.uid, position.at, position.tip)
        reply = {**info(stage.profile, conversation), "command": command, "time": stage.now}
        past: list[Node] = sorted([*conversation.entries, *conversation.marks], key=lambda node: node.id)
        return await target.commit(stage, reply, terms, past)


async def kill(registry: Registry, terms: Terms, root: Agent, reason: str | None, *, cascade: bool) -> Reply:
    """Kill an agent, and its living clones where ``cascade`` says so, all or none, while they hold still.

    The dead ones who are in use hold still, too: who were revived or cloned meanwhile would escape. Whoever is not in
    use when the clones have been looked for can do so only after them: their deaths are queued without waiting.
    """
    agents = [root]
    while True:
        async with registry.hold(agents) as held:
            family = await registry.store.descendants(root.row) if cascade else {}
            able = {row for row, alive in family.items() if alive or registry.live(row)}
            missing = able.difference(agent.row for agent in held)
            if not missing:
                return await _kill_held(registry, terms, held, reason, cascade=cascade)
        agents += [registry.start(await registry.store.profile(row)) for row in missing]


async def _kill_held(
    registry: Registry, terms: Terms, agents: list[Agent], reason: str | None, *, cascade: bool
) -> Reply:
    root = agents[0]
    root.stage(terms)  # for its if_seq, were it dead already
    by = root.living.profile.uid
    parts: list[tuple[Agent, Part]] = []
    for agent in agents:
        if agent.living.profile.alive:
            stage = agent.stage(Terms(client=terms.client))
            commands.kill(stage, None if agent is root else by, reason, cascade=cascade)
            parts.append((agent, Part(stage.profile, stage.drafts, changed=True)))
    profile = next((part.profile for agent, part in parts if agent is root), root.living.profile)
    reply: Reply = {"killed": [part.profile.uid for _, part in parts], "agent": profile.uid, "head": profile.head}
    if not parts:
        return await first_reply(registry.store, terms.keyed) or reply
    reply["command"], reply["time"] = parts[0][1].drafts[0].seq, parts[0][1].drafts[0].time
    # A key belongs to the agent whose command its reply names: the root's, unless that was dead already.
    keys = [] if terms.keyed is None else [key_row(terms.keyed, parts[0][0].row, reply)]

    def committed(firsts: list[int]) -> None:
        for (agent, part), first in zip(parts, firsts, strict=True):
            agent.apply(part, first)
            registry.renamed(agent)

    await write(registry.store, Unit([part for _, part in parts], keys), committed)
    return reply
