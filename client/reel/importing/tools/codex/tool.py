"""Codex: a file of JSON lines for each thread, the rollout, by year, month and day."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, files_below, lines_of
from reel.importing.steps import Found, Problem, Source, Tool, forks_last
from reel.importing.tools.codex.rollout import COMPRESSED, NAME, Rollout, open_rollout
from reel.importing.values import map_in, name_of, parse_record, text_in

_SUFFIXES = (".jsonl", ".jsonl" + COMPRESSED)
_PLACES = ("sessions", "archived_sessions")
_HEAD_LINE = 1 << 20
# A rollout's name ends with the id of its thread.
_ID_LENGTH = 36


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("CODEX_HOME")
    root = Path(home) if home else Path(environment.get("HOME", "/")) / ".codex"
    return (root / place for place in _PLACES)


def _discover(root: Path) -> Found:
    """Find the rollouts; a copy of another thread's beginning comes after that thread."""
    problems: list[Problem] = []
    roots = [root / place for place in _PLACES if (root / place).is_dir()] or [root]
    found: dict[str, Source] = {}
    for below in roots:
        for entry in files_below(below, _SUFFIXES, problems):
            if not entry.path.name.startswith("rollout-") and entry.path != below.resolve():
                continue
            source = _source(entry, problems)
            # A compressed rollout may still have its original beside it.
            if source.conversation not in found or not source.path.endswith(COMPRESSED):
                found[source.conversation] = source
    known = found.keys()
    sources = [source if source.fork_of in known else source._replace(fork_of="") for source in found.values()]
    return Found(forks_last(sources), problems)


def _source(entry: Entry, problems: list[Problem]) -> Source:
    path = str(entry.path)
    stem = entry.path.name.removesuffix(COMPRESSED).removesuffix(".jsonl")
    meta: Json = {}
    try:
        with open_rollout(path) as file:
            meta = _meta_in(file)
    except OSError as error:
        if not path.endswith(COMPRESSED):
            problems.append(Problem(path, 0, error.strerror or str(error)))
    thread = text_in(meta, "id") or stem[-_ID_LENGTH:]
    origin = text_in(meta, "forked_from_id")
    spawned = map_in(map_in(map_in(meta, "source"), "subagent"), "thread_spawn")
    parent = text_in(spawned, "parent_thread_id") or text_in(meta, "parent_thread_id")
    about = {"parent": name_of(NAME, parent)} if parent else {}
    fork_of = name_of(NAME, origin) if origin and origin != thread else ""
    return Source(path, name_of(NAME, thread), entry.size, entry.modified, fork_of, about=about)


def _meta_in(file: BinaryIO) -> Json:
    for line in islice(lines_of(file, limit=_HEAD_LINE), 1):
        try:
            found = parse_record(line.data) or {}
        except (ValueError, RecursionError):
            break
        return map_in(found, "payload") or found
    return {}


TOOL = Tool(NAME, "Codex", _places, _discover, Rollout)
