"""Stores the ids of a source in little memory: one conversation may have half a million.

A string in a dict takes 180 bytes or more. Here, an id takes 12 or 16 bytes, and its slot in a table about 6.
"""

from array import array
from struct import Struct

from reel.base.number_arrays import inserted, numbers, replaced

_FREE = -1
# The number of slots at first, and by how much it grows when more than this share is in use: beyond it, linear probing
# gets slow.
_FIRST_SLOTS = 16
_GROWTH = 1.5
_FULLEST = 0.75
# Changes an id to another text with a different hash.
_OTHER = "+"
# The bits that are kept of that one's.
_REST = (1 << 32) - 1
# Keys the hash of what a file may choose, as Python keys that of a text.
_SECRET = hash(_OTHER)
# A UUID as two numbers, the length of its usual form, and where that has dashes.
_UUID = Struct("<qq")
_UUID_LENGTH, _DASHES = 36, slice(8, 24, 5)


class Ids:
    """Numbers for ids: 0, 1, 2 and so on, in the order in which they are added.

    An id is stored as a hash of 96 bits. Two of a million ids with the same hash are less likely than a disk that
    returns wrong data. The hashes are Python's own: they are randomly keyed, so no file can choose colliding ids.
    """

    def __init__(self) -> None:
        # The key of each id.
        self._first, self._second = array("q"), array("I")
        self._slots = array("i", [_FREE]) * _FIRST_SLOTS
        # The id that was added last: most records name the one before them.
        self._newest = ""
        # The id that was looked up last, which is often added next; its slot, and its key.
        self._asked: str | None = None
        self._slot, self._key = 0, (0, 0)

    def __len__(self) -> int:
        return len(self._first)

    def find(self, given: str) -> int | None:
        """Return the number of an id; ``None`` if it was not added."""
        if not self._first:
            return None
        if given == self._newest:
            return len(self._first) - 1
        number = self._slots[self._slot_of(given)]
        return None if number == _FREE else number

    def add(self, given: str) -> int:
        """Return the number of an id, which is the next one if it is new."""
        slot = self._slot_of(given)
        number = self._slots[slot]
        if number == _FREE:
            self._slots[slot] = number = len(self._first)
            self._newest = given
            self._first.append(self._key[0])
            self._second.append(self._key[1])
            if number > _FULLEST * len(self._slots):
                self._grow()
        return number

    def _key_of(self, given: str) -> tuple[int, int]:
        """Return what is stored of an id."""
        return hash(given), hash(given + _OTHER) & _REST

    def _hash_of(self, first: int, _second: int) -> int:
        """Return a hash of a key."""
        return first

    def _slot_of(self, given: str) -> int:
        """Return the slot with an id, or the free one where it belongs."""
        if given == self._asked:
            return self._slot
        slots, firsts = self._slots, self._first
        first, second = self._key = self._key_of(given)
        size = len(slots)
        slot = self._hash_of(first, second) % size
        while (number := slots[slot]) != _FREE:
            if firsts[number] == first and self._second[number] == second:
                break
            slot = (slot + 1) % size
        self._asked, self._slot = given, slot
        return slot

    def _grow(self) -> None:
        size = int(_GROWTH * len(self._slots))
        self._slots = slots = array("i", [_FREE]) * size
        for number, (first, second) in enumerate(zip(self._first, self._second, strict=True)):
            slot = self._hash_of(first, second) % size
            while slots[slot] != _FREE:
                slot = (slot + 1) % size
            slots[slot] = number
        self._asked = None


class NamedIds(Ids):
    """Numbers for ids that can be converted back to the ids. Most ids are UUIDs, which are stored as they are."""

    def __init__(self) -> None:
        super().__init__()
        self._second = array("q")
        # The ids that are no UUIDs, and whether the one that was looked up last is one of them.
        self._others: dict[int, str] = {}
        self._is_other = False

    def add(self, given: str) -> int:
        """Return the number of an id, which is the next one if it is new."""
        number = super().add(given)
        if self._is_other:
            self._others.setdefault(number, given)
        return number

    def name(self, number: int) -> str:
        """Return an id by its number."""
        if (name := self._others.get(number)) is not None:
            return name
        digits = _UUID.pack(self._first[number], self._second[number]).hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _key_of(self, given: str) -> tuple[int, int]:
        uuid = _uuid_in(given)
        self._is_other = uuid is None
        return uuid or (hash(given), hash(given + _OTHER))

    def _hash_of(self, first: int, second: int) -> int:
        return hash((_SECRET, first, second))


class IdMap:
    """A number for each id, such as the place of a message."""

    def __init__(self) -> None:
        self._ids = Ids()
        self._values = numbers()

    def get(self, given: str) -> int | None:
        """Return the number that was set for an id, or ``None`` if none was set."""
        found = self._ids.find(given)
        return None if found is None else self._values[found]

    def __setitem__(self, given: str, value: int) -> None:
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
