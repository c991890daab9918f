"""Stores the ids of a source in little memory: one conversation may have half a million.

A string in a dict takes 180 bytes or more. Here, an id takes 12 or 16 bytes, and its slot in a table about 6. But a
dict finds it in a tenth of the time, and most conversations are short. So the newest ids are in a dict until they are
too many for that.
"""

from array import array
from itertools import islice
from struct import Struct

from reel.base.number_arrays import inserted, numbers, replaced

# How many of the newest ids are in a dict.
_RECENT = 4096
_FREE = -1
# By how much the number of slots grows when more than this share is in use: beyond it, linear probing gets slow.
_GROWTH = 1.5
_FULLEST = 0.75
# Changes an id to another text with a different hash.
_OTHER = "+"
# The bits that are kept of that one's.
_REST = (1 << 32) - 1
# A UUID as two numbers, the length of its usual form, and where that has dashes.
_UUID = Struct("<qq")
_UUID_LENGTH, _DASHES = 36, slice(8, 24, 5)


class Ids:
    """Numbers for ids: 0, 1, 2 and so on, in the order in which they are added.

    An id is stored as a hash of 96 bits. Two of a million ids with the same hash are less likely than a disk that
    returns wrong data. The hashes are Python's own: they are randomly keyed, so no file can choose colliding ids.

    Args:
        recent: how many of the newest ids are in a dict.
    """

    def __init__(self, recent: int = _RECENT) -> None:
        self._most_recent = recent
        # The newest ids, with their numbers.
        self._recent: dict[str, int] = {}
        # The key of each earlier id.
        self._first, self._second = array("q"), array("I")
        self._slots = array("i", [_FREE])
        # Ids that are none of the earlier ones, as was found out lately: most of them are added next.
        self._absent: set[str] = set()

    def __len__(self) -> int:
        return len(self._first) + len(self._recent)

    def find(self, given: str) -> int | None:
        """Return the number of an id; ``None`` if it was not added."""
        number = self._recent.get(given)
        if number is None and self._first and given not in self._absent:
            number = self._find_earlier(given)
            if number is None:
                if len(self._absent) >= self._most_recent:
                    self._absent.clear()
                self._absent.add(given)
        return number

    def add(self, given: str) -> int:
        """Return the number of an id, which is the next one if it is new."""
        number = self.find(given)
        if number is None:
            number = self._recent[given] = len(self._first) + len(self._recent)
            if len(self._recent) == self._most_recent:
                self._store()
        return number

    def _store(self) -> None:
        """Store the newest ids as all earlier ones are."""
        before, size = len(self._first), len(self._slots)
        for first, second in map(self._key_of, self._recent):
            self._first.append(first)
            self._second.append(second)
        self._recent, self._absent = {}, set()
        if len(self._first) > _FULLEST * size:
            before, size = 0, int(_GROWTH * len(self._first) / _FULLEST)
            self._slots = array("i", [_FREE]) * size
        slots = self._slots
        for number in range(before, len(self._first)):
            slot = self._hash_of(self._first[number], self._second[number]) % size
            while slots[slot] != _FREE:
                slot = (slot + 1) % size
            slots[slot] = number

    def _find_earlier(self, given: str) -> int | None:
        slots, firsts = self._slots, self._first
        first, second = self._key_of(given)
        size = len(slots)
        slot = self._hash_of(first, second) % size
        while (number := slots[slot]) != _FREE:
            if firsts[number] == first and self._second[number] == second:
                return number
            slot = (slot + 1) % size
        return None

    def _key_of(self, given: str) -> tuple[int, int]:
        """Return what is stored of an id."""
        return hash(given), hash(given + _OTHER) & _REST

    def _hash_of(self, first: int, _second: int) -> int:
        """Return a hash of a key."""
        return first


class NamedIds(Ids):
    """Numbers for ids that can be converted back to the ids. Most ids are UUIDs, which are stored as they are."""

    def __init__(self, recent: int = _RECENT) -> None:
        super().__init__(recent)
        self._second = array("q")
        # The earlier ids that are no UUIDs.
        self._others: dict[int, str] = {}

    def _store(self) -> None:
        self._others |= {number: given for given, number in self._recent.items() if _uuid_in(given) is None}
        super()._store()

    def name(self, number: int) -> str:
        """Return an id by its number."""
        if number >= len(self._first):
            return next(islice(self._recent, number - len(self._first), None))
        if (name := self._others.get(number)) is not None:
            return name
        digits = _UUID.pack(self._first[number], self._second[number]).hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _key_of(self, given: str) -> tuple[int, int]:
        return _uuid_in(given) or (hash(given), hash(given + _OTHER))

    def _hash_of(self, first: int, second: int) -> int:
        # Of bytes, as only that of texts and bytes is keyed. That of two numbers keeps the order of ids that are
        # numbered: of 560,000, hundreds of thousands lay side by side, and each new one passed a thousand of them.
        return hash(_UUID.pack(first, second))


class IdMap:
    """A number for each id, such as the place of a message.

    Args:
        recent: how many of the newest ids are in a dict.
    """

    def __init__(self, recent: int = _RECENT) -> None:
        self._most_recent = recent
        self._recent: dict[str, int] = {}
        # The earlier ids, and their numbers by those of the ids.
        self._ids = Ids(recent)
        self._values = numbers()

    def get(self, given: str) -> int | None:
        """Return the number that was set for an id, or ``None`` if none was set."""
        value = self._recent.get(given)
        if value is None and self._values and (found := self._ids.find(given)) is not None:
            return self._values[found]
        return value

    def __setitem__(self, given: str, value: int) -> None:
        self._recent[given] = value
        if len(self._recent) == self._most_recent:
            recent, self._recent = self._recent, {}
            for name, number in recent.items():
                self._store(name, number)

    def _store(self, given: str, value: int) -> None:
        number = self._ids.add(given)
        if number == len(self._values):
            self._values = inserted(self._values, number, value)
        else:
            self._values = replaced(self._values, number, value)


def _uuid_in(given: str) -> tuple[int, int] | None:
    """Return a UUID in its usual form as two numbers; ``None`` if it is something else."""
    if len(given) != _UUID_LENGTH or given[_DASHES] != "----" or given != given.lower():
        return None
    try:
        found = bytes.fromhex(given.replace("-", ""))
    except ValueError:
        return None
    return _UUID.unpack(found) if len(found) == _UUID.size else None
