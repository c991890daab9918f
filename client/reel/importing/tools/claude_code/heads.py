"""Which conversation a transcript of Claude Code belongs to, and which other one it is a copy of.

The records tell, not names and times of files: a worktree has the same session in another directory, a backup has
another name, and git, cp and a restore set new times. What they say has changed with the versions:

- A resumed session of old versions began with a copy whose records keep the old ``sessionId``.
- ``/branch`` writes ``forkedFrom`` into each copied record.
- ``--fork-session`` writes no link. But what the fork's file has before its first message is later than that, and all
  copied prompts have one ``promptId``, whereas in the origin each has its own.
- Of others, which share their first record, the origin is the one that went on first, or not at all.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources.files import Entry, lines_of, open_regular
from reel.importing.values import list_in, map_in, milliseconds, name_of, origins_first, parse_record, text_in

NAME = "claude-code"
_SUBAGENTS = "subagents"
# The name of a file, in most versions.
_UUID = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
# How much of a file is read to determine its session: lines, and bytes of a line.
_HEAD_LINES = 64
_HEAD_LINE = 1 << 18
# The number of records that are compared with those of another file with the same beginning.
_COMPARED = 2000


class Head(NamedTuple):
    """The beginning of a transcript.

    Args:
        entry: the file.
        ids: its session, and the sub-agent if it is one's.
        first: the id of its first message or record beside one; empty if there is none.
        began: the time of that record, in milliseconds since the epoch.
        origin: the session that it says to be a copy of; may be empty.
        is_late: whether it has something that is older than what comes before that: it was copied.
    """

    entry: Entry
    ids: tuple[str, ...]
    first: str = ""
    began: int = 0
    origin: str = ""
    is_late: bool = False

    @property
    def name(self) -> str:
        """The name of the conversation."""
        return name_of(NAME, *self.ids)

    @property
    def is_subagent(self) -> bool:
        """Whether it is the transcript of a sub-agent."""
        return len(self.ids) > 1


class _Compared(NamedTuple):
    """A record of one of several files with the same beginning."""

    uuid: str
    time: int
    prompt: str


def head_of(entry: Entry) -> Head:
    """Read the beginning of a transcript.

    Raises:
        OSError: it cannot be read.
    """
    session, before = "", 0
    for found in islice(_records(entry.path), _HEAD_LINES):
        session = session or text_in(found, "sessionId")
        sent = milliseconds(found.get("timestamp")) or 0
        if first := text_in(found, "uuid"):
            own = _ids(entry.path, text_in(found, "sessionId") or session)
            origin = text_in(map_in(found, "forkedFrom"), "sessionId") or text_in(found, "sessionId")
            is_late = text_in(found, "sessionKind") == "bg" or before > sent > 0
            return Head(entry, own, first, sent, "" if origin in own or len(own) > 1 else origin, is_late)
        before = max(before, sent)
    return Head(entry, _ids(entry.path, session))


def _ids(path: Path, session: str) -> tuple[str, ...]:
    """Return the session that a file belongs to, and its sub-agent: a file that was renamed is known by its records."""
    if not path.name.startswith("agent-"):
        return (session if _is_id(session) and not _is_id(path.stem) else path.stem,)
    if _SUBAGENTS in path.parts:
        session = path.parts[path.parts.index(_SUBAGENTS) - 1]
    return (session or "unknown", path.stem)


def _is_id(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _records(path: Path) -> Iterator[Json]:
    with open_regular(str(path)) as file:
        for line in lines_of(file, limit=_HEAD_LINE):
            try:
                yield parse_record(line.data) or {}
            except (ValueError, RecursionError):
                yield {}


def with_origins(heads: Iterable[Head]) -> list[tuple[Head, str]]:
    """Return transcripts, each with the conversation that it was copied from, which comes before it."""
    ordered = sorted(heads, key=lambda head: (head.is_subagent, head.entry.modified, head.name))
    groups: dict[str, list[Head]] = {}
    named: dict[str, list[Head]] = {}
    for head in ordered:
        groups.setdefault(head.first or head.name, []).append(head)
        named.setdefault(head.name, []).append(head)
    origins = dict.fromkeys(named, "")
    for group in groups.values():
        first = _origin_in(group) if len({head.name for head in group}) > 1 else group[0].name
        for head in group:
            said = name_of(NAME, head.origin) if head.origin else ""
            found = said if said in named else first if first != head.name else said
            origins[head.name] = origins[head.name] or found
    return [
        (head, origins[name])
        for name in origins_first(origins)
        # A session that went on in another directory has the rest in another file.
        for head in sorted(named[name], key=lambda head: head.began)
    ]


def _origin_in(group: list[Head]) -> str:
    """Return the conversation among those with the same first record that the others are copies of."""
    compared = {head: list(_compared(head.entry.path)) for head in group}

    def order(head: Head) -> tuple[bool, bool, int]:
        others = {one.uuid for other in group if other.name != head.name for one in compared[other]}
        own = next((one.time for one in compared[head] if one.uuid not in others), -1)
        is_copy = bool(head.origin) or head.is_late or _has_one_prompt(compared[head])
        return head.is_subagent, is_copy, own

    return min(group, key=order).name


def _has_one_prompt(records: list[_Compared]) -> bool:
    """Return whether the first two prompts have the id of one, which is that of the prompt that forked."""
    prompts = [one.prompt for one in records if one.prompt][:2]
    return len(prompts) > 1 and len(set(prompts)) == 1


def _compared(path: Path) -> Iterator[_Compared]:
    try:
        for found in islice(_records(path), _COMPARED):
            if uuid := text_in(found, "uuid"):
                prompt = text_in(found, "promptId") if _is_prompt(found) else ""
                yield _Compared(uuid, milliseconds(found.get("timestamp")) or 0, prompt)
    except OSError:  # it is reported when it is read
        return


def _is_prompt(found: Json) -> bool:
    """Return whether a record is what a person typed, rather than a result or what was put beside a prompt."""
    message = map_in(found, "message")
    results = any(text_in(block, "type") == "tool_result" for block in list_in(message, "content"))
    return text_in(found, "type") == "user" and not found.get("isMeta") and not results
