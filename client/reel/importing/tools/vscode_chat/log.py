"""Reads the file of a session: an object, or, in newer versions, a log of its changes, one JSON line for each."""

import re
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.files import MAX_LINE, is_whole, lines_of, open_regular, parse_line
from reel.importing.sources.salvage import salvaged
from reel.importing.steps import NOT_JSON, TOO_LONG, Counts, Problem, Source
from reel.importing.values import list_in, other_fields, parse_record

_LINES = ".jsonl"
_LONGEST = 4 * MAX_LINE
_REQUESTS = re.compile(rb'"requests"\s*:\s*(?=\[)')
_FIRST_KEYS = ("requestId", "message", "variableData", "response")
# The kind of the first line of a log, which has the session as it was when the log began.
_BEGIN = 0


def is_session(found: Any) -> bool:
    """Return whether an object is a session."""
    return type(found) is dict and type(found.get("requests")) is list


def is_log(found: Json) -> bool:
    """Return whether a record is the first one of a log."""
    return found.get("kind") == _BEGIN and is_session(found.get("v"))


def read_session(source: Source, counts: Counts) -> Json:
    """Return the session in a file; of a damaged one, what is readable.

    Raises:
        OSError: the file cannot be read.
    """
    return _replayed(source, counts) if source.path.endswith(_LINES) else _whole(source, counts)


def _whole(source: Source, counts: Counts) -> Json:
    with open_regular(source.path) as file:
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        counts.refuse(TOO_LONG, Problem(source.path, 0, f"has more than {_LONGEST:,} bytes"))
        return {}
    try:
        found = parse_record(data)
        what = "has no list of requests"
    except (ValueError, RecursionError) as error:
        found, what = None, f"not JSON: {error}"
    if is_session(found):
        return found or {}
    counts.refuse(NOT_JSON if found is None else "not a session", Problem(source.path, 0, what))
    begin = found_list.end() if (found_list := _REQUESTS.search(data)) is not None else 0
    return {"requests": list(salvaged(data[begin:], _FIRST_KEYS, lambda one: "message" in one))}


def _replayed(source: Source, counts: Counts) -> Json:
    """Return the session after all changes that are readable; an incomplete last line is left for the next time."""
    state: dict[str, Any] = {}
    with open_regular(source.path) as file:
        for line in lines_of(file):
            if not line.complete and not is_whole(line):
                break
            for found in parse_line(line, source, counts) if line.length else ():
                counts.left_out.update(other_fields(found, {"kind", "k", "v", "i"}, "change."))
                if not _change(state, found):
                    what = "a change that cannot be made"
                    counts.refuse("change that cannot be made", Problem(source.path, line.number, what))
    return state


def _change(state: dict[str, Any], change: Json) -> bool:
    """Make a change, and return whether it could be made."""
    kind, way = change.get("kind"), list_in(change, "k")
    if kind == _BEGIN and type(change.get("v")) is dict:
        state.clear()
        state.update(change["v"])
        return True
    place: Any = state
    for key in way[:-1]:
        place = _inside(place, key)
    if not way or place is None:
        return False
    match kind:
        case 1 if "v" in change:  # set
            return _set(place, way[-1], change["v"])
        case 2 if "v" in change or "i" in change:  # cut where it says so, and append
            return _push(place, way[-1], change)
        case 3 if type(place) is dict:  # delete
            place.pop(str(way[-1]), None)
            return True
    return False


def _inside(place: Any, key: Any) -> Any:
    """Return what is at a key of an object, or at a place of a list; ``None`` if there is nothing."""
    if type(place) is dict and type(key) is str:
        return place.get(key)
    if type(place) is list and type(key) is int and 0 <= key < len(place):
        return place[key]
    return None


def _set(place: Any, key: Any, value: Any) -> bool:
    if type(place) is dict and type(key) is str:
        place[key] = value
        return True
    if type(place) is list and type(key) is int and 0 <= key <= len(place):
        place[key : key + 1] = [value]
        return True
    return False


def _push(place: Any, key: Any, change: Json) -> bool:
    found = _inside(place, key)
    if found is None and type(place) is dict and type(key) is str:
        found = place[key] = []
    if type(found) is not list:
        return False
    if type(cut := change.get("i")) is int and 0 <= cut <= len(found):
        del found[cut:]
    value = change.get("v")
    found += value if type(value) is list else [] if value is None else [value]
    return True
