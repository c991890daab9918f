"""pi: a file of JSON lines for each session, in a directory for each project."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.discovery import one_of_each, record_files
from reel.importing.sources.files import Entry
from reel.importing.steps import Found, Problem, Source, Tool, forks_last
from reel.importing.tools.pi.session import Session
from reel.importing.values import name_of, text_in

_SUFFIX = ".jsonl"


def pi_tool(name: str, title: str, below: tuple[str, ...], variables: tuple[str, ...] = ()) -> Tool:
    """Return the tool of an agent that keeps its sessions as pi does.

    Args:
        name: the name of the tool.
        title: its name for people.
        below: the places of its sessions in the home directory.
        variables: environment variables that name a place in their stead.
    """
    return Tool(
        name,
        title,
        partial(_places, below=below, variables=variables),
        partial(_discover, tool=name),
        partial(Session, tool=name),
    )


def _places(environment: Mapping[str, str], below: tuple[str, ...], variables: tuple[str, ...]) -> Iterable[Path]:
    named = [Path(value) for variable in variables if (value := environment.get(variable))]
    return named or [Path(environment.get("HOME", "/")) / place for place in below]


def _discover(root: Path, tool: str) -> Found:
    """Find the sessions; a fork comes after the session that its header names."""
    problems: list[Problem] = []
    headers = [
        (entry, next(filter(_is_header, records), {}))
        for entry, records in record_files(root, f"*{_SUFFIX}", _is_record, problems)
    ]
    ids = {entry.path.name: text_in(header, "id") for entry, header in headers}
    sources = [_source(entry, header, tool, ids) for entry, header in headers]
    return Found(forks_last(one_of_each(sources, lambda source: source.size)), problems)


def _source(entry: Entry, header: Json, tool: str, ids: Mapping[str, str]) -> Source:
    """Return the source of a session; ``ids`` has the ids of all sessions, by the names of their files."""
    path = entry.path
    session = text_in(header, "id") or _id_in(path.name)
    named = (text_in(header, "parentSession") or text_in(header, "branchedFrom")).replace("\\", "/").rpartition("/")[2]
    origin = ids.get(named) or _id_in(named)
    fork_of = name_of(tool, origin) if origin and origin != session else ""
    return Source(str(path), name_of(tool, session), entry.size, entry.modified, fork_of)


def _id_in(name: str) -> str:
    """Return the id of a session in the name of its file, which may have the time before it."""
    return name.removesuffix(_SUFFIX).rpartition("_")[2]


def _is_header(found: Json) -> bool:
    return found.get("type") == "session"


def _is_record(found: Json) -> bool:
    """Return whether a record is one of a session; the files of extensions have others."""
    return _is_header(found) or (found.get("type") == "message" and "message" in found)


TOOL = pi_tool("pi", "pi", (".pi/agent/sessions",), ("PI_CODING_AGENT_SESSION_DIR",))
