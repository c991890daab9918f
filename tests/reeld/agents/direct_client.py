"""A client without a wire: it runs every command as the daemon's handlers do."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio.lowlevel
from anyio.abc import TaskGroup
from msgpack import unpackb

from reel.base.errors import ReelError
from reel.wire.msgpack_codec import packer
from reeld.agents import adding, appending, creation, families, replaying, tree
from reeld.agents.adding import Addition
from reeld.agents.agent import Agent
from reeld.agents.asking import ask, look
from reeld.agents.executor import Command, Work, execute, job
from reeld.agents.idempotency import CommandOptions, key_of, repeated
from reeld.agents.jobs import Exclusive, Job, Write
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.conversation import Conversation
from reeld.core.events import Mark
from reeld.core.state import State
from reeld.core.stretch import read_stretch
from reeld.core.validation import UNALTERED, rows_from
from reeld.protocol import params
from reeld.protocol.params import Agents, Create, History
from reeld.store import history, listing, queries
from reeld.store.commit_faults import OvertakenError
from reeld.store.listing import Listing
from tests.reeld.store.making import seal, unguarded

T = TypeVar("T")
Reply: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Any], None]
Stage: TypeAlias = Callable[[Work], Awaitable[Reply]]


class DirectClient:
    """A client of a registry; ``if_seq`` and ``key`` can be given with every command.

    Like the daemon's dispatcher it shows the error of a command with a key to :func:`repeated` first.
    """

    def __init__(self, registry: Registry, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self.registry = registry
        self.store = registry.store

    # --- commands

    async def create(self, name: str | None = None, system: str | None = None, **more: Any) -> Reply:
        title, tags = more.pop("title", None), more.pop("tags", None)
        options = _options("create", name, system, address=None, about=None, **more)
        asked = Create(name, system, title, tags)
        return await self._execute(options, Command(partial(creation.create, asked=asked)))

    async def add(self, address: str, *messages: Any, create: bool = False, **more: Any) -> Reply:
        options = await self._options(address, "add", list(messages), **more)
        refs: dict[str, int] = {}
        rows, altered = rows_from(list(messages), refs)
        added = Addition(rows, altered, refs)
        if create and await self.store.read(queries.find, address) is None:
            command = adding.creating(self.registry, address, added, None, lambda _: None)
            return await self._execute(options, command)
        if refs:
            return await self._alone(address, options, partial(adding.add, added=added))
        return await self._do(
            address, options, lambda answer: Write(lambda stage: commands.add(stage, rows), options, answer)
        )

    async def append(self, address: str, *events: Any, **more: Any) -> Reply:
        options = await self._options(address, "append", list(events), **more)
        return await self._alone(address, options, partial(appending.append, stretch=read_stretch(list(events))))

    async def replace(self, address: str, seq: int, *messages: Any, **more: Any) -> Reply:
        options = await self._options(address, "add", list(messages), seq, **more)
        refs: dict[str, int] = {}
        rows, altered = rows_from(list(messages), refs) if messages else ([], UNALTERED)
        added = Addition(rows, altered, refs, seq)
        return await self._alone(address, options, partial(adding.add, added=added))

    async def mark(self, address: str, label: str | None = None, **more: Any) -> Reply:
        options = await self._options(address, "mark", label, **more)
        return await self._do(
            address, options, lambda answer: Write(lambda stage: commands.mark(stage, label), options, answer)
        )

    async def clear(self, address: str, **more: Any) -> Reply:
        options = await self._options(address, "clear", **more)
        return await self._alone(address, options, lambda work: tree.clear(work, params.Nothing()))

    async def rewind(self, address: str, label: str | None = None, **more: Any) -> Reply:
        options = await self._options(address, "rewind", label, **more)
        return await self._alone(address, options, lambda work: tree.rewind(work, params.Mark(label)))

    async def restore(self, address: str, at: int, **more: Any) -> Reply:
        options = await self._options(address, "restore", at, **more)
        return await self._alone(address, options, lambda work: tree.restore(work, params.Restore(at)))

    async def undo(self, address: str, **more: Any) -> Reply:
        options = await self._options(address, "undo", **more)
        return await self._alone(address, options, lambda work: tree.undo(work, params.Nothing()))

    async def redo(self, address: str, **more: Any) -> Reply:
        options = await self._options(address, "redo", **more)
        return await self._alone(address, options, lambda work: tree.redo(work, params.Nothing()))

    async def change(self, address: str, name: str | None = None, **more: Any) -> Reply:
        title, tags = more.pop("title", None), more.pop("tags", None)
        options, asked = (
            await self._options(address, "change", name, title, tags, **more),
            params.Change(name, title, tags),
        )
        return await self._about(address, options, lambda work: families.change(work, asked))

    async def revive(self, address: str, *, cascade: bool = False, **more: Any) -> Reply:
        options = await self._options(address, "revive", cascade, **more)
        return await self._about(
            address,
            options,
            lambda work: families.revive(work, params.Revive(cascade)),
            families.killed_clones if cascade else None,
        )

    async def clone(self, address: str, name: str | None = None, at: int | None = None, **more: Any) -> Reply:
        sent = more.pop("sent", None)
        options = await self._options(address, "clone", name, at, sent, **more)
        return await self._about(address, options, partial(creation.clone, name=name, at=at, sent=sent))

    async def clone_into(self, address: str, into: str, at: int | None = None, **more: Any) -> Reply:
        sent = more.pop("sent", None)
        options = await self._options(address, "clone", into, at, sent, **more)

        async def attempt() -> Reply:
            source, target = await self.registry.find(address), await self.registry.find(into)
            command = Command(partial(tree.clone_into, at=at, sent=sent), [target, source])
            return await execute(self.registry, options, command)

        return await self._or_first(options, attempt)

    async def kill(self, address: str, reason: str | None = None, *, cascade: bool = False, **more: Any) -> Reply:
        options = await self._options(address, "kill", reason, cascade, **more)
        return await self._about(
            address,
            options,
            lambda work: families.kill(work, params.Kill(reason, cascade)),
            families.live_clones if cascade else None,
        )

    # --- questions

    async def state(self, address: str) -> State:
        """Return the live state, read in the agent's turn."""

        async def attempt() -> State:
            return await look(self.registry, await self.registry.find(address), lambda state: state)

        return await again(attempt)

    async def texts(self, address: str) -> list[str]:
        """Return the contents of the live conversation."""
        return shown((await self.state(address)).conversation)

    async def replay(self, address: str, *, strict: bool = False) -> replaying.Replayed:
        """Compare the live state with the one that is read from the log."""
        agent = await self.registry.find(address)
        found: replaying.Replayed = await ask(
            self.registry, agent, lambda answer: Exclusive(lambda held: replaying.replay(held, strict=strict), answer)
        )
        return found

    async def agents(self, prefix: str = "", *, alive: bool | None = None) -> list[Reply]:
        """The agents whose names begin so, dead or alive."""
        page = await self.store.read_long(listing.agents, Listing(Agents(prefix, alive)), packer())
        return [unpackb(agent) for agent in page.items]

    async def events(self, address: str) -> list[Reply]:
        """Return the whole log."""
        state = await self.state(address)
        page = await self.store.read_long(
            history.history, state.profile.row, state.profile.head, History(limit=10_000, max_bytes=1 << 30), packer()
        )
        return [unpackb(event) for event in page.items]

    async def seqs(self, address: str) -> list[int]:
        """Return the seqs of the live conversation, marks included."""
        conversation = (await self.state(address)).conversation
        nodes: list[Any] = sorted([*conversation.entries, *conversation.marks], key=lambda node: node.id)
        return [node.seq for node in nodes]

    def post(self, agent: Agent, *messages: str, answer: Answer, **more: Any) -> None:
        """Put an add into a mailbox; the agent runs it when the registry pumps."""
        rows, _ = rows_from(list(messages))
        options = _options("add", list(messages), address=None, about=agent.row, **more)

        def settle(outcome: Reply | ReelError) -> None:
            if isinstance(outcome, ReelError) and options.key is not None:
                self._tasks.start_soon(self._answer_or_first, options, outcome, answer)
            else:
                answer(outcome)

        self.registry.post(agent, Write(lambda stage: commands.add(stage, rows), options, settle))

    async def _answer_or_first(self, options: CommandOptions, error: ReelError, answer: Answer) -> None:
        try:
            answer(await repeated(self.store, options.key, error))
        except ReelError as refused:
            answer(refused)

    # --- how

    async def _options(self, address: str, method: str, *params: Any, **more: Any) -> CommandOptions:
        """Return a command's options; without a key nothing is looked up, so that a command is posted at once."""
        found = await self.store.read(queries.find, address) if more.get("key") is not None else None
        return _options(method, *params, address=address, about=None if found is None else found.row, **more)

    async def _do(self, address: str, options: CommandOptions, make_job: Callable[[Answer], Job]) -> Reply:
        async def attempt() -> Reply:
            reply: Reply = await ask(self.registry, await self.registry.find(address), make_job)
            return reply

        return await self._or_first(options, attempt)

    async def _alone(self, address: str, options: CommandOptions, stage: Stage) -> Reply:
        """Run a command in its agent's own task."""
        return await self._do(address, options, partial(job, self.registry, options, Command(stage)))

    async def _about(self, address: str, options: CommandOptions, stage: Stage, more: Any = None) -> Reply:
        """Run a command on an agent, and on others if ``more`` finds them."""

        async def attempt() -> Reply:
            command = Command(stage, [await self.registry.find(address)])
            return await execute(self.registry, options, command._replace(more=more) if more else command)

        return await self._or_first(options, attempt)

    async def _execute(self, options: CommandOptions, command: Command) -> Reply:
        return await self._or_first(options, partial(execute, self.registry, options, command))

    async def _or_first(self, options: CommandOptions, command: Callable[[], Awaitable[Reply]]) -> Reply:
        try:
            return await again(command)
        except ReelError as error:
            return await repeated(self.store, options.key, error)


async def again(call: Callable[[], Awaitable[T]]) -> T:
    """Return what a call returns, which begins again whenever another daemon was faster, as in the daemon."""
    while True:
        try:
            return await call()
        except OvertakenError:
            await anyio.lowlevel.checkpoint()


def _options(
    method: str,
    *params: Any,
    address: str | None,
    about: int | None,
    if_seq: int | None = None,
    key: str | None = None,
) -> CommandOptions:
    idempotency = None if key is None else key_of(key, method, params, address, about)
    return CommandOptions(if_seq, idempotency, "test")


def shown(conversation: Conversation) -> list[str]:
    """Return the contents of a conversation's records in order, and its marks as ``[label]``."""
    nodes: Sequence[Any] = sorted([*conversation.entries, *conversation.marks], key=lambda node: node.id)
    return [f"[{node.label or ''}]" if isinstance(node, Mark) else node.content for node in nodes]


def insert(path: str, seq: int, kind: str, data_json: str | None) -> None:
    """Add an event after the newest one of the only agent, in a file that nobody has open."""
    with unguarded(path) as connection:
        connection.execute(
            "INSERT INTO events (id, agent, seq, command, kind, content, data_json, parent, time, checksum)"
            " SELECT id + 1, agent, :seq, :seq, :kind, NULL, :data_json, id, 1, 0 FROM events WHERE seq = :seq - 1",
            {"seq": seq, "kind": kind, "data_json": data_json},
        )
        connection.execute("UPDATE agents SET head = ?", (seq,))
        seal(connection)


async def read_only(client: DirectClient, on: bool) -> None:
    """Make the database refuse every write, or accept writes again."""
    if client.store.is_file:
        set_it = f"PRAGMA query_only = {on}"
    else:
        set_it = f"SET default_transaction_read_only = {'on' if on else 'off'}"
    await client.store._database.run(lambda connection: connection.execute(set_it))
