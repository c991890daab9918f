"""Which message of a log a message of a source is, if neither says the same id of it.

A tool writes an answer part by part. The log may have the first parts of it as an answer that is not finished, under
an id of its own. And a copy of a source may end with the first parts of what the log has as a whole. Both are known by
what they say, whatever was done with their secrets. Words that were redacted may have been any.
"""

import re
from collections.abc import Sequence
from typing import Any

from reel import requests
from reel.base.errors import InvalidParams
from reel.base.strict_json import Json
from reel.base.values import fit_messagepack
from reel.importing.adding.log import Log, blocks_in, id_at_end, id_before_number
from reel.importing.adding.masking import known_again
from reel.importing.adding.redactions import may_be
from reel.importing.adding.target import Target
from reel.importing.adding.writer import Writer
from reel.importing.steps import Part, Said
from reel.importing.values import AS_WRITTEN

# The id of a message that its tool gives none: its number, and a digest of it.
_NUMBERED = re.compile("([0-9]+)(-[0-9a-f]{16}.*)")
# How many messages that are damaged, or none, may be before one that is known by its digest.
_MOST_DAMAGED = 100


class Recognition:
    """Knows messages again by what they say.

    Args:
        writer: writes the log.
        target: where it is written.
    """

    def __init__(self, writer: Writer, target: Target) -> None:
        self._writer = writer
        self._origin = target.origin
        # The head of the log before anything was added.
        self.had = target.log.head if target.row else 0
        # By how much the numbers of the newest messages that are known so differ from those in the log.
        self._shift = 0

    @property
    def _log(self) -> Log:
        return self._writer.log

    def place_of(self, parts: tuple[Part, ...]) -> int | None:
        """Return the place of the message that ends with the last of these, also if it was taken to be unfinished."""
        log = self._writer.log
        place = log.place_of(parts[-1].ref)
        return self._unfinished(parts[-1].ref, parts) if place is None and log.unfinished else place

    def unfinished(self, parts: tuple[Part, ...]) -> list[int]:
        """Return the messages that were taken to be unfinished, and end with one of these parts."""
        ids = [id_before_number(id_at_end(part.ref)) for part in parts] if self._log.unfinished else []
        return [place for ident in ids for place in self._log.unfinished_of(ident)]

    def had_after(self, place: int | None) -> list[int]:
        """Return the messages that the log had before anything was added, and that follow a place."""
        return self._log.following(place, self.had) if (place or 0) < self.had else []

    def last_known(self, parts: tuple[Part, ...]) -> tuple[int | None, tuple[Part, ...]]:
        """Return the place of the last known part of a message, and the parts after it."""
        for number in range(len(parts), 0, -1):
            place = self.place_of(parts[:number])
            if place is not None:
                return place, parts[number:]
        return None, parts

    def named(self, said: Said) -> Said:
        """Return a message with the ids that its parts have in the log: one that may go on has a number of its own."""
        if not said.parts[-1].ref.endswith(AS_WRITTEN):
            return said
        numbers = range(1, len(said.parts) + 1)
        return said._replace(parts=tuple(self._numbered(said.parts[:number]) for number in numbers))

    def prompt(self, prompt: Said, among: Sequence[int]) -> tuple[int | None, Said]:
        """Find a system prompt in the log with the same words.

        Return its place, and the prompt with the id that it has there; ``None``, and the prompt as given, if it is new.

        Args:
            prompt: the prompt.
            among: where it may be.
        """
        said = _comparable([block for part in prompt.parts for block in part.blocks]) if among else []
        for place in among:
            for event in self._events_at(place):
                if event["kind"] == "system" and event.get("ref") and self._is_same(said, blocks_in(event), place):
                    last = prompt.parts[-1]._replace(ref=event["ref"])
                    return place, prompt._replace(parts=(*prompt.parts[:-1], last))
        return None, prompt

    def stored(self, places: list[int]) -> list[Json]:
        """Return the blocks that messages have in the log, of the last one first: words in it may be redacted."""
        self._writer.flush()
        return [block for place in reversed(places) for event in self._events_at(place) for block in blocks_in(event)]

    def whole(self, role: str, parts: tuple[Part, ...], among: Sequence[int]) -> int | None:
        """Return the place of the message that begins with these parts, or ``None``.

        A copy that was made while an answer arrived ends with the first parts of a message, which is in the log under
        the id of its last one.

        Args:
            role: of the message.
            parts: its parts.
            among: where it may be.
        """
        blocks = _comparable([block for part in parts for block in part.blocks]) if among else []
        for place in among:
            for message in self._messages_at(place):
                content = message["content"]
                if role != message["role"] or len(blocks) >= len(content):
                    continue
                if self._is_same(blocks, content[: len(blocks)], place):
                    return place
        return None

    def renumbered(self, part: Part, among: Sequence[int]) -> int | None:
        """Return the place of the message that ends with a part, if the log has that under another number, or ``None``.

        Where a tool gives messages no ids, they have their number and a digest. What is damaged before a message
        changed its number in earlier versions, and a line that should not be there does so in this one.

        Args:
            part: the part.
            among: where it may be.
        """
        found = _NUMBERED.fullmatch(part.ref) if among else None
        if found is None:
            return None
        number, same = int(found[1]), found[2]
        for shift in (self._shift, *(way * by for by in range(1, _MOST_DAMAGED + 1) for way in (-1, 1))):
            place = self._log.place_of(f"{number + shift}{same}")
            if place is not None and place in among:
                self._shift = shift
                return place
        return None

    def _numbered(self, parts: tuple[Part, ...]) -> Part:
        """Return the last of the first parts of an unfinished message with the id that it has in the log."""
        part = parts[-1]
        ref = part.ref.removesuffix(AS_WRITTEN)
        known = self._unfinished(ref, parts)
        if known is not None:
            return part._replace(ref=self._log.unfinished[known])
        name, number = f"{id_before_number(ref)}{AS_WRITTEN}", 1
        while self._log.place_of(f"{name}{number}") is not None:
            number += 1
        return part._replace(ref=f"{name}{number}")

    def _unfinished(self, ref: str, parts: tuple[Part, ...]) -> int | None:
        """Return the place of the message that has these parts, and was taken to be unfinished.

        Its tool may write a part in the middle, or go on with one, after what comes last.

        Args:
            ref: the id of the last part, if it is finished.
            parts: the parts.
        """
        places = self._log.unfinished_of(id_before_number(ref))
        said = _comparable([block for part in parts for block in part.blocks]) if places else []
        return next((place for place in places if self._is_same(said, self.stored([place]), place)), None)

    def _is_same(self, said: list[Json], stored: list[Any], place: int) -> bool:
        """Return whether comparable blocks are what a message in the log has, or had before words were redacted."""
        comparable = _comparable(stored)
        return may_be(said, comparable) if self._log.was_redacted(place) else said == comparable

    def _events_at(self, place: int) -> Sequence[Any]:
        agent = self._writer.agent or self._origin
        return [*self._writer.ask(requests.history(agent, since=place - 1, limit=1, inherited=True)).events]

    def _messages_at(self, place: int) -> Sequence[Any]:
        """Return the message at a place; none if what the conversation was there was pruned."""
        try:
            page = self._writer.ask(requests.messages(self._writer.agent, since=place - 1, limit=1, at=place))
        except InvalidParams:
            return ()
        return [*page.messages]


def _comparable(blocks: list[Any]) -> list[Json]:
    """Return blocks that are equal if they say the same, whatever was done with their secrets."""
    return [fit_messagepack(block)[0] for block in known_again(blocks)]
