"""Cache breakpoints of a body: selecting those of the messages, and placing new ones.

A provider accepts only a few. The newest are the useful ones: they end the part that the next request repeats. So the
newest are sent, and the older ones are left out and reported (rule A7). If a body has none, they can be placed where
they are useful (rule A15).
"""

from collections.abc import Iterable

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode, parse
from reel.providers.changes import Change
from reeld.formats.encoded_turns import EncodedTurns
from reeld.formats.format import Caching

_TOO_MANY = "the provider accepts only a few cache breakpoints, and newer ones are sent"


class Marked(NamedTuple):
    """An item with breakpoints: the place of the bytes without them, and their replacement."""

    offset: int
    size: int
    data: bytes


def too_many(number: int, seq: int | None) -> list[Change]:
    """Return a report line for each cache breakpoint of the prompt that is left out."""
    return [Change(seq, None, "dropped", _TOO_MANY)] * number


def newest_marks(
    chunks: Iterable[EncodedTurns], room: int, caching: Caching
) -> tuple[list[list[Marked]], list[Change]]:
    """Choose the newest breakpoints of a history.

    Args:
        chunks: the turns, in their order.
        room: how many may be sent.
        caching: the format's handling of breakpoints.

    Returns:
        for each chunk the items with breakpoints, and a report line for each breakpoint that is left out.
    """
    found: list[list[Marked]] = []
    left_out: list[Change] = []
    for turns in reversed(list(chunks)):
        sent: list[Marked] = []
        for marked in reversed(turns.marked):
            count = min(len(marked.places), room) if marked.item is not None else 0
            room -= count
            if count and marked.item is not None:
                data = encode(caching.keep_newest(marked.item, count)).encode()
                sent.insert(0, Marked(marked.offset, marked.size, data))
            old = marked.places[: len(marked.places) - count]
            left_out[:0] = [Change(seq, block, "dropped", _TOO_MANY) for seq, block in old]
        found.insert(0, sent)
    return found, left_out


def mark_last(turns: EncodedTurns, caching: Caching, ttl: str, model: str | None) -> list[Marked]:
    """Place a breakpoint at the end of some turns; none if nothing there can have one."""
    end = len(turns.data)
    for size in reversed(turns.sizes):
        start = end - size
        data = turns.data.read(start, end - 1)
        item = parse(data.decode())
        if encode(item).encode() != data:
            return []
        if (marked := caching.mark_end(item, ttl, model)) is not None:
            return [Marked(start, len(data), encode(marked).encode())]
        end = start
    return []


def spliced(turns: EncodedTurns, marked: list[Marked]) -> list[bytes | memoryview]:
    """Return the bytes of some turns with items replaced by those with breakpoints, without copying the rest."""
    parts: list[bytes | memoryview] = []
    start = 0
    for offset, size, data in marked:
        parts += turns.data.parts(start, offset)
        parts.append(data)
        start = offset + size
    return parts + turns.data.parts(start, len(turns.data))


def reserve(chunks: Iterable[EncodedTurns]) -> int:
    """Return the most bytes that the breakpoints of some turns can take."""
    sizes = (
        len(encode(marked.item).encode()) - marked.size
        for turns in chunks
        for marked in turns.marked
        if marked.item is not None
    )
    return sum(sizes)


def has_marks(item: Json, caching: Caching) -> bool:
    """Whether a body without its history has a breakpoint."""
    return bool(caching.own(item) or caching.count(item.get("system")))
