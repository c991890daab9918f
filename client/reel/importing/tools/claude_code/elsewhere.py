"""Records that a session of Claude Code has in other files: one that went on in another directory may go back there.

The first record after such a step back names its predecessor, which is in none of the lines of its own file. What is
not in any file was trimmed, and the order of the lines counts.
"""

from collections.abc import Iterable

from reel.importing.sources.files import MAX_LINE, lines_of, open_regular
from reel.importing.tools.claude_code.records import read_record
from reel.importing.values import parse_record
from reel.providers.anthropic import PROVIDER
from reel.providers.refusals import Refusals


class Elsewhere:
    """The records of other files, which are read once one of them is asked for.

    Args:
        paths: the files, that with the beginning first.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._unread = [*paths]
        # For each record, the message that it is or follows; empty if it is before all messages.
        self._messages: dict[str, str] = {}

    def has(self, uuid: str) -> bool:
        """Return whether a record is in another file."""
        while self._unread:
            self._read(self._unread.pop(0))
        return uuid in self._messages

    def message_of(self, uuid: str) -> str:
        """Return the id of the message that a record in another file is or follows; empty if there is none."""
        return self._messages[uuid] if self.has(uuid) else ""

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
        self._messages[record.uuid] = (
            record.uuid if record.meaning.said else self._messages.get(record.parent or "", "")
        )
