"""Which events may have some letters: those with a piece that seems to have their trigrams.

Where these are many, and a pattern matches within a name only, they are those with such a name in the vocabulary.

It may be too many events, but never too few.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from operator import and_, or_

from reel.base.light_typing import NamedTuple
from reel.base.remembering import remembering
from reeld.search.literals import Either, Needed, Run, folded
from reeld.search.names import LACKED
from reeld.search.signatures import LENGTH, OVERLAP, Signature, bit_of
from reeld.search.trigrams import end_of, events_with, groups_of, row_of, rows_of
from reeld.search.vocabulary import with_pieces
from reeld.search.volumes import Some, Volume, last, some_with

# The trigrams that are looked for in one piece, in how many pieces, and of a pattern.
_OF_A_WINDOW, _WINDOWS, _MOST = 8, 3, 64
# From so many candidates on, it is asked which of them have a name with the letters; and of how many names at most.
_MANY, _NAMES = 1 << 14, 256


class Candidates:
    """The events that may have all that is needed; those of the volume that was asked for last stay known.

    Args:
        needed: the letters.
        in_names: what names must have, each one behind the other.
    """

    def __init__(self, needed: Sequence[Needed], in_names: Sequence[Sequence[str]] = ()) -> None:
        self._needed = needed
        self._in_names = in_names
        # How many candidates there were; and when these were many, expressions of FTS5 for events that may have such
        # names, and the first volume whose words these do not know.
        self._count = 0
        self._having_names: list[str] | None = None
        self._end = 0
        self._known: tuple[int, Some | None] = -1, None

    def of(self, connection: sqlite3.Connection, volume: Volume) -> Some | None:
        """Return the events of a volume; ``None`` for all."""
        if self._known[0] != volume.number:
            with _at_one_moment(connection):
                having = _in_all(map(_Looking(connection, volume).having, self._needed))
                found = having and Some(having.events(connection), end_of(connection, volume))
                if found is not None and self._in_names:
                    found = self._with_names(connection, volume, found)
            self._known = volume.number, found
        return self._known[1]

    def _with_names(self, connection: sqlite3.Connection, volume: Volume, some: Some) -> Some:
        """Return those of many candidates that may have the names, as far as these are few."""
        self._count += len(some.events)
        if self._count <= _MANY:
            return some
        if self._having_names is None:
            self._end = last(connection).number
            found = [with_pieces(connection, pieces, _NAMES) for pieces in self._in_names]
            self._having_names = [
                " OR ".join(f'"{word}"' for word in (*words, LACKED)) for words in found if words is not None
            ]
        events = some.events
        for match in self._having_names if volume.number < self._end else ():
            having = some_with(connection, volume, match, len(events) // 2)
            events = events if having is None else sorted({*events} & {*having})
        return some._replace(events=events)


@contextmanager
def _at_one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Read all tables as they are at one moment: groups may be put together, or forgotten."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


class _Having(NamedTuple):
    """The events that may have some letters.

    Args:
        whole: by groups of whole texts, which texts; the first one is the highest bit.
        cut: the events of other texts.
    """

    whole: Mapping[int, int]
    cut: set[int]

    def __and__(self, other: "_Having") -> "_Having":
        whole = {group: both for group, texts in self.whole.items() if (both := texts & other.whole.get(group, 0))}
        return _Having(whole, self.cut & other.cut)

    def __or__(self, other: "_Having") -> "_Having":
        whole = {group: self.whole.get(group, 0) | other.whole.get(group, 0) for group in {*self.whole, *other.whole}}
        return _Having(whole, self.cut | other.cut)

    def events(self, connection: sqlite3.Connection) -> list[int]:
        """Return their ids, ascending."""
        found = [events_with(connection, group, texts) for group, texts in self.whole.items()]
        return sorted(chain(*found, self.cut))


class _Looking:
    """Looks for letters in the groups of a volume."""

    def __init__(self, connection: sqlite3.Connection, volume: Volume) -> None:
        self._connection = connection
        self._groups = groups_of(connection, volume.number)
        # For how many more trigrams it looks.
        self._left = _MOST

    def having(self, needed: Needed) -> _Having | None:
        """Return the events that may have what is needed; ``None`` for all."""
        if isinstance(needed, Run):
            return _in_all(map(self._having_numbers, numbers_of(needed.letters)))
        parts = map(self.having, needed.parts)
        return _in_any(parts) if isinstance(needed, Either) else _in_all(parts)

    def _having_numbers(self, numbers: Sequence[int]) -> _Having | None:
        """Return the events that may have the trigrams with these numbers in one piece; ``None`` for all."""
        if not numbers or len(numbers) > self._left:
            return None
        self._left -= len(numbers)
        sizes = {group.kind.size for group in self._groups}
        bits = {size: {bit_of(number, size) for number in numbers} for size in sizes}
        wanted = [(group, [row_of(group, bit) for bit in bits[group.kind.size]]) for group in self._groups]
        rows = rows_of(self._connection, chain.from_iterable(some for _, some in wanted))
        whole, cut = dict[int, int](), set[int]()
        for group, some in wanted:
            pieces = reduce(and_, [rows[row] for row in some])
            if pieces and group.kind.is_whole:
                whole[group.number] = pieces
            elif pieces:
                cut.update(events_with(self._connection, group.number, pieces))
        return _Having(whole, cut)


def _in_all(parts: Iterable[_Having | None]) -> _Having | None:
    """Return what is in all parts, of which ``None`` has all events."""
    known = [part for part in parts if part is not None]
    return reduce(and_, known) if known else None


def _in_any(parts: Iterable[_Having | None]) -> _Having | None:
    found = list(parts)
    known = [part for part in found if part is not None]
    return reduce(or_, known) if len(known) == len(found) else None


@remembering(64)
def numbers_of(run: str) -> list[list[int]]:
    """Return the numbers of trigrams of letters in a row; those of one list are in one piece of each text with them."""
    letters, found = folded(run), list[list[int]]()
    for begin in range(0, min(len(letters), _WINDOWS * OVERLAP), OVERLAP):
        window = letters[begin : begin + OVERLAP]
        numbers = [
            number
            for at, number in enumerate(Signature(window).numbers)
            if not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in window[at : at + LENGTH])
        ]
        most = min(len(numbers), _OF_A_WINDOW)
        found.append([numbers[at * len(numbers) // most] for at in range(most)])
    return found
