"""What ``opencode export`` writes: one session, as an object with the fields ``info`` and ``messages``.

Each message has ``info`` and ``parts``, which are the records of version 1 of the database, with the same ids. So a
session that is imported from both is one conversation.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.files import MAX_LINE, open_regular
from reel.importing.sources.salvage import salvaged
from reel.importing.steps import NOT_JSON, TOO_LONG, Counts, Problem, Source
from reel.importing.tools.opencode.messages import Message
from reel.importing.values import as_map, list_in, map_in, other_fields, parse_record, text_in

FORM = "export"
SUFFIX = ".json"
_LONGEST = 2 * MAX_LINE
# An export has one of these at its beginning; opencode's own files beside its database have none.
_SIGNS, _HEAD = (b'"info"', b'"messages"', b'"sessionID"', b'"parts"'), 1 << 16
_MESSAGES = re.compile(rb'"messages"\s*:\s*(?=\[)')
_MESSAGE_KEYS = frozenset({"info", "parts"})
# The fields of which something is made, and the sums of what the messages have.
_FIELDS = frozenset({"info", "messages"})
_INFO_FIELDS = frozenset({"id", "directory", "title", "version", "parentID", "revert", "time", "cost", "tokens"})


def exports_at(root: Path, tool: str, problems: list[Problem]) -> Iterator[Source]:
    """Yield the exports right below a directory; a JSON file that is named is one, whatever it holds."""
    is_named = root.suffix == SUFFIX and not root.is_dir()
    for path in [root] if is_named else sorted(root.glob(f"*{SUFFIX}")):
        try:
            if path.is_symlink():
                problems.append(Problem(str(path), 0, "is a link, which is not followed"))
            elif is_named or (path.is_file() and _may_be_export(path)):
                status = path.stat()
                yield Source(str(path), tool, status.st_size, status.st_mtime_ns, about={"form": FORM})
        except OSError as error:
            problems.append(Problem(str(path), 0, error.strerror or str(error)))


def _may_be_export(path: Path) -> bool:
    with open_regular(str(path)) as file:
        head = file.read(_HEAD)
    return any(sign in head for sign in _SIGNS)


def read_export(path: str, counts: Counts) -> tuple[Json, Iterator[Message]]:
    """Return the session in an export, and its messages; of a damaged one, those that are not."""
    found = _parsed(path, counts)
    session, messages = map_in(found, "info"), list_in(found, "messages")
    counts.left_out.update(other_fields(found, _FIELDS))
    counts.left_out.update(other_fields(session, _INFO_FIELDS, "session."))
    if not text_in(session, "id"):
        session = {**session, "id": next(filter(None, map(_session_of, messages)), Path(path).stem)}
    return session, (_message(message, number, counts) for number, message in enumerate(messages))


def _parsed(path: str, counts: Counts) -> Json:
    with open_regular(path) as file:
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        return _refuse(path, counts, TOO_LONG, f"has more than {_LONGEST:,} bytes", b"")
    try:
        found = parse_record(data) or {}
    except (ValueError, RecursionError) as error:
        return _refuse(path, counts, NOT_JSON, f"not JSON: {error}", data)
    if type(found.get("messages")) is not list:
        return _refuse(path, counts, "not an export", "is no export of opencode: it has no list of messages", data)
    return found


def _refuse(path: str, counts: Counts, kind: str, what: str, data: bytes) -> Json:
    counts.refuse(kind, Problem(path, 0, what))
    begin = found.end() if (found := _MESSAGES.search(data)) is not None else 0
    return {"messages": list(salvaged(data[begin:], _MESSAGE_KEYS, _is_message))}


def _is_message(found: Json) -> bool:
    return bool(map_in(found, "info")) and type(found.get("parts")) is list


def _session_of(message: Any) -> str:
    return text_in(map_in(message, "info"), "sessionID")


def _message(found: Any, number: int, counts: Counts) -> Message:
    """Return a message with its parts; one of another shape becomes a note."""
    if type(found) is not dict or not _is_message(found):
        return {"message": found}, str(number), []
    counts.left_out.update(other_fields(found, _MESSAGE_KEYS, "message."))
    info = found["info"]
    ref = text_in(info, "id") or str(number)
    return info, ref, [(text_in(part, "id") or f"{ref}/{at}", as_map(part)) for at, part in enumerate(found["parts"])]
