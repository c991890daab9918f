"""Small conversions that the readers share: names, times, and the values of records."""

import hashlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any

from reel.base.ids import is_name
from reel.base.strict_json import Json, encode, parse
from reel.base.values import clean, clean_deep

_IN_IDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_ID = 48
# Escapes in JSON that may represent a lone surrogate or NUL, neither of which is allowed in a message.
_BACKSLASH, _ESCAPE = ord("\\"), b"\\u"
_DIRTY = (b"\\u0000", b"\\ud", b"\\uD")
_MILLISECONDS = 1000
# The daemon's limit for the value of a tag, in characters, and the longest title of an import.
_LONGEST_TAG = 1024
_LONGEST_TITLE = 200
_DIGEST = 16
# The end of the id of a part that may go on; in a log, a number follows.
AS_WRITTEN = "~"
# Times in seconds are below this, times in milliseconds above: the year 5138, and 1973.
_SECONDS = 100_000_000_000


def parse_record(data: bytes) -> Json | None:
    """Parse a line as a JSON object; ``None`` if it is something else.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    value = parse(data.decode("utf-8", "replace"))
    if type(value) is not dict:
        return None
    # A single byte is found in a sixth of the time, and as a number without an exception inside.
    if _BACKSLASH in data and _ESCAPE in data and any(sign in data for sign in _DIRTY):
        value, _ = clean_deep(value)
    return value  # type: ignore[no-any-return]  # a type check that mypy does not follow


def name_of(tool: str, *ids: str) -> str:
    """Return the name of an agent: the tool and the ids, with characters replaced that are invalid in a name.

    A long or altered id ends with a part of its hash, so that different ids never become the same name.
    """
    return "/".join([tool, *map(id_in_name, ids)])


def id_in_name(given: str) -> str:
    """Return an id as a part of a name; see :func:`name_of`."""
    kept = "".join(char if char in _IN_IDS else "-" for char in given)
    if kept == given and len(given) <= _LONGEST_ID and is_name(given):
        return given
    return f"{kept[: _LONGEST_ID - _DIGEST - 1].strip('.-') or 'id'}-{digest(given)}"


def digest(*parts: str) -> str:
    """Return a short hash of texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_DIGEST]


def ref_of(record: Json) -> str:
    """Return a ref for a record without its own id."""
    return "record-" + digest(encode(record, ascii_only=True))


def milliseconds(given: Any) -> int | None:
    """Return a time as milliseconds since the epoch, from ISO 8601 or a number of seconds or milliseconds."""
    if type(given) is str:
        try:
            when = datetime.fromisoformat(given)
        except ValueError:
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return max(int(when.timestamp() * _MILLISECONDS), 0)
    if type(given) in (int, float) and 0 <= given < _SECONDS * _MILLISECONDS:
        return int(given if given >= _SECONDS else given * _MILLISECONDS)
    return None


def as_map(found: Any) -> Json:
    """Return a map as it is, and anything else as the only value of one."""
    return found if type(found) is dict else {"value": found}


def text_in(record: Any, key: str) -> str:
    """Return a text field of a map; empty if it is missing or something else."""
    value = record.get(key) if type(record) is dict else None
    return value if type(value) is str else ""


def map_in(record: Any, key: str) -> Json:
    """Return a field of a map that is a map; empty if it is missing or something else."""
    value = record.get(key) if type(record) is dict else None
    return value if type(value) is dict else {}


def list_in(record: Any, key: str) -> list[Any]:
    """Return a field of a map that is a list; empty if it is missing or something else."""
    value = record.get(key) if type(record) is dict else None
    return value if type(value) is list else []


def tags_of(**facts: str) -> dict[str, str]:
    """Return facts as tags, without unknown ones; long values are cut."""
    # The name of a file may be any bytes.
    return {name: clean(value.replace("\0", ""))[0][:_LONGEST_TAG] for name, value in facts.items() if value}


def title_of(text: str) -> str:
    """Convert a text to a title: one line, cut if it is long, but never inside a key, whose part nobody would know."""
    line = " ".join(text[: 2 * _LONGEST_TAG].replace("\0", "").split())
    if len(line) <= _LONGEST_TITLE:
        return line
    from reel.secrets.finding import find  # noqa: PLC0415 - few titles are so long

    return line[: min([_LONGEST_TITLE, *(one.start for one in find(line) if one.end > _LONGEST_TITLE)])].rstrip()


def other_fields(record: Json, known: AbstractSet[str], where: str = "") -> list[str]:
    """Return the fields of a record other than the known ones; one without a value says nothing.

    Args:
        record: the record.
        known: the fields whose values are used.
        where: the beginning of the names, if the record is a part of another one.
    """
    if record.keys() <= known:  # as nearly all
        return []
    return [where + key for key in record.keys() - known if record[key] not in (None, "", [], {})]


def origins_first(origins: Mapping[str, str]) -> list[str]:
    """Sort names so that each fork comes after its origin, and otherwise keep their order.

    Args:
        origins: for each name, the name of its origin; a value that is not itself a key, such as "", is ignored.
    """
    waiting, ordered = dict(origins), list[str]()
    for name in origins:
        chain, at = list[str](), name
        while at in waiting:
            chain.append(at)
            at = waiting.pop(at)
        ordered += reversed(chain)
    return ordered
