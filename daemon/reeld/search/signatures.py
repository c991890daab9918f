"""Which trigrams a piece of a text has, as a few bits for each.

A text is cut in pieces of at most some 1,400 letters. They overlap, so that letters in a row lie in one of them. Each
trigram sets one of the bits of its piece, and a piece has about 2.3 to 3.3 bits for each of its different trigrams. So
it may seem to have a trigram that it lacks, in 30 of 100 cases, and five of them in 3 of 1,000; it never seems to lack
one that it has.

The number of a trigram says which bit that is, however many bits a piece has. Numbers are computed for all trigrams of
a piece at once, with integers that have 32 bits for each: a loop takes five times as long.
"""

import sys
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import compress
from math import log1p

from reeld.search.literals import folded

# The letters of a trigram; those of a piece, and those that it shares with the next one.
LENGTH = 3
_LETTERS, OVERLAP = 1400, 32
# How many bits a piece may have, and for how many different trigrams at most, of 100.
SIZES = tuple(round(64 * 2 ** (step / 2)) for step in range(13))
_FULL = 43
# Each letter of a trigram counts so many times as much as the one before it. A letter has 21 bits, so that the sum of
# three has 32. Of these, 16 are kept.
_WEIGHT = 43
_LANE, _KEPT = 32, 16
_FOLDED = 13
_MULTIPLIER = 40503
# If at most one of so many bits is set, to look for each takes less time than to look at all.
_FEW = 8
_DIGITS, _IS_SET = bytes.maketrans(b"\0\1", b"01"), bytes.maketrans(b"01", b"\0\1")
_LOW = int.from_bytes(b"\xff\xff\0\0" * (_LETTERS + 2 * OVERLAP), "little")


def pieces(text: str) -> Iterator[str]:
    """Yield the pieces of a text, in the letters in which it is searched; none if these are too few for a trigram."""
    letters = folded(text)
    parts = max(1, -(-(len(letters) - OVERLAP) // _LETTERS))
    width = max(1, -(-len(letters) // parts))
    for begin in range(0, len(letters) - LENGTH + 1, width):
        yield letters[begin : begin + width + OVERLAP]


class Signature:
    """The trigrams of a piece.

    Args:
        piece: letters, as :func:`~reeld.search.literals.folded` returns them.
    """

    def __init__(self, piece: str) -> None:
        self._count = max(0, len(piece) - LENGTH + 1)
        letters = int.from_bytes(piece.encode("utf-32-le", "surrogatepass"), "little")
        sums = letters + (letters + (letters >> _LANE) * _WEIGHT >> _LANE) * _WEIGHT
        self._numbers = ((sums ^ sums >> _FOLDED) & _LOW) * _MULTIPLIER & _LOW

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of its trigrams, in their order."""
        return self._lanes(self._numbers)

    @property
    def size(self) -> int:
        """How many bits it has: as many as fit the number of its different trigrams.

        That number is told, to some of 100, from how many bits are set of those for all of them: to count them takes as
        long as all the rest.
        """
        most = self._most_bits
        different = -len(most) * log1p(-most.count(1) / len(most))
        return _size_for(min(different, self._count))  # more of them may be told than there are

    def bits(self, size: int) -> bytes:
        """Return so many bits, each as a byte: zero, or one."""
        most = self._most_bits
        if size == len(most):
            return most
        if size * 2 == len(most):  # as for most longer texts; then a bit is set if either of two was
            pairs = int.from_bytes(most, "little")
            return (pairs | pairs >> 8).to_bytes(len(most), "little")[::2]
        return self._bits(size)

    @cached_property
    def _most_bits(self) -> bytes:
        """Its bits in the size that fits if all its trigrams are different."""
        return self._bits(_size_for(self._count))

    def _bits(self, size: int) -> bytes:
        found = bytearray(size)
        for bit in self._lanes(self._numbers * size >> _KEPT & _LOW):
            found[bit] = 1
        return bytes(found)

    def _lanes(self, lanes: int) -> Sequence[int]:
        found = array("I", lanes.to_bytes((self._count + LENGTH) * _LANE // 8, "little"))
        if sys.byteorder == "big":
            found.byteswap()
        return found[: self._count]


def _size_for(trigrams: float) -> int:
    """Return how many bits a piece with so many different trigrams has."""
    return next(size for size in SIZES if 100 * trigrams <= size * _FULL)


def bit_of(number: int, size: int) -> int:
    """Return which of so many bits the trigram with a number sets."""
    return number * size >> _KEPT


def columns_of(bits: Sequence[bytes]) -> list[bytes]:
    """Return each bit of some pieces, a multiple of eight, whose bits are bytes."""
    size, joined = len(bits[0]), b"".join(bits).translate(_DIGITS)
    return [int(joined[bit::size], 2).to_bytes(len(bits) // 8, "big") for bit in range(size)]


def having(column: int, events: "array[int]") -> Iterator[int]:
    """Return the events of those pieces whose bits are set.

    Args:
        column: a bit of each piece; that of the first one is the highest.
        events: of which event each piece is.
    """
    flags = format(column, f"0{len(events)}b").encode().translate(_IS_SET)
    if column.bit_count() * _FEW > len(events):
        return compress(events, flags)
    return map(events.__getitem__, _places(flags))


def _places(flags: bytes) -> Iterator[int]:
    """Yield the places of the ones."""
    at = flags.find(1)
    while at >= 0:
        yield at
        at = flags.find(1, at + 1)
