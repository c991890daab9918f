"""GitHub Copilot CLI: a file of events for each session, formerly beside the directories that have them now."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, files_below, first_records, may_have
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
    found: dict[str, Source] = {}
    for below in [root / place for place in _PLACES if (root / place).is_dir()] or [root]:
        for entry in files_below(below, (_SUFFIX,), problems):
            try:
                records = first_records(str(entry.path))
            except OSError as error:
                problems.append(Problem(str(entry.path), 0, error.strerror or str(error)))
                continue
            if entry.path not in (below.resolve(), below.resolve() / _EVENTS) and not may_have(records, _is_event):
                continue
            source = _source(entry, records)
            other = found.get(source.conversation)
            if other is None or source.size > other.size:
                found[source.conversation] = source
    return Found(list(found.values()), problems)


def _is_event(found: Json) -> bool:
    return {"type", "data", "id"} <= found.keys()


def _source(entry: Entry, records: list[Json]) -> Source:
    path = entry.path
    named = path.parent.name if path.name == _EVENTS else path.name.removesuffix(_SUFFIX)
    told = next((found for found in records if found.get("type") == "session.start"), {})
    session = text_in(map_in(told, "data"), "sessionId") or named
    return Source(str(path), name_of(NAME, session), entry.size, entry.modified)


TOOL = Tool(NAME, "GitHub Copilot CLI", _places, _discover, Session)
