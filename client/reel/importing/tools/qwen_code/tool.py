"""Qwen Code: a file of JSON lines for each session and each sub-agent, in a directory for each project."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.discovery import record_files
from reel.importing.sources.files import Entry
from reel.importing.steps import Found, Problem, Source, Tool
from reel.importing.tools.qwen_code.session import NAME, Session
from reel.importing.values import name_of

_SUFFIX, _SUBAGENTS = ".jsonl", "subagents"
_VARIABLES = ("QWEN_RUNTIME_DIR", "QWEN_HOME")


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    named = [Path(value) for variable in _VARIABLES if (value := environment.get(variable))]
    yield (named or [Path(environment.get("HOME", "/")) / ".qwen"])[0] / "projects"


def _discover(root: Path) -> Found:
    """Find the sessions; files without their records are of something else."""
    problems: list[Problem] = []
    below = root / "projects" if (root / "projects").is_dir() else root
    sources = [_source(entry) for entry, _ in record_files(below, f"*{_SUFFIX}", _is_record, problems)]
    return Found(sources, problems)


def _is_record(found: Json) -> bool:
    return {"uuid", "sessionId"} <= found.keys()


def _source(entry: Entry) -> Source:
    path, stem = entry.path, entry.path.name.removesuffix(_SUFFIX)
    is_subagent = path.parent.parent.name == _SUBAGENTS
    ids = (path.parent.name, stem) if is_subagent else (stem,)
    about = {"parent": name_of(NAME, ids[0])} if is_subagent else {}
    return Source(str(path), name_of(NAME, *ids), entry.size, entry.modified, about=about)


TOOL = Tool(NAME, "Qwen Code", _places, _discover, Session)
