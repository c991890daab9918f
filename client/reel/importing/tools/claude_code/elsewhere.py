"""Records that a session of Claude Code has in other files: one that went on in another directory may go back there.

The first record after such a step back names its predecessor, which is in none of the lines of its own file. What is
not in any file was trimmed, and the order of the lines counts.
"""

from array import array
from collections.abc import Iterable

from reel.importing.id_tables import NamedIds
from reel.importing.sources.files import MAX_LINE, lines_of, open_regular
from reel.importing.tools.claude_code.records import read_record
from reel.importing.values import parse_record
from reel.providers.anthropic import PROVIDER
from reel.providers.refusals import Refusals

_NOWHERE = -1


class Elsewhere:
    """The records of other files, which are read once one of them is asked for.

    Args:
        paths: the files, that with the beginning first.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._unread = [*paths]
        # Records have numbers. For each: the message that it is or follows; -1 if it is before all messages.
        self._records = NamedIds()
        self._messages = array("q")

    def has(self, uuid: str) -> bool:
        """Return whether a record is in another file."""
        while self._unread:
            self._read(self._unread.pop(0))
        return self._records.find(uuid) is not None

    def message_of(self, uuid: str) -> str:
        """Return the id of a message in another file, or of the last one before a record there; else an empty text."""
        number = self._records.find(uuid) if self.has(uuid) else None
        message = _NOWHERE if number is None else self._messages[number]
        return "" if message == _NOWHERE else self._records.name(message)

    def _read(self, path: str) -> None:
        refusals = Refusals(PROVIDER)
        try:
            with open_regular(path) as file:
                for line in lines_of(file, limit=MAX_LINE):
                    self._note(line.data, refusals)
        except OSError:  # it is reported when it is read
            return

    def _note(self, line: bytes, refusals: Refusals) -> None:
        try:
            found = parse_record(line) or {}
        except (ValueError, RecursionError):
            return
        record = read_record(found, 0, refusals)
        parent = self._records.find(record.parent) if record.parent else None
        number = self._records.add(record.uuid)
        if number == len(self._messages):  # it may have been written twice
            follows = _NOWHERE if parent is None else self._messages[parent]
            self._messages.append(number if record.meaning.said else follows)
