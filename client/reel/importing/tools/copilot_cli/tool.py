"""GitHub Copilot CLI: a file of events for each session, formerly beside the directories that have them now."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.discovery import each_read, first_records, may_have, one_of_each
from reel.importing.sources.files import Entry, files_below
from reel.importing.steps import Found, Problem, Source, Tool
from reel.importing.tools.copilot_cli.events import NAME
from reel.importing.tools.copilot_cli.session import Session
from reel.importing.values import map_in, name_of, text_in

_SUFFIX, _EVENTS = ".jsonl", "events.jsonl"
_PLACES = ("session-state", "history-session-state")


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("COPILOT_HOME")
    root = Path(home) if home else Path(environment.get("HOME", "/")) / ".copilot"
    return (root / place for place in _PLACES)


def _discover(root: Path) -> Found:
    """Find the sessions: files of events below a root."""
    problems: list[Problem] = []
    sources: list[Source] = []
    for below in [root / place for place in _PLACES if (root / place).is_dir()] or [root]:
        named = (below.resolve(), below.resolve() / _EVENTS)
        for entry, records in each_read(files_below(below, (_SUFFIX,), problems), first_records, problems):
            if entry.path in named or may_have(records, _is_event):
                sources.append(_source(entry, records))
    return Found(one_of_each(sources, lambda source: source.size), problems)


def _is_event(found: Json) -> bool:
    return {"type", "data", "id"} <= found.keys()


def _source(entry: Entry, records: list[Json]) -> Source:
    path = entry.path
    named = path.parent.name if path.name == _EVENTS else path.name.removesuffix(_SUFFIX)
    told = next((found for found in records if found.get("type") == "session.start"), {})
    session = text_in(map_in(told, "data"), "sessionId") or named
    return Source(str(path), name_of(NAME, session), entry.size, entry.modified)


TOOL = Tool(NAME, "GitHub Copilot CLI", _places, _discover, Session)
