"""What a client asks for, without a wire: every command as the daemon's handlers carry it out."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from typing import Any, TypeAlias

from msgpack import unpackb

from reel.errors import ReelError
from reeld.agents import creation, exclusive
from reeld.agents.agent import Agent
from reeld.agents.creation import Founder
from reeld.agents.idempotency import digest, repeated
from reeld.agents.mail import Keyed, Look, Mail, Terms, Turn, Write
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.conversation import Conversation
from reeld.core.events import Mark
from reeld.core.intake import rows_from
from reeld.core.state import State

Reply: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Any], None]


class Deck:
    """A client of a registry; ``if_seq`` and ``key`` can be given with every command."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.store = registry.store
        self.founder = Founder(registry)

    # --- commands

    async def create(self, name: str | None = None, system: str | None = None, **more: Any) -> Reply:
        title, tags = more.pop("title", None), more.pop("tags", None)
        return await self.founder.create(_terms("create", name, system, **more), name, system, title, tags)

    async def add(self, address: str, *messages: Any, create: bool = False, **more: Any) -> Reply:
        terms = _terms("add", list(messages), **more)
        rows, replaced = rows_from(list(messages))
        if create and await self.store.find(address) is None:
            return await self._or_first(terms, self.founder.create_and_add(terms, address, rows, replaced))
        return await self._do(
            address, terms, lambda answer: Write(lambda stage: commands.add(stage, rows), terms, answer)
        )

    async def mark(self, address: str, label: str | None = None, **more: Any) -> Reply:
        terms = _terms("mark", label, **more)
        return await self._do(
            address, terms, lambda answer: Write(lambda stage: commands.mark(stage, label), terms, answer)
        )

    async def clear(self, address: str, **more: Any) -> Reply:
        terms = _terms("clear", **more)
        return await self._turn(address, terms, exclusive.clear(terms))

    async def rewind(self, address: str, label: str | None = None, **more: Any) -> Reply:
        terms = _terms("rewind", label, **more)
        return await self._turn(address, terms, exclusive.rewind(terms, label))

    async def restore(self, address: str, at: int, **more: Any) -> Reply:
        terms = _terms("restore", at, **more)
        return await self._turn(address, terms, exclusive.restore(terms, at))

    async def undo(self, address: str, **more: Any) -> Reply:
        terms = _terms("undo", **more)
        return await self._turn(address, terms, exclusive.undo(terms))

    async def redo(self, address: str, **more: Any) -> Reply:
        terms = _terms("redo", **more)
        return await self._turn(address, terms, exclusive.redo(terms))

    async def change(self, address: str, name: str | None = None, **more: Any) -> Reply:
        title, tags = more.pop("title", None), more.pop("tags", None)
        terms = _terms("change", name, title, tags, **more)
        return await self._turn(address, terms, self._renaming(exclusive.change(terms, name, title, tags)))

    async def revive(self, address: str, **more: Any) -> Reply:
        terms = _terms("revive", **more)
        return await self._turn(address, terms, self._renaming(exclusive.revive(terms)))

    async def clone(self, address: str, name: str | None = None, at: int | None = None, **more: Any) -> Reply:
        terms = _terms("clone", name, at, **more)
        return await self._turn(address, terms, lambda source: self.founder.clone(terms, source, name, at))

    async def clone_into(self, address: str, into: str, at: int | None = None, **more: Any) -> Reply:
        terms = _terms("clone", into, at, **more)
        source, target = await self.registry.find(address), await self.registry.find(into)
        return await self._or_first(terms, creation.clone_into(self.registry, terms, source, target, at))

    async def kill(self, address: str, reason: str | None = None, *, cascade: bool = False, **more: Any) -> Reply:
        terms = _terms("kill", reason, cascade, **more)
        agent = await self.registry.find(address)
        return await self._or_first(terms, creation.kill(self.registry, terms, agent, reason, cascade=cascade))

    # --- questions

    async def state(self, address: str) -> State:
        """The living state, seen in the agent's turn."""
        agent = await self.registry.find(address)
        state: State = await self.registry.ask(agent, lambda answer: Look(lambda state: state, answer))
        return state

    async def texts(self, address: str) -> list[str]:
        """What stands in a living conversation."""
        return shown((await self.state(address)).conversation)

    async def replay(self, address: str, *, strict: bool = False) -> exclusive.Replayed:
        """The state that the log has, compared with the living one."""
        agent = await self.registry.find(address)
        found: exclusive.Replayed = await self.registry.ask(
            agent, lambda answer: Turn(lambda held: exclusive.replay(held, strict=strict), answer)
        )
        return found

    async def events(self, address: str) -> list[Reply]:
        """The log as it stands."""
        state = await self.state(address)
        page = await self.store.history(
            state.profile.row,
            since=0,
            head=state.profile.head,
            limit=10_000,
            kinds=None,
            inherited=False,
            max_bytes=1 << 30,
        )
        return [unpackb(event) for event in page.events]

    async def seqs(self, address: str) -> list[int]:
        """The seqs of a living conversation, marks included."""
        conversation = (await self.state(address)).conversation
        nodes: list[Any] = sorted([*conversation.entries, *conversation.marks], key=lambda node: node.id)
        return [node.seq for node in nodes]

    def post(self, agent: Agent, *messages: str, answer: Answer, **more: Any) -> None:
        """Put an add into a mailbox; it is looked at when the registry advances."""
        rows, _ = rows_from(list(messages))
        agent.post(Write(lambda stage: commands.add(stage, rows), _terms("add", list(messages), **more), answer))
        self.registry.posted(agent)

    # --- how

    async def _do(self, address: str, terms: Terms, mail: Callable[[Answer], Mail]) -> Reply:
        async def ask() -> Reply:
            reply: Reply = await self.registry.ask(await self.registry.find(address), mail)
            return reply

        return await self._or_first(terms, ask())

    async def _turn(self, address: str, terms: Terms, run: Callable[[Agent], Awaitable[Reply]]) -> Reply:
        return await self._do(address, terms, lambda answer: Turn(run, answer))

    async def _or_first(self, terms: Terms, command: Awaitable[Reply]) -> Reply:
        try:
            return await command
        except ReelError as error:
            return await repeated(self.store, terms.keyed, error)

    def _renaming(self, turn: Callable[[Agent], Awaitable[Reply]]) -> Callable[[Agent], Awaitable[Reply]]:
        async def run(agent: Agent) -> Reply:
            reply = await turn(agent)
            self.registry.renamed(agent)
            return reply

        return run


def _terms(method: str, *params: Any, if_seq: int | None = None, key: str | None = None) -> Terms:
    return Terms(if_seq, None if key is None else Keyed(key, digest(method, params)), "test")


def shown(conversation: Conversation) -> list[str]:
    """The contents of a conversation's records, and its marks as ``[label]``, in order."""
    nodes: Sequence[Any] = sorted([*conversation.entries, *conversation.marks], key=lambda node: node.id)
    return [f"[{node.label or ''}]" if isinstance(node, Mark) else node.content for node in nodes]


def insert(path: str, seq: int, kind: str, data_json: str | None) -> None:
    """Put an event on the newest one of the only agent, in a file that nobody has open."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO events (agent, seq, command, kind, content, data_json, parent, time)"
            " SELECT agent, :seq, :seq, :kind, NULL, :data_json, id, 1 FROM events WHERE seq = :seq - 1",
            {"seq": seq, "kind": kind, "data_json": data_json},
        )
        connection.execute("UPDATE agents SET head = ?", (seq,))


async def read_only(deck: Deck, on: bool) -> None:
    """Let the database refuse every write, or no longer."""
    await deck.store._database.run(lambda connection: connection.execute(f"PRAGMA query_only = {on}").fetchall())
