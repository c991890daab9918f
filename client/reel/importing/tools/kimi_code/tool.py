"""Kimi Code: a log of JSON lines for each agent of a session."""

from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.companions import companion, newest
from reel.importing.sources.discovery import record_files
from reel.importing.sources.files import Entry
from reel.importing.sources.offspring import PARENT
from reel.importing.steps import Counts, Found, Problem, Source, Tool, forks_last
from reel.importing.tools.kimi_code.parts import NAME
from reel.importing.tools.kimi_code.places import FILE, place_of, places, state_beside
from reel.importing.tools.kimi_code.session import Session
from reel.importing.values import name_of, text_in


def _discover(root: Path) -> Found:
    """Find the logs, without those of earlier versions, which have other records."""
    problems: list[Problem] = []
    sources = [_source(entry) for entry, _ in record_files(root, FILE, _is_record, problems)]
    return Found(forks_last(sources), problems)


def _is_record(found: Json) -> bool:
    return "." in text_in(found, "type") and "time" in found


def _source(entry: Entry) -> Source:
    place, state = place_of(entry.path), state_beside(str(entry.path))
    about = {PARENT: place.parent} if place.parent else {}
    origin = "" if place.parent else text_in(companion(state, Counts()), "forkedFrom")
    fork_of = name_of(NAME, origin) if origin else ""
    modified = entry.modified if place.parent else newest(entry.modified, state)
    return Source(str(entry.path), place.name, entry.size, modified, fork_of, about=about)


TOOL = Tool(NAME, "Kimi Code", places, _discover, Session, beside=lambda source: [state_beside(source.path)])
