"""Conversations of Pydantic AI: each is an agent of the daemon. docs/frameworks.md has an example.

Theory of operation
-------------------

The framework's store is a log of entries, each with one message, and of one record for each conversation, which points
at its newest entry. Here

- a conversation is an agent;
- an entry is an item of that agent, with the entry's id as its ``ref``;
- a record is a note, in the same command as the entries that it was saved with. The newest one is valid.

Other programs write to the agent, too. So a record describes the history only while the newest item is the one that the
record points at. After that, the conversation itself defines its history, and the record gets a new revision: a save
that does not know the new revision is a conflict, as if another program had saved.

A store remembers the states that it has read or written, by their revisions. So a save asks nothing: it expects the
head of the state that it continues, and only if somebody has moved that does it read the record. On another connection
it reads it, too: behind that may be another log, of a backup, whose head has the same number by chance.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, TypeVar

from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.result import StreamedRunResult

from reel import requests
from reel.base.errors import Conflict, Exists, NotFound, ReelError
from reel.base.light_typing import NamedTuple
from reel.integrations.naming import Named, is_hashed, named, tag_value
from reel.integrations.pydantic_ai.entries import (
    FORMAT,
    behind,
    is_current,
    items_of,
    place_in,
    read_entries,
    seq_of,
)
from reel.integrations.pydantic_ai.messages import messages_of
from reel.integrations.pydantic_ai.records import State, begun_by_others, note_data, read_state
from reel.integrations.worker import Worker
from reel.replies import Committed, Hello
from reel.requests import Call
from reel.sync.client import Client

V = TypeVar("V")

# The tag of an agent with the scope of its conversation.
_SCOPE: Final = "scope"
# The number of entries whose agent is remembered, and of revisions whose state is remembered.
_MOST_PLACES: Final = 10_000
_MOST_STATES: Final = 1_000


class _Saved(NamedTuple):
    """What was loaded or saved of a conversation: the revision, how many messages, and the last of these."""

    revision: str | None
    size: int
    last: list[Any]

    def is_end_of(self, messages: Sequence[Any], ends: set[int]) -> bool:
        """Whether it is the beginning of messages, up to one of these ends."""
        return self.size in ends and [*messages[: self.size][-1:]] == self.last


class ReelConversationStore(ConversationStore):  # type: ignore[misc]  # its types take minutes to read
    """A store of Pydantic AI's conversations, for ``store.load("demo")`` and ``store.save(result)``.

    It can be used from several event loops, threads and processes. If the daemon is restarted, a call waits for it, and
    is carried out once. A killed agent can be read; writing to it raises :class:`reel.Killed`. ``delete``
    purges: afterwards the daemon has only the parts of the conversation that its forks share.

    Args:
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names.

    Raises:
        InvalidParams: the prefix is not valid in a name.
    """

    def __init__(self, *, socket: str | None = None, autostart: bool = False, prefix: str = "pydantic-ai/") -> None:
        named(prefix, "")
        self.prefix = prefix
        self._worker = Worker(socket, autostart=autostart, name="pydantic-ai")
        # The agents of entries that a record named; the framework asks for an entry by its id alone.
        self._places: OrderedDict[str, tuple[str, int]] = OrderedDict()
        # The state at a revision, and what the daemon said of itself on the connection that all of these come from.
        self._states: OrderedDict[str, State] = OrderedDict()
        self._server: Hello | None = None
        # The revision that is being saved, until its record was read; each task has its own.
        self._saving: ContextVar[str | None] = ContextVar("saving", default=None)
        # What was loaded or saved last of a conversation.
        self._saved: OrderedDict[str, _Saved] = OrderedDict()

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    async def save(self, conversation: Any, *, scope: str | None = None) -> list[ConversationEntry]:
        """Save a conversation, or the result of a run; a streaming one as well, once its stream has ended.

        Args:
            conversation: the conversation, or the result.
            scope: whose it is, to list it by.

        Returns:
            the entries that were stored.

        Raises:
            ConversationConflict: it was saved or deleted since it was loaded.
            UserError: the stream has not ended, or was cancelled.
        """
        if isinstance(conversation, StreamedRunResult):
            conversation = self._streamed(conversation.result, len(conversation.new_messages()))
        made = conversation if isinstance(conversation, Conversation) else conversation.conversation
        before = self._saving.set(made.revision)
        try:
            found: list[ConversationEntry] = await super().save(conversation, scope=scope)
        finally:
            self._saving.reset(before)
        self._note_saved(conversation if isinstance(conversation, Conversation) else conversation.conversation)
        return found

    async def load(self, conversation_id: Any, **options: Any) -> Any:
        """Return a conversation, or ``None`` if there is none; the options are those of the framework's stores."""
        found = await super().load(conversation_id, **options)
        if found is not None:
            self._note_saved(found)
        return found

    def _note_saved(self, conversation: Conversation) -> None:
        noted = _Saved(conversation.revision, len(conversation.messages), [*conversation.messages[-1:]])
        _keep(self._saved, conversation.conversation_id, noted, _MOST_STATES)

    def _streamed(self, result: Any, added: int) -> Conversation:
        """Return the conversation of a streaming run, which the framework does not tell what it was loaded as.

        Args:
            result: the result of the run.
            added: how many messages the run has added.
        """
        made: Conversation = result.conversation
        saved = self._saved.get(made.conversation_id)
        # If it was loaded or saved again meanwhile, the run knows less than what is there: a conflict.
        if saved is not None and saved.is_end_of(made.messages, {len(made.messages) - added, len(made.messages)}):
            made.revision, made.new_message_index = saved.revision, saved.size
        return made

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, or ``None`` if there is no such agent."""
        known = self._at(self._saving.get(), conversation_id)
        if known is not None:  # it is about to be replaced, which fails if it is not the newest
            self._saving.set(None)
            return replace(known.record)
        agent = named(self.prefix, conversation_id).name
        state = await self._worker.run(lambda client: self._state(client, agent, conversation_id))
        return state and state.record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records of the living agents, the most recently saved first.

        Args:
            scope: only those with this scope.
            limit: the maximum number of records.
        """
        return await self._worker.run(lambda client: self._records(client, scope, limit))

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and new entries, in one command; ``undo`` takes both back.

        If the history branches off an abandoned one, an earlier command restores that one.

        Args:
            record: the record.
            new_entries: in order, each after the entry it points at.
            expected_revision: the revision of the replaced record; ``None`` if there is no record yet.

        Raises:
            ConversationConflict: the stored record has another revision, or a referenced entry is gone.
            UserError: the entries do not form a chain up to the one that the record points at.
            TooLarge: they exceed 16 MiB.
            Killed: the agent was killed; ``reel revive`` brings it back.
        """
        _require_chain(record, new_entries)
        await self._worker.run(lambda client: self._write(client, record, new_entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Purge the agent of a conversation, with everything that no fork shares.

        Raises:
            ConversationConflict: the stored record has another revision.
        """
        await self._worker.run(lambda client: self._delete(client, conversation_id, expected_revision))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return the entry with this id.

        Raises:
            LookupError: there is none.
        """
        return (await self.read_history(entry_id, limit=1))[0]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to one of them, in order.

        Args:
            head_id: the last one.
            limit: only this many of the last entries.

        Raises:
            LookupError: there is no such entry.
        """
        if head_id is None or limit == 0:
            return []
        return await self._worker.run(lambda client: self._history(client, head_id, limit))

    def _at(self, revision: str | None, conversation_id: str) -> State | None:
        """Return what is remembered of a conversation at a revision."""
        state = None if revision is None else self._states.get(revision)
        return None if state is None or state.record.conversation_id != conversation_id else state

    def _remember(self, client: Client, state: State) -> None:
        """Remember a state by its revision, and the locations of the entries that it points at."""
        if client.server is not self._server:
            self._states.clear()
            self._server = client.server
        # The framework may modify what it receives, or has made.
        state = state._replace(record=replace(state.record))
        _keep(self._states, state.record.revision, state, _MOST_STATES)
        for entry in (*state.record.branches, state.record.head_id):
            if entry is not None:
                _keep(self._places, entry, (state.agent, state.head), _MOST_PLACES)

    # The methods below run in a thread, with the blocking client.

    def _state(self, client: Client, agent: str, conversation_id: str | None = None) -> State | None:
        """Return the state of a conversation, and remember it; see :func:`read_state`."""
        state = read_state(client, agent, conversation_id)
        if state is not None:
            self._remember(client, state)
        return state

    def _records(self, client: Client, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        found: list[ConversationRecord] = []
        tags = {} if scope is None else {_SCOPE: tag_value(scope)}
        pages = client.pages(requests.agents(self.prefix, alive=True, order="updated", tags=tags))
        for agent in (agent for page in pages for agent in page.agents):
            if limit is not None and len(found) >= limit:
                found = _last_saved(found)[:limit]
                # A record is stored after it was made: no agent changed before that has a newer one.
                if not found or agent.updated < int(found[-1].updated_at.timestamp() * 1000):
                    break
            name = agent.name.removeprefix(self.prefix)
            record = self._listed(client, agent.id, None if is_hashed(name) else name)
            if record is not None and (scope is None or record.scope == scope):
                found.append(record)
        return _last_saved(found)[:limit]

    def _listed(self, client: Client, uid: str, conversation_id: str | None) -> ConversationRecord | None:
        """Return the record of a conversation; an unreadable one hides neither the conversation nor others."""
        try:
            state = self._state(client, uid, conversation_id)
        except UserError:
            return begun_by_others(client, uid, conversation_id or uid)
        return None if state is None else state.record

    def _write(
        self,
        client: Client,
        record: ConversationRecord,
        entries: Sequence[ConversationEntry],
        expected_revision: str | None,
    ) -> None:
        agent = named(self.prefix, record.conversation_id)
        tags = agent.tags if record.scope is None else {**agent.tags, _SCOPE: tag_value(record.scope)}
        # If another client has written since, the head has changed.
        state = self._at(expected_revision, record.conversation_id)
        if state is None or not client.is_still(self._server):
            state = self._state(client, agent.name, record.conversation_id)
        while True:
            if (None if state is None else state.record.revision) != expected_revision:
                raise ConversationConflict(record.conversation_id)
            try:
                if state is not None:
                    made = self._replace(client, state, record, entries, tags)
                elif (parent := _parent(record, entries)) is None:
                    new = requests.create(agent.name, _instructions(entries), tags=tags)
                    made = client.commit([new, *_additions(agent.name, record, entries)])
                else:
                    made = self._fork(client, parent, record, entries, Named(agent.name, tags))
            except (Conflict, Exists, NotFound):
                state = self._state(client, agent.name, record.conversation_id)
            else:
                if expected_revision is not None:
                    self._states.pop(expected_revision, None)
                self._remember(client, State(made.agent, made.head, record))
                return

    def _replace(
        self,
        client: Client,
        state: State,
        record: ConversationRecord,
        entries: Sequence[ConversationEntry],
        tags: dict[str, str],
    ) -> Committed:
        """Replace the record of a conversation that exists."""
        head, begin = state.head, None
        if (parent := _parent(record, entries)) != state.record.head_id:
            head, begin = _go_to(client, state, parent)
        parts = _additions(state.agent, record, entries, begin, head)
        if record.scope != state.record.scope:
            kept = {key: value for key, value in client.agent(state.agent).tags.items() if key != _SCOPE}
            parts.append(requests.change(state.agent, tags={**kept, **tags}))
        return client.commit(parts)

    def _fork(
        self,
        client: Client,
        parent: str,
        record: ConversationRecord,
        entries: Sequence[ConversationEntry],
        agent: Named,
    ) -> Committed:
        """Begin a conversation after an entry of another one: a clone, which is named once it is complete."""
        for uid, seq in self._places_of(client, parent, record.forked_from):
            clone = client.clone(uid, at=seq)
            try:
                begin = behind(client, clone.id, seq)
                renamed = requests.change(clone.id, name=agent.name, tags=agent.tags)
                return client.commit([*_additions(clone.id, record, entries, begin), renamed])
            except BaseException:
                with suppress(ReelError):
                    client.purge(clone.id)
                raise
        raise ConversationConflict(record.conversation_id)

    def _delete(self, client: Client, conversation_id: str, expected_revision: str) -> None:
        agent = named(self.prefix, conversation_id).name
        while True:
            state = self._state(client, agent, conversation_id)
            if state is None or state.record.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            try:
                client.purge(state.agent, if_seq=state.head)
            except (Conflict, NotFound):
                continue  # another client wrote in the meantime: check the revision again
            return

    def _history(self, client: Client, head_id: str, limit: int | None) -> list[ConversationEntry]:
        uid, at = self._places.get(head_id, ("", 0))
        if uid:
            with suppress(NotFound):
                found = read_entries(client, uid, at, limit)
                if found and found[-1].id == head_id:
                    return found
        for uid, seq in self._places_of(client, head_id):
            found = read_entries(client, uid, seq)
            ends = [number for number, entry in enumerate(found, 1) if entry.id == head_id]
            if ends:
                end = ends[0]
                return found[:end] if limit is None else found[max(end - limit, 0) : end]
        raise LookupError(f"no conversation has an entry {head_id!r}")

    def _places_of(
        self, client: Client, entry_id: str, conversation_id: str | None = None
    ) -> Iterator[tuple[str, int]]:
        """Yield the agents whose past has an entry, and its seq: first where it was last seen, then everywhere else."""
        tried = set()
        for agent in self._candidates(client, entry_id, conversation_id):
            if agent not in tried:
                tried.add(agent)
                with suppress(NotFound):
                    if (seq := seq_of(client, agent, entry_id)) is not None:
                        yield agent, seq

    def _candidates(self, client: Client, entry_id: str, conversation_id: str | None) -> Iterator[str]:
        if entry_id in self._places:
            yield self._places[entry_id][0]
        if (foreign := place_in(entry_id)) is not None:
            yield foreign[0]
            return
        if conversation_id is not None:
            with suppress(NotFound):
                yield client.agent(named(self.prefix, conversation_id).name).id
        for agent in client.iter_agents(self.prefix):
            yield agent.id


def _keep(kept: OrderedDict[str, V], key: str, value: V, most: int) -> None:
    """Append a value, and drop the oldest ones if there are too many."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _last_saved(records: Iterable[ConversationRecord]) -> list[ConversationRecord]:
    return sorted(records, key=lambda record: record.updated_at, reverse=True)


def _require_chain(record: ConversationRecord, entries: Sequence[ConversationEntry]) -> None:
    for before, entry in pairwise(entries):
        if entry.parent_id != before.id:
            raise UserError(
                f"new_entries: {entry.id!r} is after {entry.parent_id!r}, and has to be after {before.id!r}"
            )
    if entries and record.head_id != entries[-1].id:
        raise UserError(f"head_id: expected the last of the new entries, {entries[-1].id!r}, got {record.head_id!r}")


def _parent(record: ConversationRecord, entries: Sequence[ConversationEntry]) -> str | None:
    """Return the stored entry that the new ones follow: the newest one of the history before them."""
    parent: str | None = entries[0].parent_id if entries else record.head_id
    return parent


def _instructions(entries: Sequence[ConversationEntry]) -> str | None:
    """Return a conversation's prompt: its initial instructions, which each of its requests repeats."""
    found: str | None = getattr(entries[0].message, "instructions", None) if entries else None
    return found


def _go_to(client: Client, state: State, entry_id: str | None) -> tuple[int, int | None]:
    """Make an entry part of the current conversation.

    Returns:
        the agent's head after that, and the seq of the first item after the entry, which is to be replaced.

    Raises:
        ConversationConflict: the agent's past does not have the entry.
    """
    if entry_id is None:
        return state.head, behind(client, state.agent, 0)
    seq, head = seq_of(client, state.agent, entry_id), state.head
    if seq is None:
        raise ConversationConflict(state.record.conversation_id)
    if not is_current(client, state.agent, entry_id, seq):
        head = client.restore(state.agent, seq, if_seq=head).head
    return head, behind(client, state.agent, seq)


def _additions(
    agent: str,
    record: ConversationRecord,
    entries: Sequence[ConversationEntry],
    begin: int | None = None,
    head: int | None = None,
) -> list[Call[Any]]:
    """Return the commands that add entries and a record.

    Args:
        agent: the agent's name or id.
        record: the record.
        entries: the entries.
        begin: the seq from which items are replaced; ``None`` if none are.
        head: the expected head of the agent.
    """
    note: Any = {"kind": "note", "data_json": note_data(record)}
    if not entries:
        return [requests.add(agent, [note], from_=begin, if_seq=head)]
    items = items_of([entry.message for entry in entries])
    said: list[Any] = [messages_of(item) for item in items]
    refs = [entry.id for entry in entries]
    added = requests.add_items(agent, items, FORMAT, from_=begin, messages=said, refs=refs, if_seq=head)
    return [added, requests.add(agent, [note])]
