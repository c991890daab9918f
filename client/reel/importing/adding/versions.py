"""The versions of an imported message: its unfinished first parts, and what was said again of it.

A redaction by a seq erases one event. What it says may be in others that an import has left behind on a branch, or that
it has said again after a summary; see :mod:`reel.importing.adding.left_behind`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from reel.base.light_typing import NamedTuple
from reel.importing.adding.log import blocks_in, id_at_end
from reel.importing.adding.target import CLIENT
from reel.reading.log_tree import parent_of, place_of
from reel.said.blocks import InvalidRecord
from reel.said.kinds import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any, TypeAlias

    from reel.base.strict_json import Json
    from reel.reading.log_tree import Place

    # Compares the blocks of two messages.
    Relation: TypeAlias = Callable[[list[Json], list[Json]], bool]

_COPY = "@"
# The fields of a block that may have been longer in a later version of it.
_GROWING = ("text", "arguments", "content")
# The roles of messages that a tool writes in pieces.
_IN_PIECES = ("assistant", "tool")


class _Message(NamedTuple):
    """A message that an import has added.

    Args:
        name: its id at the source, without what the importer has added.
        role: who said it.
        after: the name of the message that it follows; if that is not imported, its place; ``None`` at the beginning.
        log: the log in which it was found first.
    """

    name: str
    role: str
    after: str | Place | None
    log: str


class Versions:
    """Knows the versions of imported messages.

    Args:
        event_at: returns the event with a seq in a log.
    """

    def __init__(self, event_at: Callable[[str, int], Any]) -> None:
        self._event_at = event_at
        self._messages: dict[Place, _Message] = {}
        self._named: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
        self._after: defaultdict[tuple[str, str | Place | None], list[Place]] = defaultdict(list)

    def take(self, log: str, events: Iterable[Any]) -> None:
        """Take the messages of a log, unless they are in an earlier one.

        Args:
            log: the agent.
            events: the events, with the inherited ones, in order.
        """
        for event in events:
            role = ROLES.get(event["kind"])
            is_imported = event["client"] == CLIENT and event.get("ref")
            if role is not None and is_imported and place_of(event) not in self._messages:
                self._take(log, event, role)

    def _take(self, log: str, event: Any, role: str) -> None:
        place, parent = place_of(event), parent_of(event)
        above = self._messages.get(parent) if parent is not None else None
        message = _Message(self._name(event["ref"], role), role, parent if above is None else above.name, log)
        self._messages[place] = message
        self._named[role, message.name].append(place)
        if role in _IN_PIECES:
            self._after[role, message.after].append(place)

    def _name(self, ref: str, role: str) -> str:
        """Return the id that a message has at its source; what is said again has another one behind it."""
        name = id_at_end(ref)
        while (before := name.rpartition(_COPY)[0]) and (role, name) not in self._named:
            if (role, before) in self._named:
                return before
            name = before
        return id_at_end(ref)

    def of(self, log: str, seqs: Collection[int]) -> dict[str, list[int]]:
        """Return the other versions of messages of a log: of each log that has some, the seqs in order."""
        given = frozenset(one for one, message in self._messages.items() if message.log == log and one[1] in seqs)
        # Up first: the first parts of an answer may be those of another one as well, which is no version then.
        found = self._reached(self._reached(given, _begins), _is_begun_by) - given
        versions: dict[str, list[int]] = {}
        for place in sorted(found, key=itemgetter(1)):
            versions.setdefault(self._messages[place].log, []).append(place[1])
        return versions

    def _reached(self, places: frozenset[Place], is_version: Relation) -> frozenset[Place]:
        """Return messages, those of the same ids, and those at the same place of which something is true."""
        found, waiting = set(places), [*places]
        while waiting:
            new = {*self._beside(waiting.pop(), is_version)} - found
            found |= new
            waiting += new
        return frozenset(found)

    def _beside(self, place: Place, is_version: Relation) -> Iterator[Place]:
        message = self._messages[place]
        yield from self._named[message.role, message.name]
        near = [other for other in self._after.get((message.role, message.after), ()) if other != place]
        said = self._said(place) if near else []
        yield from (other for other in near if is_version(said, self._said(other)))

    def _said(self, place: Place) -> list[Json]:
        try:
            return blocks_in(self._event_at(self._messages[place].log, place[1]))
        except InvalidRecord:  # nothing is known of what is damaged
            return []


def _begins(part: list[Json], whole: list[Json]) -> bool:
    """Return whether blocks are the first ones of others; of the last of them, a part of its text may be missing."""
    if not 0 < len(part) <= len(whole) or part[:-1] != whole[: len(part) - 1]:
        return False
    last, there = part[-1], whole[len(part) - 1]
    return last == there or (last["type"] == there["type"] and any(map(partial(_grew, last, there), _GROWING)))


def _is_begun_by(whole: list[Json], part: list[Json]) -> bool:
    return _begins(part, whole)


def _grew(block: Json, there: Json, field: str) -> bool:
    text, longer = block.get(field), there.get(field)
    return type(text) is str and type(longer) is str and text != "" and longer.startswith(text)
