"""pi: a file of JSON lines for each session, in a directory for each project."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, files_below, first_records, may_have
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
    headers: list[tuple[Entry, Json]] = []
    for entry in files_below(root, (_SUFFIX,), problems):
        try:
            header = _header_of(entry.path)
        except OSError as error:
            problems.append(Problem(str(entry.path), 0, error.strerror or str(error)))
            continue
        if header is not None or entry.path == root.resolve():  # another one is, say, of an extension
            headers.append((entry, header or {}))
    ids = {entry.path.name: text_in(header, "id") for entry, header in headers}
    found: dict[str, Source] = {}
    for entry, header in headers:
        source = _source(entry, header, tool, ids)
        other = found.get(source.conversation)
        if other is None or source.size > other.size:
            found[source.conversation] = source
    return Found(forks_last(found.values()), problems)


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


def _header_of(path: Path) -> Json | None:
    """Return the header of a session, empty if it is damaged; ``None`` if the file is no session."""
    records = first_records(str(path))
    is_session = may_have(records, lambda found: found.get("type") == "message" and "message" in found)
    return next((found for found in records if found.get("type") == "session"), {} if is_session else None)


TOOL = pi_tool("pi", "pi", (".pi/agent/sessions",), ("PI_CODING_AGENT_SESSION_DIR",))
