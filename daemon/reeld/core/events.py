"""Events, and the entries and marks that they become in a conversation."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.values import new_tuple
from reel.said.blocks import InvalidRecord
from reel.said.kinds import ROLES
from reel.said.messages import LATE
from reel.said.records import Parts, parse_data, read_row, system_text
from reel.wire.msgpack_codec import packer, unpack
from reel.wire.short_messages import BEGINNING, LONGER_BEGINNING, unpacked

Pack: TypeAlias = Callable[[Any], bytes]

_pack = packer()
# What the message of a plain text begins with; see `text_message`. The kinds are those whose rows may have a
# text and no data.
TEXT_HEADS: dict[str | None, bytes] = {kind: BEGINNING + _pack(ROLES[kind]) for kind in ("user", "assistant")}
# How many seqs of an agent are left out after those that a server has lost, because another daemon may know of more.
UNUSED = 1 << 10


class Tools(NamedTuple):
    """The calls that a message makes, as pairs of id and name, and the ids that it answers."""

    calls: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


class Origin(NamedTuple):
    """The origin of an imported event: when it was sent, in milliseconds since the epoch, and its id there."""

    sent: int | None = None
    ref: str | None = None

    def as_map(self) -> dict[str, Any]:
        """Return what is known of it, in the form of the protocol."""
        sent = {} if self.sent is None else {"sent": self.sent}
        return sent if self.ref is None else {**sent, "ref": self.ref}


# Bytes of an entry besides its texts: the tuple, its numbers and its slot in the list, as measured.
ENTRY_SIZE = 300


class Entry(NamedTuple):
    """A conversation event as it is kept in memory: the record, and its message as MessagePack.

    ``message`` is in short (:mod:`reel.wire.short_messages`), and ``None`` if the record has none: a system event, or a
    row that cannot be read. ``kept`` is the content, but ``None`` for a plain text: its message has the text, which
    need not be in memory twice.
    """

    id: int
    seq: int
    kind: str
    kept: str | None
    data_json: str | None
    time: int
    message: bytes | None
    tools: Tools | None
    origin: Origin | None = None

    @property
    def content(self) -> str | None:
        """The content, as it is stored."""
        if self.message is None or self.data_json is not None:
            return self.kept
        text: str = unpack(self.message)[3]
        return text


def entry(
    event_id: int,
    seq: int,
    kind: str,
    content: str | None,
    data_json: str | None,
    time: int,
    message: bytes | None,
    tools: Tools | None,
) -> Entry:
    """Return the entry of a conversation event that has been read."""
    kept = content if message is None or data_json is not None else None
    return new_tuple(Entry, (event_id, seq, kind, kept, data_json, time, message, tools, None))


def size_in_memory(entry: Entry) -> int:
    """Return about how many bytes an entry takes in memory."""
    size = ENTRY_SIZE
    if entry.message is not None:
        size += len(entry.message)
    if entry.kept is not None:
        size += len(entry.kept)
    if entry.data_json is not None:
        size += len(entry.data_json)
    return size


class Mark(NamedTuple):
    """A mark in a conversation."""

    id: int
    seq: int
    label: str | None


Node: TypeAlias = Entry | Mark


class Event(NamedTuple):
    """An event without its id, which the commit gives it.

    ``parent`` is the id of a committed node, or ``~n`` for the n-th event of the same transaction, whose id is not
    known before the commit: that of the newest of ``n`` events is ``-n``.
    """

    seq: int
    command: int
    kind: str
    content: str | None
    data_json: str | None
    parent: int | None
    time: int
    client: str | None
    message: bytes | None = None
    tools: Tools | None = None
    origin: Origin | None = None

    def entry(self, event_id: int) -> Entry:
        """Return the entry that this conversation event becomes."""
        seq, _, kind, content, data_json, _, time, _, message, tools, origin = self
        kept = content if message is None or data_json is not None else None
        return new_tuple(Entry, (event_id, seq, kind, kept, data_json, time, message, tools, origin))


def read(
    pack: Pack,
    kind: str,
    content: str | None,
    data_json: str | None,
    seq: int,
    time: int,
    origin: Origin | None = None,
) -> tuple[bytes | None, Tools | None]:
    """Return the message of a row as MessagePack, in short, and its calls and results.

    Raises:
        InvalidRecord: the kind of the row is a message, but the row is not a valid one.
    """
    if data_json is None and kind in TEXT_HEADS and type(content) is str:
        message = text_message(pack, TEXT_HEADS[kind], content, seq, pack(time))
        return message if origin is None else with_origin(pack, message, origin), None
    return pack_message(pack, read_row(kind, content, data_json), seq, time, origin)


def text_message(pack: Pack, head: bytes, text: str, seq: int, packed_time: bytes) -> bytes:
    """Return the message of a plain text.

    Args:
        pack: encodes a value.
        head: what it begins with, of ``TEXT_HEADS``.
        text: the text.
        seq: the seq of the row.
        packed_time: the time of the row as MessagePack, which is the same for many.
    """
    return b"".join((head, packed_time, pack(seq), pack(text)))


def with_origin(pack: Pack, message: bytes, origin: Origin) -> bytes:
    """Return the message of a plain text with the fields of its origin."""
    return b"".join((LONGER_BEGINNING, message[1:], pack(origin.as_map())))


def pack_message(
    pack: Pack, parts: Parts | None, seq: int, time: int, origin: Origin | None = None
) -> tuple[bytes | None, Tools | None]:
    """Return what :func:`read` does, from the parsed parts of a row with data."""
    if parts is None:
        return None, None
    role, content, metadata = parts
    made = {"role": role, "content": content, "provider_metadata": metadata, "seq": seq, "time": time}
    if origin is not None:
        made |= origin.as_map()
    calls: list[tuple[str, str]] = []
    results: list[str] = []
    for block in content:
        if block["type"] == "tool_call":
            calls.append((block["id"], block["name"]))
        elif block["type"] == "tool_result":
            results.append(block["tool_call_id"])
    tools = new_tuple(Tools, (tuple(calls), tuple(results))) if calls or results else None
    return pack(made), tools


def late_by(metadata: Mapping[str, Any]) -> int:
    """Return by how many messages an answer with this metadata is late; 0 if it is at its place."""
    count = metadata.get(LATE)
    return count if type(count) is int and count > 0 else 0


def is_late(entry: Entry) -> bool:
    """Return whether messages that this entry does not answer are before it."""
    # Few have the word in their data, and the others need not be read.
    if entry.message is None or entry.data_json is None or f'"{LATE}"' not in entry.data_json:
        return False
    return late_by(unpacked(entry.message)["provider_metadata"]) > 0


def system_of(prompt: Entry | None) -> str | None:
    """Return the system prompt that a system event sets; ``None`` if it removes it, or there is no such event."""
    return None if prompt is None else system_text(prompt.content)


def label_of(data_json: str | None) -> str | None:
    """Return a mark's label; a mark whose data cannot be read has none."""
    label = data_of(data_json).get("label")
    return label if isinstance(label, str) else None


def data_of(data_json: str | None) -> dict[str, Any]:
    """Return the data of a state event; data that cannot be read is empty."""
    try:
        return parse_data(data_json or "{}")
    except InvalidRecord:
        return {}
