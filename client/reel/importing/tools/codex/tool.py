"""Codex: a file of JSON lines for each thread, the rollout, by year, month and day."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, files_below, lines_of, open_regular
from reel.importing.steps import Found, Problem, Source, Tool, forks_last
from reel.importing.tools.codex.base import COMPRESSED, HISTORY, SUFFIXES, history_of, ids_in_name, written
from reel.importing.tools.codex.rollout import NAME, Rollout, open_rollout
from reel.importing.values import map_in, name_of, parse_record, text_in, title_of

_PLACES = ("sessions", "archived_sessions")
_HEAD_LINE = 1 << 20
# The names of the threads, in the directory with these places: the last line about a thread counts.
_NAMES = "session_index.jsonl"


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("CODEX_HOME")
    root = Path(home) if home else Path(environment.get("HOME", "/")) / ".codex"
    return (root / place for place in _PLACES)


class _File(NamedTuple):
    """A rollout: its entry, and the ids in its name; its first record, and whether its parent's follows that."""

    entry: Entry
    thread: str
    segment: str
    meta: Json
    is_copy: bool


def _discover(root: Path) -> Found:
    """Find the rollouts; a copy of another thread's beginning comes after that thread."""
    problems: list[Problem] = []
    roots = [root / place for place in _PLACES if (root / place).is_dir()] or [root]
    found: dict[str, list[_File]] = {}
    for below in roots:
        for entry in files_below(below, SUFFIXES, problems):
            if not entry.path.name.startswith("rollout-") and entry.path != below.resolve():
                continue
            file = _file(entry, problems)
            found.setdefault(file.segment or file.thread, []).append(file)
    for key, copies in found.items():
        # A compressed rollout may still have its original beside it.
        originals = [file for file in copies if not file.entry.path.name.endswith(COMPRESSED)]
        found[key] = sorted(originals or copies, key=lambda file: file.entry.size)
    # A rollout only grows: of copies, the largest one has all of it.
    files = {key: (str(copies[-1].entry.path), copies[-1].meta) for key, copies in found.items()}
    # The segments of a thread, in the order of the times in their names, follow its beginning.
    ordered = sorted(
        chain.from_iterable(found.values()),
        key=lambda file: (bool(file.segment), file.entry.path.name if file.segment else ""),
    )
    names = _names_of(root)
    sources = [_source(file, files, names, problems) for file in ordered]
    known = {source.conversation for source in sources}
    return Found(
        forks_last(source if source.fork_of in known else source._replace(fork_of="") for source in sources), problems
    )


def _file(entry: Entry, problems: list[Problem]) -> _File:
    path = str(entry.path)
    thread, segment = ids_in_name(entry.path)
    metas: list[Json] = []
    try:
        with open_rollout(path) as file:
            metas = _metas_in(file)
    except OSError as error:
        if not path.endswith(COMPRESSED):
            problems.append(Problem(path, 0, error.strerror or str(error)))
    meta = metas[0] if metas else {}
    thread = text_in(meta, "id") or thread
    parent = _parent_in(meta)
    return _File(entry, thread, segment, meta, bool(parent) and parent in [text_in(one, "id") for one in metas[1:]])


def _source(
    file: _File, files: Mapping[str, tuple[str, Json]], names: Mapping[str, str], problems: list[Problem]
) -> Source:
    path, parent = str(file.entry.path), _parent_in(file.meta)
    # Such a sub-agent begins with a copy of its parent, as a fork does.
    origin = text_in(file.meta, "forked_from_id") or (parent if file.is_copy else "")
    fork_of = name_of(NAME, origin) if origin and origin != file.thread else ""
    history, missing = history_of(file.meta, files)
    if missing:
        problems.append(Problem(path, 1, f"it continues {missing}, whose file is not there"))
    about = {"parent": name_of(NAME, parent)} if parent else {}
    if history:
        about[HISTORY] = written(history)
    if name := names.get(file.thread):
        about["name"] = name
    return Source(path, name_of(NAME, file.thread), file.entry.size, file.entry.modified, fork_of, about=about)


def _parent_in(meta: Json) -> str:
    spawned = map_in(map_in(map_in(meta, "source"), "subagent"), "thread_spawn")
    return text_in(spawned, "parent_thread_id") or text_in(meta, "parent_thread_id")


def _metas_in(file: BinaryIO) -> list[Json]:
    """Return the first record of a rollout, and the second one if it describes another thread."""
    metas: list[Json] = []
    for line in islice(lines_of(file, limit=_HEAD_LINE), 2):
        try:
            found = parse_record(line.data) or {}
        except (ValueError, RecursionError):
            break
        if not metas or text_in(found, "type") == "session_meta":
            metas.append(map_in(found, "payload") or found)
    return metas


def _names_of(root: Path) -> dict[str, str]:
    """Return the names that people and Codex gave to threads."""
    names: dict[str, str] = {}
    for path in (root / _NAMES, root.parent / _NAMES):
        try:
            with open_regular(str(path)) as file:
                for line in lines_of(file, limit=_HEAD_LINE):
                    try:
                        found = parse_record(line.data) or {}
                    except (ValueError, RecursionError):
                        continue
                    names[text_in(found, "id")] = title_of(text_in(found, "thread_name"))
        except OSError:  # most installations have none
            continue
    return names


TOOL = Tool(NAME, "Codex", _places, _discover, Rollout)
