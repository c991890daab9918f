"""Makes the groups of signatures of which :mod:`reeld.search.trigrams` tells.

To make groups takes some thousand rows each time, however few pieces they have. So they are made only of 640 kB of
text, or of the rest of a full volume; and when a volume is full, its groups are put together.
"""

import sqlite3
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reeld.search import trigrams
from reeld.search.attached_log import WRITING
from reeld.search.signatures import Signature, columns_of, pieces
from reeld.search.trigrams import Group, Kind
from reeld.search.volumes import Volume, down_from
from reeld.store.connection import transaction

# The characters and events of which groups are made at once.
_CHARACTERS, _EVENTS = 640 << 10, trigrams.MOST_WAITING
# The characters of a word with what is around it, by which texts are judged before they are read.
_WORD = 6
# Seconds of one batch.
_SECONDS = 0.1
# The pieces of a group, so that eight rows fill a page; and so few that they take as many bits as the next ones.
_PIECES, _FEW = 3968, 128
# Yields the ids and texts of the events behind an id, up to another one.
ReadTexts: TypeAlias = Callable[[int, int], Generator[tuple[int, str], None, None]]


class _Piece(NamedTuple):
    """A piece of the text of an event."""

    event: int
    signature: Signature


def make(connection: sqlite3.Connection, texts: ReadTexts) -> bool:
    """Make the next groups, of the newest volumes first; return whether there is more to do."""
    ends = time.monotonic() + _SECONDS
    for number, volume in enumerate(down_from(connection, 1 << 62)):
        while _make_some(connection, volume, texts, is_full=number > 0):
            if time.monotonic() > ends:
                return True
    return False


def _make_some(connection: sqlite3.Connection, volume: Volume, texts: ReadTexts, *, is_full: bool) -> bool:
    """Make the next groups of a volume; return whether there were some to make."""
    after = trigrams.end_of(connection, volume)
    last = connection.execute("SELECT max(event) FROM facts WHERE event < ?", (volume.end,)).fetchone()[0] or 0
    if last <= after or not (is_full or _is_enough(connection, after, last)):
        return False
    by_kind = defaultdict[Kind, list[_Piece]](list)
    characters, upto = 0, last
    with closing(texts(after, last)) as rows:
        for number, (event, text) in enumerate(islice(rows, _EVENTS), 1):
            signatures = list(map(Signature, pieces(text)))
            for signature in signatures:
                by_kind[Kind(signature.size, len(signatures) == 1)].append(_Piece(event, signature))
            characters += len(text)
            if characters >= _CHARACTERS or number == _EVENTS:
                upto = event
                break
    with transaction(connection, WRITING):
        for kind, some in _without_few(by_kind):
            missing = -len(some) % 8
            events = array("q", [*(piece.event for piece in some), *[0] * missing])
            bits = [*(piece.signature.bits(kind.size) for piece in some), *[bytes(kind.size)] * missing]
            _insert(connection, volume, upto, kind, events, columns_of(bits))
        if not by_kind:
            trigrams.insert(connection, volume.number, upto, Kind(0, is_whole=True), array("q"), [])
        if is_full and upto == last:
            _put_together(connection, volume, last)
    return True


def _is_enough(connection: sqlite3.Connection, after: int, last: int) -> bool:
    """Return whether the events behind one, up to another, have enough words for groups; no text is read for that."""
    query = "SELECT count(*), total(length) FROM facts WHERE event > ? AND event <= ?"
    events, words = connection.execute(query, (after, last)).fetchone()
    return bool(events >= _EVENTS or words * _WORD >= _CHARACTERS)


def _without_few(by_kind: Mapping[Kind, list[_Piece]]) -> Iterator[tuple[Kind, list[_Piece]]]:
    """Yield pieces by kind; few of one size among those of the next larger one that there is."""
    for is_whole in (False, True):
        few: list[_Piece] = []
        sizes = sorted(kind.size for kind in by_kind if kind.is_whole == is_whole)
        for size in sizes:
            kind = Kind(size, is_whole)
            some = [*few, *by_kind[kind]]
            few = some if len(some) < _FEW and size < sizes[-1] else []
            if not few:
                yield kind, some


def _insert(
    connection: sqlite3.Connection,
    volume: Volume,
    last: int,
    kind: Kind,
    events: "array[int]",
    columns: Sequence[bytes],
) -> None:
    """Insert pieces in as many groups as they need."""
    for begin in range(0, len(events), _PIECES):
        some = [column[begin // 8 : (begin + _PIECES) // 8] for column in columns]
        trigrams.insert(connection, volume.number, last, kind, events[begin : begin + _PIECES], some)


def _put_together(connection: sqlite3.Connection, volume: Volume, last: int) -> None:
    """Put the groups of a volume with pieces of one kind together."""
    by_kind = defaultdict[Kind, list[Group]](list)
    for group in trigrams.groups_of(connection, volume.number):
        by_kind[group.kind].append(group)
    for kind, groups in by_kind.items():
        events = array("q", chain.from_iterable(trigrams.events_of(connection, group.number) for group in groups))
        parts = [trigrams.columns_of(connection, group) for group in groups]
        for group in groups:
            trigrams.remove(connection, group)
        _insert(connection, volume, last, kind, events, [b"".join(part) for part in zip(*parts, strict=True)])
