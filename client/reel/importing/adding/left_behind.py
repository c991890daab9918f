"""Messages that something else has taken the place of: the first parts of an answer, and what followed them.

A tool writes an answer part by part, and an import may look in between. Then the log has the first parts as a message.
Once there are more, the whole answer takes its place, and what followed the first parts is said again after that, under
the id that it has at its source and that of the answer. The log alone tells later what was left behind.

Words that were redacted in the meantime stay so: once something was, what is said again is what the log says.
"""

from collections.abc import Iterable, Sequence

from reel.base.light_typing import NamedTuple
from reel.importing.adding.log import Log
from reel.importing.adding.recognition import Recognition
from reel.importing.adding.writer import Writer
from reel.importing.steps import Part, Said


class Settled(NamedTuple):
    """What becomes of a message that the log has, or has some parts of.

    Args:
        place: where it is, or the last of its parts that are there, if others are added.
        parts: what is to be added of it.
        at: the message that these follow.
    """

    place: int
    parts: tuple[Part, ...]
    at: int | None


class LeftBehind:
    """The messages of a log that were left behind, each with the id of what has taken its place.

    Args:
        writer: writes the log.
        recognition: knows messages again.
    """

    def __init__(self, writer: Writer, recognition: Recognition) -> None:
        self._writer = writer
        self._recognition = recognition
        self._places: dict[int, str] = {}

    def add(self, places: Iterable[int], instead: str) -> None:
        """Take note of messages.

        Args:
            places: where they are.
            instead: the id of what has taken their place.
        """
        for place in places:
            self._places[place] = instead

    def settled(self, said: Said, place: int, rest: tuple[Part, ...], at: int | None) -> Settled:
        """Return where a message is, and what is to be added of it.

        If the log has its first parts alone, the whole message takes their place. If it follows something that was
        left behind, it is said again.

        Args:
            said: the message.
            place: where its last known part is.
            rest: the parts after that.
            at: the message that it follows in its source.
        """
        if not rest and not self._places and len(said.parts) == 1:  # as most that is known
            return Settled(place, (), place)
        log, recognition = self._writer.log, self._recognition
        pieces, left = pieces_of(said.parts, place, log)
        instead = self._instead_of(pieces[-1]) if self._places and log.before(pieces[-1]) != at else None
        if not rest and instead is None:
            self.add(left, said.parts[-1].ref)
            return Settled(place, (), place)
        stored = recognition.stored(pieces) if log.is_redacted else None
        if stored is not None and rest and len(stored) != sum(len(part.blocks) for part in said.parts[: -len(rest)]):
            return Settled(place, rest, place)  # nobody can tell which blocks of the source these are
        follows = log.before(pieces[-1]) if instead is None else at
        others = [other for other in recognition.had_after(follows) if other not in (*pieces, *left)] if rest else []
        if (whole := recognition.whole(said.role, said.parts, others)) is not None:
            return Settled(whole, (), follows)
        *first, last = said.parts
        by = last.ref if rest else instead or ""
        if not rest:
            last = last._replace(ref=ref_after(last.ref, by))
        self.add((*pieces, *left), by)
        if (known := log.place_of(last.ref)) is not None:
            return Settled(known, (), follows)
        if stored is not None:
            first, last = [], last._replace(blocks=[*stored, *(block for part in rest for block in part.blocks)])
        return Settled(place, (*first, last), follows)

    def _instead_of(self, place: int) -> str | None:
        """Return the id of what has taken the place of a message, or of one before it; ``None`` if nothing has."""
        first = min(self._places)
        at: int | None = place
        while at is not None and at >= first:
            if (instead := self._places.get(at)) is not None:
                return instead
            at = self._writer.log.before(at)
        return None


def ref_after(ref: str, instead: str) -> str:
    """Return the id of a message that is said again after what has taken the place of what it followed.

    Args:
        ref: its id at its source.
        instead: that of what has taken the place.
    """
    return f"{ref}@{instead}"


def pieces_of(parts: Sequence[Part], place: int, log: Log) -> tuple[list[int], list[int]]:
    """Return the messages with known parts that follow each other up to a place, the last one first; and others.

    An earlier version has stored the rest of a message as another one, which follows it. Others were left behind.
    """
    pieces, left = [place], list[int]()
    for part in reversed(parts):
        found = log.place_of(part.ref)
        if found != pieces[-1] and found is not None and log.is_message(found):
            (pieces if found == log.before(pieces[-1]) else left).append(found)
    return pieces, left
