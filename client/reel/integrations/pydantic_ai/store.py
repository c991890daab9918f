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

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise
from typing import Any

from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord, ConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.result import StreamedRunResult

from reel.base.light_typing import NamedTuple
from reel.integrations.naming import named
from reel.integrations.newest import Newest
from reel.integrations.pydantic_ai.conversations import MOST_STATES, Conversations
from reel.integrations.worker import Worker


class _Saved(NamedTuple):
    """What was loaded or saved of a conversation: the revision, how many messages, and the last of these."""

    revision: str | None
    size: int
    last: list[Any]


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
        self._conversations = Conversations(prefix)
        # The revision that is being saved, until its record was read; each task has its own.
        self._saving: ContextVar[str | None] = ContextVar("saving", default=None)
        # What was loaded or saved last of a conversation.
        self._saved = Newest[str, _Saved](MOST_STATES)

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
            conversation = await self._streamed(conversation.result, len(conversation.new_messages()))
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
        self._saved[conversation.conversation_id] = noted

    async def _streamed(self, result: Any, added: int) -> Conversation:
        """Return the conversation of a streaming run, which the framework does not tell what it was loaded as.

        Args:
            result: the result of the run.
            added: how many messages the run has added.
        """
        made: Conversation = result.conversation
        saved = self._saved.get(made.conversation_id)
        # If it was loaded or saved again meanwhile, the run knows less than what is there: a conflict.
        ends = {len(made.messages) - added, len(made.messages)}
        end = None if saved is None else next((end for end in ends if made.messages[:end][-1:] == saved.last), None)
        if saved is None or end is None:
            return made
        if end != saved.size:  # the run has joined some of them, or left some out: what is stored stays
            stored = await super().load(made.conversation_id)
            before = [] if stored is None else stored.messages
            made.messages[:end], end = before, len(before)
        made.revision, made.new_message_index = saved.revision, end
        return made

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, or ``None`` if there is no such agent."""
        known = self._conversations.at(self._saving.get(), conversation_id)
        if known is not None:  # it is about to be replaced, which fails if it is not the newest
            self._saving.set(None)
            return replace(known.record)
        agent = named(self.prefix, conversation_id).name
        state = await self._worker.run(lambda client: self._conversations.state(client, agent, conversation_id))
        return state and state.record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records of the living agents, the most recently saved first.

        Args:
            scope: only those with this scope.
            limit: the maximum number of records.
        """
        return await self._worker.run(lambda client: self._conversations.records(client, scope, limit))

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
        await self._worker.run(lambda client: self._conversations.write(client, record, new_entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Purge the agent of a conversation, with everything that no fork shares.

        Raises:
            ConversationConflict: the stored record has another revision.
        """
        await self._worker.run(lambda client: self._conversations.delete(client, conversation_id, expected_revision))

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
        return await self._worker.run(lambda client: self._conversations.history(client, head_id, limit))


def _require_chain(record: ConversationRecord, entries: Sequence[ConversationEntry]) -> None:
    for before, entry in pairwise(entries):
        if entry.parent_id != before.id:
            raise UserError(
                f"new_entries: {entry.id!r} is after {entry.parent_id!r}, and has to be after {before.id!r}"
            )
    if entries and record.head_id != entries[-1].id:
        raise UserError(f"head_id: expected the last of the new entries, {entries[-1].id!r}, got {record.head_id!r}")
