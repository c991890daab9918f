"""Holds back records of Claude Code that were written before the ones that they follow.

Some versions write a result, or an attachment, a line or two before the record that it names as its predecessor. Read
in the order of the file, it would take a place at the end, and what comes next would look like a step back. So such a
record waits, with all that follows in the file, until its predecessor comes. Predecessors that never come are usual as
well (a file was trimmed): a few records later, the file's own order counts.
"""

from collections.abc import Callable, Iterable, Iterator

from reel.importing.tools.claude_code.records import Record

# The number of records among which a predecessor is looked for; real files need three. They are in memory.
_MOST = 32


class Waiting:
    """The records that wait for a predecessor, by their ids, in the order of the file.

    Args:
        knows: returns whether the record with an id was read.
    """

    def __init__(self, knows: Callable[[str], bool]) -> None:
        self._knows = knows
        self._records: dict[str, Record] = {}

    def has(self, uuid: str) -> bool:
        """Return whether a record with this id waits."""
        return uuid in self._records

    def take(self, record: Record) -> Iterable[Record]:
        """Return the records that can be read, now that one more is there; each is to be read before the next."""
        if not self._records and self._can_be_read(record.parent):  # as nearly all
            return (record,)
        self._records[record.uuid] = record
        return self._ready(most=_MOST)

    def end(self) -> Iterable[Record]:
        """Return all records that are left, as no more will come."""
        return self._ready(most=0)

    def _ready(self, most: int) -> Iterator[Record]:
        while self._records:
            chain = self._chain(next(iter(self._records)))
            parent = self._records[chain[-1]].parent
            if not self._can_be_read(parent) and len(self._records) <= most:
                return
            for uuid in reversed(chain):
                yield self._records.pop(uuid)

    def _can_be_read(self, parent: str | None) -> bool:
        """Return whether a record with this predecessor can be read: it has none, or that one is here."""
        return not parent or parent in self._records or self._knows(parent)

    def _chain(self, uuid: str) -> list[str]:
        """Return a record that waits and those among the others that precede it, the first of them last."""
        chain = [uuid]
        while (parent := self._records[chain[-1]].parent) in self._records and parent not in chain:
            chain.append(parent)
        return chain
