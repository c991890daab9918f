"""Stores the ids of a source in little memory: one conversation may have half a million.

A string in a dict takes 180 bytes or more. Here, an id takes about 25: a hash of 96 bits, and its slot in a table. Two
of a million ids with the same hash are less likely than a disk that returns wrong data.
"""

from array import array

_FREE = -1
# The number of slots is a power of two. At most this share is in use: beyond it, linear probing gets slow.
_FIRST_SLOTS = 16
_FULLEST = 0.6
# Changes an id to another text with a different hash.
_OTHER = "+"
# The bits that are kept of that one's.
_REST = (1 << 32) - 1
_UUID_BYTES = 16


class Ids:
    """Numbers for ids: 0, 1, 2 and so on, in the order in which they are added.

    The hashes are Python's own: they are randomly keyed, so no file can choose colliding ids.
    """

    def __init__(self) -> None:
        self._first, self._second = array("q"), array("I")
        self._slots = array("i", [_FREE]) * _FIRST_SLOTS
        # The id that was added last: most records name the one before them.
        self._newest = ""

    def __len__(self) -> int:
        return len(self._first)

    def find(self, given: str) -> int | None:
        """Return the number of an id; ``None`` if it was not added."""
        if given == self._newest and self._first:
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
            self._first.append(hash(given))
            self._second.append(_rest_of(given))
            if number > _FULLEST * len(self._slots):
                self._grow()
        return number

    def _slot_of(self, given: str) -> int:
        """Return the slot with an id, or the free one where it belongs."""
        slots, firsts = self._slots, self._first
        first, last = hash(given), len(slots) - 1
        slot = first & last
        while (number := slots[slot]) != _FREE:
            if firsts[number] == first and self._second[number] == _rest_of(given):
                break
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        last = 2 * len(self._slots) - 1
        slots = array("i", [_FREE]) * (last + 1)
        for number, first in enumerate(self._first):
            slot = first & last
            while slots[slot] != _FREE:
                slot = (slot + 1) & last
            slots[slot] = number
        self._slots = slots


class NamedIds(Ids):
    """Numbers for ids that can be converted back to the ids. A UUID, as most ids are, takes 16 bytes more."""

    def __init__(self) -> None:
        super().__init__()
        self._uuids = bytearray()
        self._others: dict[int, str] = {}

    def add(self, given: str) -> int:
        """Return the number of an id, which is the next one if it is new."""
        number = super().add(given)
        if number * _UUID_BYTES == len(self._uuids):
            uuid = _uuid_in(given)
            self._uuids += uuid or bytes(_UUID_BYTES)
            if not uuid:
                self._others[number] = given
        return number

    def name(self, number: int) -> str:
        """Return an id by its number."""
        if (name := self._others.get(number)) is not None:
            return name
        return _uuid_from(self._uuids[number * _UUID_BYTES : (number + 1) * _UUID_BYTES])


class IdMap:
    """A number for each id, such as the place of a message."""

    def __init__(self) -> None:
        self._ids = Ids()
        self._values = array("q")

    def get(self, given: str) -> int | None:
        """Return the number that was set for an id, or ``None`` if none was set."""
        found = self._ids.find(given)
        return None if found is None else self._values[found]

    def __setitem__(self, given: str, value: int) -> None:
        number = self._ids.add(given)
        if number == len(self._values):
            self._values.append(value)
        else:
            self._values[number] = value


def _rest_of(given: str) -> int:
    return hash(given + _OTHER) & _REST


def _uuid_in(given: str) -> bytes:
    """Return the bytes of a UUID in its usual form; empty if it is something else."""
    try:
        found = bytes.fromhex(given.replace("-", ""))
    except ValueError:
        return b""
    return found if len(found) == _UUID_BYTES and _uuid_from(found) == given else b""


def _uuid_from(data: bytes | bytearray) -> str:
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
