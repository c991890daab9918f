"""Messages that something else has taken the place of: the first parts of an answer, and what followed them.

A tool writes an answer part by part, and an import may look in between. Then the log has the first parts as a message.
Once there are more, the whole answer takes its place, and what followed the first parts is said again after that, under
the id that it has at its source and that of the answer. The log alone tells later what was left behind.

Words that were redacted in the meantime stay so: once something was, what is said again is what the log says.
"""

from collections.abc import Iterable
from typing import Any

from reel.base.strict_json import Json
from reel.importing.adding.log import Log
from reel.importing.steps import Part
from reel.providers.blocks import text
from reel.said.records import read_row


class LeftBehind:
    """The messages of a log that were left behind, each with the id of what has taken its place."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._places)

    def add(self, places: Iterable[int], instead: str) -> None:
        """Take note of messages.

        Args:
            places: where they are.
            instead: the id of what has taken their place.
        """
        self._places.update(dict.fromkeys(places, instead))

    def instead_of(self, place: int, log: Log) -> str | None:
        """Return the id of what has taken the place of a message, or of one before it; ``None`` if nothing has."""
        first = min(self._places, default=None)
        at: int | None = place
        while first is not None and at is not None and at >= first:
            if (instead := self._places.get(at)) is not None:
                return instead
            at = log.before(at)
        return None


def pieces_of(parts: Iterable[Part], place: int, log: Log) -> tuple[list[int], list[int]]:
    """Return the messages with known parts that follow each other up to a place, the last one first; and others.

    An earlier version has stored the rest of a message as another one, which follows it. Others were left behind.
    """
    pieces, left = [place], list[int]()
    for part in reversed([*parts]):
        found = log.place_of(part.ref)
        if found is not None and found != pieces[-1] and log.is_message(found):
            (pieces if found == log.before(pieces[-1]) else left).append(found)
    return pieces, left


def blocks_in(event: Any) -> list[Json]:
    """Return the blocks of a message, as an event of the log has them."""
    if event["kind"] == "system":
        return [text(event["content"])]
    parts = read_row(event["kind"], event["content"], event["data_json"])
    return [] if parts is None else [{**block} for block in parts.content]
