"""Turns as encoded bytes: what a rendering keeps of a history, and sends.

Cache breakpoints are not part of these bytes: only the newest few are sent, and each new one changes which these are.
They are inserted when a body is assembled, and no digest depends on them, because no provider's cache does.

The extents of turns are kept, because a budget leaves out whole turns, and the size of each item, because a prefix is a
number of items. A prefix is identified by a hash of its bytes; the next rendering continues the same hash.
"""

from array import array
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any, Self

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode, encode_each, parse
from reeld.formats.format import Caching

# Of a hash; enough to tell histories apart.
DIGEST_SIZE = 16
# More cache breakpoints than any API accepts.
_MOST_MARKS = 8
# The bytes of a full chunk. What does not fill one yet is copied when it is read after more was appended.
_FULL_CHUNK = 1 << 17
# How many of the last requested prefixes have their hash kept.
_MOST_HASHES = 4


class TurnExtents(NamedTuple):
    """The places of turns among the items, in columns: a tuple for each turn would take ten times the memory.

    Args:
        items: how many items each turn became; none if nothing was left of it.
        seqs: the seq of the first message of each turn's exchange.
        is_user: whether each is a user turn.
        can_begin: whether a history may begin there: nothing in the turn refers to what was before.
    """

    items: "array[int]"
    seqs: "array[int]"
    is_user: bytearray
    can_begin: bytearray

    def extend(self, other: "TurnExtents") -> None:
        """Append other turns."""
        self.items.extend(other.items)
        self.seqs.extend(other.seqs)
        self.is_user.extend(other.is_user)
        self.can_begin.extend(other.can_begin)

    def slice(self, start: int, end: int) -> "TurnExtents":
        """Return the places of the turns from one up to another."""
        items, seqs, is_user, can_begin = self
        return TurnExtents(items[start:end], seqs[start:end], is_user[start:end], can_begin[start:end])

    def followed_by(self, other: "TurnExtents") -> "TurnExtents":
        """Return the places of these turns and of others."""
        both = self.slice(0, self.turns)
        both.extend(other)
        return both

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return len(self.items)


def extents_of(items: Sequence[int], seqs: Sequence[int], is_user: bytes, can_begin: bytes | bytearray) -> TurnExtents:
    """Return the extents of several turns."""
    return TurnExtents(array("I", items), array("q", seqs), bytearray(is_user), bytearray(can_begin))


class EncodedTurn(NamedTuple):
    """A turn: its items as they are sent, with a comma after each; the rest is as in :meth:`EncodedTurns.add`."""

    items: list[bytes]
    seq: int
    is_user: bool
    can_begin: bool


class Marks(NamedTuple):
    """The cache breakpoints of a turn: the format's handling of them, and the seq and the block number of each."""

    caching: Caching
    places: list[tuple[int | None, int]]


class MarkedItem(NamedTuple):
    """An item with cache breakpoints. It is stored without them, because later messages decide which of them are sent.

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
    """An append-only byte buffer in immutable chunks: data is sent without a copy, even if more is appended."""

    __slots__ = ("_full", "_size", "_tail", "_tail_size")

    def __init__(self, data: bytes = b"") -> None:
        self._full: list[bytes] = []
        # Of the full chunks.
        self._size = 0
        # The pieces after them, which are joined when they fill a chunk, or when they are read.
        self._tail: list[bytes] = []
        self._tail_size = 0
        self += data

    def __len__(self) -> int:
        return self._size + self._tail_size

    def __iadd__(self, data: bytes | memoryview) -> Self:
        self.extend([bytes(data)])
        return self

    def extend(self, pieces: Sequence[bytes]) -> None:
        """Append some pieces."""
        self._tail += pieces
        self._tail_size += sum(map(len, pieces))
        if self._tail_size >= _FULL_CHUNK:
            self._full.append(b"".join(self._tail))
            self._size += self._tail_size
            self._tail, self._tail_size = [], 0

    def parts(self, start: int, end: int) -> list[bytes | memoryview]:
        """Return the bytes from one place up to another, in parts; none is empty."""
        if self._tail_size:
            self._tail = [b"".join(self._tail)]
        chunks = [*self._full, *self._tail] if self._tail_size else self._full
        if start == 0 and end == len(self):  # nearly always
            return [*chunks]
        parts: list[bytes | memoryview] = []
        begin = 0
        for chunk in chunks:
            first, last = max(start - begin, 0), min(end - begin, len(chunk))
            if first < last:
                parts.append(chunk if last - first == len(chunk) else memoryview(chunk)[first:last])
            begin += len(chunk)
        return parts

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from one place up to another."""
        return b"".join(self.parts(start, end))


class EncodedTurns:
    """Turns as the items of a history list: the bytes and the size of each item, with a comma after it."""

    __slots__ = ("_hashes", "data", "extents", "is_anew", "marked", "sizes")

    def __init__(self) -> None:
        self.data = Chunks()
        self.sizes = array("I")
        self.extents = extents_of((), (), b"", b"")
        self.marked: list[MarkedItem] = []
        # Whether nothing that was before these turns is sent.
        self.is_anew = False
        # By the number of items: where these end, and the hash.
        self._hashes: dict[int, tuple[int, Any]] = {}

    def messages(self) -> list[Json]:
        """Return the items of the user's turns that are messages."""
        offsets = self.offsets()
        spans = [span for span, is_user in zip(pairwise(offsets), self.extents.is_user, strict=True) if is_user]
        items = [item for begin, end in spans for item in parse(f"[{self.data.read(begin, end)[:-1].decode()}]")]
        return [item for item in items if "role" in item and "content" in item]

    def begin_anew(self) -> None:
        """Forget all turns: what stands for them follows."""
        self.data, self.sizes, self.marked = Chunks(), array("I"), []
        self.extents = extents_of((), (), b"", b"")
        self._hashes = {}
        self.is_anew = True

    def add(self, items: list[Json], seq: int, *, is_user: bool, can_begin: bool, marks: Marks | None = None) -> None:
        """Append the items of a turn.

        Args:
            items: the items.
            seq: the seq of its exchange's first message.
            is_user: whether it is a user turn.
            can_begin: whether a history may begin here.
            marks: its cache breakpoints, if it has any.
        """
        sent = items if marks is None else self._without_marks(items, marks)
        self.add_all([EncodedTurn(encode_each(sent), seq, is_user, can_begin)])
        if marks:
            self._forget_old_marks()

    def add_all(self, turns: Sequence[EncodedTurn]) -> None:
        """Append turns; many at once take a third of the time."""
        if not turns:
            return
        items, seqs, users, begins = zip(*turns, strict=True)
        encoded = [item for each in items for item in each]
        self.data.extend(encoded)
        self.sizes.extend(map(len, encoded))
        extents = self.extents
        extents.items.extend(map(len, items))
        extents.seqs.extend(seqs)
        extents.is_user.extend(users)
        extents.can_begin.extend(begins)

    def _without_marks(self, items: list[Json], marks: Marks) -> list[Json]:
        """Return items without their cache breakpoints, and note those that have some."""
        offset, places, plain = len(self.data), list(marks.places), list[Json]()
        for item in items:
            found = marks.caching.count(item.get("content"))
            plain.append(marks.caching.keep_newest(item, 0) if found else item)
            size = len(encode(plain[-1]).encode())
            if found:
                self.marked.append(MarkedItem(offset, size, item, places[:found]))
                del places[:found]
            offset += size + 1
        return plain

    def _forget_old_marks(self) -> None:
        """Keep only the items of the newest breakpoints: no API accepts more than a few."""
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
        self.sizes.extend(other.sizes)
        self.extents.extend(other.extents)

    def slice(self, start: int, end: int) -> "EncodedTurns":
        """Return the turns from one up to another."""
        part, before = EncodedTurns(), sum(self.extents.items[:start])
        part.extents = self.extents.slice(start, end)
        part.sizes = self.sizes[before : before + sum(part.extents.items)]
        begin, size = sum(self.sizes[:before]), sum(part.sizes)
        part.data = Chunks(self.data.read(begin, begin + size))
        part.marked = [
            found._replace(offset=found.offset - begin) for found in self.marked if begin <= found.offset < begin + size
        ]
        return part

    def rewritten(self, change: Callable[[Json], Json]) -> "EncodedTurns":
        """Return these turns with each item changed; an item that is returned as it was is not written again."""
        made, begin, marked = EncodedTurns(), 0, {found.offset: found for found in self.marked}
        made.extents = self.extents
        for size in self.sizes:
            written = self.data.read(begin, begin + size)
            item = parse(written[:-1].decode())
            if (changed := change(item)) is not item:
                written = f"{encode(changed)},".encode()
            if (found := marked.get(begin)) is not None:
                kept = None if found.item is None else change(found.item)
                made.marked.append(MarkedItem(len(made.data), len(written) - 1, kept, found.places))
            made.sizes.append(len(written))
            made.data += written
            begin += size
        return made

    def offsets(self) -> list[int]:
        """Return where the bytes of each turn begin, and where those of the last one end."""
        ends = (0, *accumulate(self.sizes))
        return [ends[items] for items in (0, *accumulate(self.extents.items))]

    def hash(self, items: int) -> Any:
        """Return a hash of the bytes of the first items, to which more can be added.

        It continues a kept hash: a prefix of the current rendering was hashed the last time.
        """
        if (kept := self._hashes.get(items)) is not None:  # nearly always, when rendered again
            return kept[1].copy()
        known = next((count for count in reversed(self._hashes) if count < items), 0)
        begin, made = (self._hashes[known][0], self._hashes[known][1].copy()) if known else (0, sha256())
        if items:
            end = begin + sum(self.sizes[known:items])
            for part in self.data.parts(begin, end):
                made.update(part)
            self._hashes[items] = end, made.copy()
            if len(self._hashes) > _MOST_HASHES:
                del self._hashes[next(iter(self._hashes))]
        return made

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.sizes)


def digest(data: bytes | bytearray) -> bytes:
    """Return a digest of some bytes."""
    return sha256(data).digest()[:DIGEST_SIZE]
