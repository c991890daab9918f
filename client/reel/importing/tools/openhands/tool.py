"""OpenHands: the conversations of its command and of its SDK."""

from collections.abc import Iterable
from pathlib import Path

from reel.importing.sources.files import Entry, files_below
from reel.importing.steps import Found, Problem, Source, Tool
from reel.importing.tools.openhands.conversation import Conversation
from reel.importing.tools.openhands.events import NAME
from reel.importing.tools.openhands.places import EVENTS, STATE, directory_of, event_files, number_of, places
from reel.importing.values import name_of


def _discover(root: Path) -> Found:
    """Find the conversations that have events."""
    problems: list[Problem] = []
    files: dict[Path, list[Entry]] = {}
    has_events: set[Path] = set()
    for entry in files_below(root, (".json",), problems):
        path = entry.path
        is_event = path.parent.name == EVENTS and number_of(path.name) is not None
        if is_event or path.name == STATE:
            files.setdefault(directory_of(path), []).append(entry)
        if is_event:
            has_events.add(directory_of(path))
    return Found([_source(place, entries) for place, entries in files.items() if place in has_events], problems)


def _source(place: Path, entries: list[Entry]) -> Source:
    """Return the source of a conversation: its files have one size and one time together."""
    named = next((entry for entry in entries if entry.path.name == STATE), min(entries))
    size, modified = sum(entry.size for entry in entries), max(entry.modified for entry in entries)
    return Source(str(named.path), name_of(NAME, place.name), size, modified)


def _beside(source: Source) -> Iterable[Path]:
    return [path for path in map(Path, event_files(source.path)) if str(path) != source.path]


TOOL = Tool(NAME, "OpenHands", places, _discover, Conversation, beside=_beside)
