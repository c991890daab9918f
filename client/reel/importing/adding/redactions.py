"""What was redacted in the log of a conversation: it stays so, whatever its source says again.

An unfinished answer has ids of its own, and its source goes on under others. So a redaction of it counts for every
message that may be the same one: under the id that it would have had, of the same record, or after the same message.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from reel import requests
from reel.base.strict_json import Json, encode, parse
from reel.importing.adding.log import Log, blocks_in, id_at_end
from reel.importing.adding.markers import MARKER, has_marker
from reel.importing.adding.pipeline import Commands
from reel.importing.adding.target import Target, read_log
from reel.importing.steps import Kept, Part, Said
from reel.said.kinds import ROLES

# What the daemon made of texts, files and blocks of a provider has become a text.
_AS_TEXT = ("media", "opaque", "redacted_thinking")
_IN_RECORD = "/"


class Redactions:
    """What was redacted of a conversation: in its log, and in those that it went on in before somebody changed them.

    Args:
        pipeline: the connection.
        target: where the conversation is written.
    """

    def __init__(self, pipeline: Commands, target: Target) -> None:
        self._pipeline = pipeline
        self._older = target.older
        # How many messages and records of the source were redacted, as far as it was asked.
        self.count = 0
        agent = target.row.id if target.row else target.origin
        self._log = target.log
        self._own = _RedactionsOfLog(pipeline, agent, self._log)
        # The message at which the agent was made of another one, or 0; ``None`` if it was not made here.
        self.made_at: int | None = None

    @property
    def are_none(self) -> bool:
        """Whether nothing was redacted."""
        return not self._log.is_redacted and not self._of_older

    def of_message(self, said: Said, parts: tuple[Part, ...], at: int | None) -> list[Json]:
        """Return the blocks of parts of a message as they are stored.

        Args:
            said: the message.
            parts: the parts.
            at: the message that it follows in its source.
        """
        blocks = [block for part in parts for block in part.blocks]
        if self.are_none:
            return blocks
        before = said.parts[: -len(parts)] if parts == said.parts[-len(parts) :] else ()
        skipped = sum(len(part.blocks) for part in before)
        found = self._own.instead_of(said.role, parts, skipped, lambda: self._beside(at))
        for older in self._of_older if found is None else ():
            if (found := older.instead_of(said.role, parts, skipped, list)) is not None:
                break
        self.count += found is not None
        return blocks if found is None else found

    def _beside(self, at: int | None) -> list[int]:
        """Return the messages that come after a place in the log as it was; a clone has other ones of these seqs."""
        is_there = self.made_at is None or (at or 0) <= self.made_at
        return self._log.following(at, self._log.head) if is_there else []

    def of_record(self, kept: Kept) -> Kept:
        """Return a record as it is stored."""
        if self.are_none:
            return kept
        for each in (self._own, *self._of_older):
            if (said := each.data_instead_of(kept.ref)) is not None:
                self.count += 1
                return kept._replace(content=said[0], data=parse(said[1] or "{}"))
        return kept

    @cached_property
    def _of_older(self) -> list["_RedactionsOfLog"]:
        return [
            _RedactionsOfLog(self._pipeline, agent, read_log(self._pipeline, agent))
            for agent in self._older
            if self._pipeline.call(requests.history(agent, kinds=["redacted"], limit=1)).events
        ]


class _RedactionsOfLog:
    """What a log says instead of what was redacted in it.

    Args:
        pipeline: the connection.
        agent: the agent whose log it is, or an empty text if there is no such agent yet.
        log: the log, as it was before anything was added.
    """

    def __init__(self, pipeline: Commands, agent: str, log: Log) -> None:
        self._pipeline = pipeline
        self._agent = agent
        self._log = log
        # The events that were read again, by their seqs; few were redacted, or may not have been finished.
        self._events: dict[int, list[Any]] = {}

    def blocks_at(self, place: int) -> list[Json]:
        """Return the blocks that a message has in the log."""
        return [block for event in self._events_at(place) for block in blocks_in(event)]

    def instead_of(
        self, role: str, parts: tuple[Part, ...], skipped: int, following: Callable[[], Iterable[int]]
    ) -> list[Json] | None:
        """Return what is stored instead of the blocks of a message; ``None`` if nothing of it was redacted.

        Args:
            role: of the message.
            parts: its parts.
            skipped: how many of its blocks are before these.
            following: returns the messages that follow the same one in the log.
        """
        if not self._log.is_redacted:
            return None
        blocks = [block for part in parts for block in part.blocks]
        made = self._known(parts, blocks)
        refs = {id_at_end(part.ref) for part in parts} if self._halves else set()
        records = {ref.partition(_IN_RECORD)[0] for ref in refs}
        beside = set(following()) if self._halves else set()
        for place, ref in self._halves.items():
            is_same = ref in refs
            is_near = is_same or ref.partition(_IN_RECORD)[0] in records or place in beside
            if is_near and role == self._role_at(place):
                made = _with(made, self.blocks_at(place), skipped if is_same else None)
        return None if made == blocks else made

    def data_instead_of(self, ref: str) -> tuple[str | None, str | None] | None:
        """Return the content and the data of a record that was redacted; ``None`` if it was not."""
        place = self._log.place_of(ref) if self._log.is_redacted else None
        if place is None or not self._log.was_redacted(place):
            return None
        return next(((event["content"], event["data_json"]) for event in self._events_at(place)), None)

    @cached_property
    def _halves(self) -> dict[int, str]:
        """The unfinished messages that were redacted, and the ids that they would have had."""
        unfinished = self._log.unfinished.items()
        return {place: id_at_end(ref) for place, ref in unfinished if self._log.was_redacted(place)}

    def _known(self, parts: tuple[Part, ...], blocks: list[Json]) -> list[Json]:
        """Return blocks with those that the log has redacted under the ids of their parts."""
        end = len(blocks)
        for part in reversed(parts):
            place = self._log.place_of(part.ref)
            if place is not None and self._log.was_redacted(place):
                stored = self.blocks_at(place)
                return [*blocks[: max(end - len(stored), 0)], *stored, *blocks[end:]]
            end -= len(part.blocks)
        return blocks

    def _role_at(self, place: int) -> str | None:
        return next((ROLES.get(event["kind"]) for event in self._events_at(place)), None)

    def _events_at(self, place: int) -> list[Any]:
        if (events := self._events.get(place)) is None:
            page = self._pipeline.call(requests.history(self._agent, since=place - 1, limit=1, inherited=True))
            events = self._events[place] = [event for event in page.events if event["seq"] == place]
        return events


def may_be(blocks: list[Json], stored: list[Json]) -> bool:
    """Return whether blocks may be what was stored before words of it were redacted."""
    return len(blocks) == len(stored) and all(map(_may_be, blocks, stored))


def _may_be(block: Json, stored: Json) -> bool:
    if not is_redacted(stored):
        return block == stored
    if stored["type"] == "text" and block["type"] in _AS_TEXT:
        return True
    texts = [value for key, value in sorted(stored.items()) if type(value) is str and key != "type"]
    given = [value for key, value in sorted(block.items()) if type(value) is str and key in stored and key != "type"]
    return block["type"] == stored["type"] and len(texts) == len(given) and all(map(_fits, given, texts))


def _fits(text: str, stored: str) -> bool:
    """Return whether a text is one with markers in the place of some words."""
    said = MARKER.split(stored)
    if len(said) == 1:
        return text == stored
    if said[0].startswith('{"redacted":'):  # the arguments of a call
        return True
    return re.fullmatch("(?s:.*)".join(map(re.escape, said)), text) is not None


def is_redacted(block: Json) -> bool:
    """Return whether words of a block were redacted."""
    return has_marker(encode(block))


def _with(blocks: list[Json], half: list[Json], skipped: int | None) -> list[Json]:
    """Return blocks with what of the first parts of their message was redacted.

    Args:
        blocks: the blocks.
        half: those of the first parts.
        skipped: how many of these are not among the blocks; ``None`` if nobody can tell which block is which.
    """
    if skipped is not None and _begins(blocks, half[skipped:]):
        begun = zip(half[skipped:], blocks, strict=False)
        rest = blocks[len(half[skipped:]) :]
        return [*(old if is_redacted(old) else new for old, new in begun), *rest]
    made = blocks
    for old in half:
        if is_redacted(old):
            made = list(_without(made, old))
    return made


def _begins(blocks: list[Json], half: list[Json]) -> bool:
    return len(half) <= len(blocks) and all(
        old["type"] == new["type"] or (old["type"] == "text" and new["type"] in _AS_TEXT)
        for old, new in zip(half, blocks, strict=False)
    )


def _without(blocks: Iterable[Json], old: Json) -> Iterable[Json]:
    """Yield blocks with a redacted one in the place of all those that may say the same."""
    has_come = False
    for block in blocks:
        is_same = block["type"] == old["type"] and block.get("id") == old.get("id")
        if not is_same or block.get("tool_call_id") != old.get("tool_call_id"):
            yield block
        elif not has_come:
            has_come = True
            yield old
