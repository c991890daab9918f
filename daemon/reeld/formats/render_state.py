"""The state of an incremental rendering: a history is rendered once, and later only its new messages.

Theory of operation
-------------------

:func:`~reeld.formats.render.render` returns a :class:`RenderState` besides the body and takes it back the next time.
It holds the settled exchanges as encoded bytes, and the repair state after them. Because a settled exchange never
changes (:mod:`~reeld.formats.repair`), the next rendering repairs and writes only what comes after, and joins bytes.
For 10,000 plain messages that takes 2 ms of CPU instead of 22, and instead of 60 to 110 if half are calls and results.

A state is valid for one conversation, format, model and history settings. The conversation may have moved meanwhile:
after a rewind it has other messages. That is checked with one id: an event's id determines everything before it, so
the state covers a conversation if the last entry that it knows is still in its place. A state that no longer fits is
not extended but replaced, and used once more to say where the history parted from what an ``after`` named.

Cache breakpoints are not part of these bytes: only the newest few are sent, and each new one changes which these are.
They are put in when a body is made, and no digest depends on them, because no provider's cache does.

Each turn has a :class:`TurnExtent`, because a budget leaves out whole turns. Each item has a digest, so that the hash
of any prefix costs a slice and no encoding.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple, Self

from reel.strict_json import Json, encode
from reeld.core.events import Entry
from reeld.formats.format import Caching
from reeld.formats.model import Change, HistorySettings, RenderContext
from reeld.formats.repair_state import RepairState
from reeld.formats.templates import NO_TEMPLATES, Shape, TurnTemplate

DIGEST_SIZE = 16
# The size of a tuple of numbers or short texts, estimated: it need not be exact.
_OBJECT_SIZE = 200
# More cache breakpoints than any API accepts.
_MOST_MARKS = 8
# The bytes of a full chunk. A chunk that is not full yet is copied whenever it is read.
_FULL_CHUNK = 1 << 17
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


class TurnExtent(NamedTuple):
    """The place of one turn among the items.

    Args:
        items: how many items it became; none if nothing was left of it.
        size: their bytes, with a comma after each.
        seq: the seq of its exchange's first message.
        is_user: whether it is a user turn.
        can_begin: whether a history may begin here: nothing in it refers to what was before.
    """

    items: int
    size: int
    seq: int
    is_user: bool
    can_begin: bool


class ServerState(NamedTuple):
    """What the provider keeps between two requests: the seq of the message that says so, and its value."""

    seq: int
    value: Json


class Marks(NamedTuple):
    """The cache breakpoints of a turn: what knows them, and the seq and the number of the block of each."""

    caching: Caching
    places: list[tuple[int | None, int]]


class MarkedItem(NamedTuple):
    """An item with cache breakpoints. It is stored without them, because what follows decides which of them are sent.

    Args:
        offset: where its bytes begin.
        size: how many there are, without the comma.
        item: the item with its breakpoints; ``None`` if they are too old to be sent ever again.
        places: the seq and the number of the block of each.
    """

    offset: int
    size: int
    item: Json | None
    places: list[tuple[int | None, int]]


class Chunks:
    """Bytes that only grow, in chunks that never change: what is sent of them is not copied, even if more comes."""

    __slots__ = ("_full", "_size", "_tail")

    def __init__(self, data: bytes = b"") -> None:
        self._full: list[bytes] = []
        self._tail = bytearray()
        # Of the full chunks.
        self._size = 0
        self += data

    def __len__(self) -> int:
        return self._size + len(self._tail)

    def __iadd__(self, data: bytes | memoryview) -> Self:
        tail = self._tail
        tail += data
        if len(tail) >= _FULL_CHUNK:
            self._full.append(bytes(tail))
            self._size += len(tail)
            self._tail = bytearray()
        return self

    def parts(self, start: int, end: int) -> Iterator[bytes | memoryview]:
        """Return the bytes from one place up to another, in parts; none is empty."""
        begin = 0
        for chunk in (*self._full, bytes(self._tail)):
            first, last = max(start - begin, 0), min(end - begin, len(chunk))
            if first < last:
                yield chunk if last - first == len(chunk) else memoryview(chunk)[first:last]
            begin += len(chunk)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from one place up to another."""
        return b"".join(self.parts(start, end))


class EncodedTurns:
    """Turns as the items of a history list: the bytes of each item with a comma after it, and a digest of each."""

    __slots__ = ("data", "digests", "extents", "marked")

    def __init__(self) -> None:
        self.data = Chunks()
        self.digests = bytearray()
        self.extents: list[TurnExtent] = []
        self.marked: list[MarkedItem] = []

    def add(self, items: list[Json], seq: int, *, is_user: bool, can_begin: bool, marks: Marks | None = None) -> None:
        """Append the items of a turn.

        Args:
            items: the items.
            seq: the seq of its exchange's first message.
            is_user: whether it is a user turn.
            can_begin: whether a history may begin here.
            marks: its cache breakpoints, if it has any.
        """
        encoded = [encode(item).encode() for item in items] if marks is None else self._without_marks(items, marks)
        self.add_encoded(encoded, seq, is_user=is_user, can_begin=can_begin)
        if marks:
            self._forget_old_marks()

    def add_encoded(self, items: list[bytes], seq: int, *, is_user: bool, can_begin: bool) -> None:
        """Append the items of a turn in UTF-8, without cache breakpoints; the arguments are those of :meth:`add`."""
        data = b"%b," % items[0] if len(items) == 1 else b"".join([part for item in items for part in (item, b",")])
        self.data += data
        for item in items:
            self.digests += blake2b(item, digest_size=DIGEST_SIZE).digest()
        self.extents.append(_new(TurnExtent, (len(items), len(data), seq, is_user, can_begin)))

    def add_turns(self, items: list[bytes], extents: list[TurnExtent]) -> None:
        """Append turns without cache breakpoints: their items in UTF-8, and their extents."""
        self.data += b"".join([b"%b," % item for item in items])
        self.digests += b"".join([blake2b(item, digest_size=DIGEST_SIZE).digest() for item in items])
        self.extents += extents

    def _without_marks(self, items: list[Json], marks: Marks) -> list[bytes]:
        """Encode items without their cache breakpoints, and note those that have some."""
        offset, places, encoded = len(self.data), list(marks.places), list[bytes]()
        for item in items:
            found = marks.caching.count(item)
            data = encode(marks.caching.keep_newest(item, 0) if found else item).encode()
            if found:
                self.marked.append(MarkedItem(offset, len(data), item, places[:found]))
                del places[:found]
            encoded.append(data)
            offset += len(data) + 1
        return encoded

    def _forget_old_marks(self) -> None:
        """Keep the items of the newest breakpoints only: no API accepts more than a few."""
        newer = 0
        for index in reversed(range(len(self.marked))):
            marked = self.marked[index]
            if marked.item is None:
                break
            if newer >= _MOST_MARKS:
                self.marked[index] = marked._replace(item=None)
            newer += len(marked.places)

    def extend(self, other: "EncodedTurns") -> None:
        """Append other turns."""
        self.marked += [found._replace(offset=found.offset + len(self.data)) for found in other.marked]
        for part in other.data.parts(0, len(other.data)):
            self.data += part
        self.digests += other.digests
        self.extents += other.extents

    def slice(self, start: int, end: int) -> "EncodedTurns":
        """Return the turns from one up to another."""
        part = EncodedTurns()
        part.extents = self.extents[start:end]
        begin, size = sum(turn.size for turn in self.extents[:start]), sum(turn.size for turn in part.extents)
        part.data = Chunks(self.data.read(begin, begin + size))
        part.marked = [
            found._replace(offset=found.offset - begin) for found in self.marked if begin <= found.offset < begin + size
        ]
        before, count = sum(turn.items for turn in self.extents[:start]), sum(turn.items for turn in part.extents)
        part.digests = self.digests[before * DIGEST_SIZE : (before + count) * DIGEST_SIZE]
        return part

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.digests) // DIGEST_SIZE


def digest(data: bytes | bytearray) -> bytes:
    """Return a digest of some bytes."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest()


class RenderState:
    """The settled exchanges of one conversation in one format, for one model.

    It belongs to one caller at a time: rendering extends it in place.

    Args:
        format_name: the name of the format.
        model: the model.
        settings: what the rest of the body leaves to the history.
    """

    __slots__ = (
        "count",
        "format_name",
        "last",
        "model",
        "repair",
        "report",
        "sent_once",
        "server_state",
        "settings",
        "shapes",
        "templates",
        "turns",
    )

    def __init__(self, format_name: str, model: str | None, settings: HistorySettings) -> None:
        self.format_name = format_name
        self.model = model
        self.settings = settings.of_settled
        self.sent_once: dict[str, None] = {}
        self.repair = RepairState()
        self.turns = EncodedTurns()
        self.report: list[Change] = []
        self.server_state: ServerState | None = None
        self.templates = NO_TEMPLATES
        # The templates of turns with calls or results, each from when it was first looked for.
        self.shapes: dict[Shape, TurnTemplate | None] = {}
        # How many of the conversation's entries it covers, and the id of the last.
        self.count = 0
        self.last = 0

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        objects = len(self.turns.extents) + len(self.report) + len(self.turns.marked)
        objects += sum(shape.number for shape in self.shapes)
        return len(self.turns.data) + len(self.turns.digests) + _OBJECT_SIZE * objects

    def context(self) -> RenderContext:
        """Return the context in which the turns after those that it covers are written."""
        settings = self.settings
        context = RenderContext(self.model, by_id=settings.by_id, past_reasoning=settings.past_reasoning)
        context.sent_once = self.sent_once
        return context

    def covers(self, entries: Sequence[Entry]) -> bool:
        """Whether these entries begin with those that it covers."""
        return self.count == 0 or (self.count <= len(entries) and entries[self.count - 1].id == self.last)

    def fits(self, format_name: str, model: str | None, settings: HistorySettings) -> bool:
        """Whether it is for this format, model and these settings."""
        return (self.format_name, self.model, self.settings) == (format_name, model, settings.of_settled)
