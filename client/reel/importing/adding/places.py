"""Where the messages of a source are in a log, which may have them under another id than the source."""

from reel.importing.adding.writer import Writer
from reel.importing.id_tables import IdMap


class Places:
    """The places of a source's messages: under their own ids, or as it was noted.

    Args:
        writer: writes the log.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        # Those of parts of messages, and of messages that have a copy beside a summary.
        self._noted = IdMap()

    def note(self, ref: str, place: int) -> None:
        """Take note of where the message with an id is."""
        self._noted[ref] = place

    def of_message(self, ref: str) -> int | None:
        """Return the place of the message with an id, or ``None`` if no message has it."""
        log = self._writer.log
        place = self._noted.get(ref) or log.place_of(ref)
        return place if place is not None and log.is_message(place) else None

    def end_of(self, ref: str, unknown: int | None = None) -> int | None:
        """Return the last message at what has an id; ``unknown`` if nothing has it."""
        log = self._writer.log
        place = self._noted.get(ref) or log.place_of(ref)
        if place is None:
            return unknown
        return place if log.is_message(place) else log.state_with(place)[1]
