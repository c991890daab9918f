"""The record of a conversation of Pydantic AI: a note of the agent, and the changes of other clients since."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.conversation_store import ConversationRecord
from pydantic_ai.exceptions import UserError
from pydantic_core import PydanticSerializationError

from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.integrations.pydantic_ai.entries import is_current, may_be_deep, seq_of, tip, unreadable
from reel.said.messages import Event
from reel.sync.client import Client

# The key of a note's data that holds a record, as JSON text: it may be nested deeper than data may.
_RECORD: Final = "pydantic_ai_record"
# The number of notes searched at once for the newest record; other clients may write notes, too.
_NOTES: Final = 100
_RECORDS: Final = TypeAdapter(ConversationRecord)


class State(NamedTuple):
    """The state of a conversation in the daemon: the agent's id and head, and the current record."""

    agent: str
    head: int
    record: ConversationRecord


def read_state(client: Client, agent: str, conversation_id: str | None = None) -> State | None:
    """Return the state of a conversation; ``None`` if there is no such agent.

    Args:
        client: the client.
        agent: the agent's name or id.
        conversation_id: the framework's id. Default: the id in the record.

    Raises:
        UserError: this version of the framework cannot read the record.
    """
    try:
        uid, head, at, record = _newest_record(client, agent)
        if record is None:
            record = begun_by_others(client, uid, conversation_id or agent)
        elif at != head and (newest := tip(client, uid)) != record.head_id:
            record = _moved_by_others(client, uid, record, newest)
    except NotFound:
        return None
    return State(uid, head, record if conversation_id is None else replace(record, conversation_id=conversation_id))


def _newest_record(client: Client, agent: str) -> tuple[str, int, int, ConversationRecord | None]:
    """Return an agent's id and head, and the seq of the newest note with a record and that record, if there is one."""
    page = client.history(agent, kinds=["note"], last=1)
    uid, head = page.agent, page.head
    while True:
        for note in reversed(page.events):
            if (record := _record_in(note)) is not None:
                return uid, head, note["seq"], record
        if not page.events:
            return uid, head, 0, None
        page = client.history(uid, kinds=["note"], last=_NOTES, before=page.events[0]["seq"])


def _record_in(note: Event) -> ConversationRecord | None:
    """Return the record in a note; ``None`` if another client wrote the note, or its text was erased.

    Raises:
        UserError: this version of the framework cannot read it.
    """
    try:
        kept = json.loads(note["data_json"] or "{}").get(_RECORD)
        return None if kept is None else _RECORDS.validate_json(kept)
    except ValidationError as error:
        why = error.errors(include_url=False, include_input=False)[0]
        if why["type"] in ("json_invalid", "json_type"):
            return None
        raise UserError(
            f"the record of the conversation cannot be read: {'.'.join(map(str, why['loc']))}: {why['msg']}; "
            "use the version of pydantic-ai that has saved it"
        ) from None
    except ValueError:  # a number of more digits than Python reads
        return None


def begun_by_others(client: Client, uid: str, conversation_id: str) -> ConversationRecord:
    """Return the record of an agent without a saved one: another program has created it."""
    newest = tip(client, uid)
    time = client.history(uid, last=1).events[-1]["time"]
    return ConversationRecord(
        conversation_id=conversation_id,
        head_id=newest,
        revision=f"{uid}+{newest}",
        updated_at=datetime.fromtimestamp(time / 1000, UTC),
    )


def _moved_by_others(client: Client, uid: str, record: ConversationRecord, newest: str | None) -> ConversationRecord:
    """Return the record of a conversation that others have extended or rewound."""
    head_id, pending, branches = record.head_id, record.deferred_tool_requests, record.branches
    seq = None if head_id is None else seq_of(client, uid, head_id)
    if head_id is not None and (seq is None or not is_current(client, uid, head_id, seq)):
        pending, branches = None, [*(entry for entry in branches if entry != head_id), head_id]
    return replace(
        record,
        head_id=newest,
        deferred_tool_requests=pending,
        branches=[entry for entry in branches if entry != newest],
        revision=f"{record.revision}+{newest}",
    )


def note_data(record: ConversationRecord) -> str:
    """Return the data of a note that holds a record.

    Raises:
        UserError: JSON cannot represent it, or the framework could not read it back.
    """
    try:
        text = _RECORDS.dump_json(record).decode()
        if may_be_deep(text):
            _RECORDS.validate_json(text)
    except PydanticSerializationError as error:
        raise UserError(f"record: there is no JSON for it: {error}") from None
    except ValidationError as error:
        raise UserError(f"record: {unreadable(error)}") from None
    return json.dumps({_RECORD: text})
