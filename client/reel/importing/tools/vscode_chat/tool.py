"""The chat of VS Code, with GitHub Copilot or another participant: a file for each session, by workspace."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reel.importing.sources.companions import beginning
from reel.importing.sources.discovery import each_read, first_records, one_of_each
from reel.importing.sources.files import Entry, files_below
from reel.importing.sources.vscode_storage import user_directories
from reel.importing.steps import Found, Problem, Source, Tool
from reel.importing.tools.vscode_chat.log import is_log
from reel.importing.tools.vscode_chat.parts import NAME
from reel.importing.tools.vscode_chat.session import Session, workspace_of
from reel.importing.values import name_of

_SUFFIXES = (".json", ".jsonl")
_SESSIONS, _WITHOUT_WORKSPACE = "chatSessions", "emptyWindowChatSessions"
# Keys at the beginning of an exported session.
_KEYS, _BEGINNING = ('"responderUsername"', '"requesterUsername"'), 4096


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    for user in user_directories(environment):
        yield from sorted((user / "workspaceStorage").glob(f"*/{_SESSIONS}"))
        if (place := user / "globalStorage" / _WITHOUT_WORKSPACE).is_dir():
            yield place


def _discover(root: Path) -> Found:
    """Find the sessions, exported ones included; of a session in two forms, the newer file."""
    problems: list[Problem] = []
    entries = files_below(root, _SUFFIXES, problems)
    sources = [
        Source(str(entry.path), name_of(NAME, entry.path.stem), entry.size, entry.modified)
        for entry, is_session in each_read(entries, _is_session, problems)
        if is_session or entry.path == root.resolve()
    ]
    return Found(one_of_each(sources, lambda source: (source.modified, source.size)), problems)


def _is_session(entry: Entry) -> bool:
    """Return whether a file is a session.

    Raises:
        OSError: it cannot be read.
    """
    if entry.path.parent.name in (_SESSIONS, _WITHOUT_WORKSPACE):
        return True
    if entry.path.suffix == ".jsonl":
        return any(map(is_log, first_records(entry)))
    return any(key in beginning(entry.path, _BEGINNING) for key in _KEYS)


TOOL = Tool(NAME, "VS Code Chat", _places, _discover, Session, beside=lambda source: [workspace_of(source)])
