"""Conversations of Pydantic AI as agents of the daemon. :mod:`reel.integrations.pydantic_ai.store` has the theory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord
from pydantic_ai.exceptions import UserError

from reel import requests
from reel.base.errors import Conflict, Exists, NotFound, ReelError
from reel.integrations.naming import Named, is_hashed, named, tag_value
from reel.integrations.newest import Newest
from reel.integrations.pydantic_ai.entries import FORMAT, behind, is_current, items_of, place_in, read_entries, seq_of
from reel.integrations.pydantic_ai.messages import messages_of
from reel.integrations.pydantic_ai.records import State, begun_by_others, note_data, read_state
from reel.replies import Committed, Hello
from reel.requests import Call
from reel.sync.client import Client

# The tag of an agent with the scope of its conversation.
_SCOPE: Final = "scope"
# The number of entries whose agent is remembered, and of revisions whose state is remembered.
_MOST_PLACES: Final = 10_000
MOST_STATES: Final = 1_000


class Conversations:
    """Reads and writes conversations with the blocking client, and remembers what it has read or written.

    Args:
        prefix: the prefix of the agents' names.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        # The agents of entries that a record named; the framework asks for an entry by its id alone.
        self._places = Newest[str, tuple[str, int]](_MOST_PLACES)
        # The state at a revision, and what the daemon said of itself on the connection that all of these come from.
        self._states = Newest[str, State](MOST_STATES)
        self._server: Hello | None = None

    def at(self, revision: str | None, conversation_id: str) -> State | None:
        """Return what is remembered of a conversation at a revision."""
        state = None if revision is None else self._states.get(revision)
        return None if state is None or state.record.conversation_id != conversation_id else state

    def state(self, client: Client, agent: str, conversation_id: str | None = None) -> State | None:
        """Return the state of a conversation, and remember it; see :func:`read_state`."""
        state = read_state(client, agent, conversation_id)
        if state is not None:
            self._remember(client, state)
        return state

    def records(self, client: Client, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        """Return the records of the living agents, the most recently saved first.

        Args:
            client: reads them.
            scope: only those with this scope.
            limit: the maximum number of records.
        """
        found: list[ConversationRecord] = []
        tags = {} if scope is None else {_SCOPE: tag_value(scope)}
        pages = client.pages(requests.agents(self._prefix, alive=True, order="updated", tags=tags))
        for agent in (agent for page in pages for agent in page.agents):
            if limit is not None and len(found) >= limit:
                found = _last_saved(found)[:limit]
                # A record is stored after it was made: no agent changed before that has a newer one.
                if not found or agent.updated < int(found[-1].updated_at.timestamp() * 1000):
                    break
            name = agent.name.removeprefix(self._prefix)
            record = self._listed(client, agent.id, None if is_hashed(name) else name)
            if record is not None and (scope is None or record.scope == scope):
                found.append(record)
        return _last_saved(found)[:limit]

    def _remember(self, client: Client, state: State) -> None:
        """Remember a state by its revision, and the locations of the entries that it points at."""
        if client.server is not self._server:
            self._states.clear()
            self._server = client.server
        # The framework may modify what it receives, or has made.
        state = state._replace(record=replace(state.record))
        self._states[state.record.revision] = state
        for entry in (*state.record.branches, state.record.head_id):
            if entry is not None:
                self._places[entry] = state.agent, state.head

    def _listed(self, client: Client, uid: str, conversation_id: str | None) -> ConversationRecord | None:
        """Return the record of a conversation; an unreadable one hides neither the conversation nor others."""
        try:
            state = self.state(client, uid, conversation_id)
        except UserError:
            return begun_by_others(client, uid, conversation_id or uid)
        return None if state is None else state.record

    def write(
        self,
        client: Client,
        record: ConversationRecord,
        entries: Sequence[ConversationEntry],
        expected_revision: str | None,
    ) -> None:
        """Store a record and new entries.

        Args:
            client: writes them.
            record: the record.
            entries: in order, each after the entry it points at.
            expected_revision: the revision of the replaced record; ``None`` if there is no record yet.

        Raises:
            ConversationConflict: the stored record has another revision, or a referenced entry is gone.
        """
        agent = named(self._prefix, record.conversation_id)
        tags = agent.tags if record.scope is None else {**agent.tags, _SCOPE: tag_value(record.scope)}
        # If another client has written since, the head has changed.
        state = self.at(expected_revision, record.conversation_id)
        if state is None or not client.is_still(self._server):
            state = self.state(client, agent.name, record.conversation_id)
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
                state = self.state(client, agent.name, record.conversation_id)
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

    def delete(self, client: Client, conversation_id: str, expected_revision: str) -> None:
        """Purge the agent of a conversation.

        Raises:
            ConversationConflict: the stored record has another revision.
        """
        agent = named(self._prefix, conversation_id).name
        while True:
            state = self.state(client, agent, conversation_id)
            if state is None or state.record.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            try:
                client.purge(state.agent, if_seq=state.head)
            except (Conflict, NotFound):
                continue  # another client wrote in the meantime: check the revision again
            return

    def history(self, client: Client, head_id: str, limit: int | None) -> list[ConversationEntry]:
        """Return the entries up to one of them, in order; with a limit, only the last ones.

        Raises:
            LookupError: there is no such entry.
        """
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
                yield client.agent(named(self._prefix, conversation_id).name).id
        for agent in client.iter_agents(self._prefix):
            yield agent.id


def _last_saved(records: Iterable[ConversationRecord]) -> list[ConversationRecord]:
    return sorted(records, key=lambda record: record.updated_at, reverse=True)


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
