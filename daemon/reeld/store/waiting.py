"""What a conversation waits for, if it waits for a person, without loading its agent: for a list."""

from collections.abc import Iterable

from reel.reading.approvals import IN_RECORDS, KINDS, MESSAGES, NEWEST, asked_for, looked_at_after, waiting
from reel.wire.msgpack_codec import unpack
from reel.wire.short_messages import unpacked_all
from reeld.core.events import Pack
from reeld.core.state import Profile
from reeld.protocol.params import History
from reeld.store.connection import Connection
from reeld.store.going_back import reader
from reeld.store.history import history
from reeld.store.states import SqlLog


def waits_for(
    connection: Connection, profile: Profile, tip: int | None, newest: int | None, pack: Pack, *, asks: bool
) -> str:
    """Return that a conversation waits for a person, and for what; empty if it does not.

    Args:
        connection: reads the log.
        profile: the agent's.
        tip: the newest node of the conversation.
        newest: the id of its newest message.
        pack: encodes messages.
        asks: whether one of its calls may ask a person; whether that is open is read only then.
    """
    (node,) = SqlLog(connection, pack).nodes([newest]) if newest is not None else (None,)
    message = getattr(node, "message", None)
    since = looked_at_after(node.seq if node is not None else 0)
    asked = History(kinds=[*KINDS], inherited=True, last=NEWEST, live=True, since=since)
    records = [unpack(each) for each in history(connection, profile.row, profile.head, asked, pack).items]
    calls: Iterable[tuple[str, str]] = ()
    messages = [] if message is None else [message]
    if asks or any(word in (record["data_json"] or "") for record in records for word in IN_RECORDS):
        conversation, _ = reader(connection).state(tip)
        calls = [(call.id, call.name) for call in conversation.open_calls]
        messages = [entry.message for entry in conversation.entries if entry.message is not None][-MESSAGES:]
    what = asked_for(unpacked_all(messages), calls, records)
    return "" if what is None else waiting(what)
