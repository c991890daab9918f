"""Filters of a search that mean nothing: what was probably meant."""

from __future__ import annotations

import re
import time

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.suggestions import nearest
from reel.reading.moments import WORDS, moment
from reel.reading.query_filters import FIELDS, filters
from reel.said.kinds import ROLES

if TYPE_CHECKING:
    from reel.reading.query_filters import Filter

# What other programs call the filters.
_SYNONYMS = {
    "since": "after",
    "until": "before",
    "from": "role",
    "by": "role",
    "name": "agent",
    "conversation": "agent",
    "dir": "in",
    "path": "in",
    "cwd": "in",
}
_ROLES = (*dict.fromkeys(ROLES.values()), "system")
_LIVE = ("yes", "no", "true", "false")
# What code and addresses have around a colon: a drive, and nothing, a port, a slash or another colon.
_DRIVE = 1
_IS_CODE = re.compile(r"(\d*|[^\w.~].*)", re.DOTALL)


def why_meaningless(query: str, now: float) -> str | None:
    """Return what is wrong with the first filter of a query that means nothing; ``None`` if each means something.

    Args:
        query: what was typed.
        now: the time now, in seconds since the epoch.
    """
    for found in filters(query):
        if (problem := _problem(found, now)) is not None:
            return f"{problem}; if it is text, put it in quotes: '\"{query[found.begin : found.end]}\"'"
    return None


def _problem(found: Filter, now: float) -> str | None:
    field, value = found.field, found.value
    if field not in FIELDS:
        if len(field) == _DRIVE or _IS_CODE.fullmatch(value):
            return None
        near = nearest(field, (*FIELDS, *_SYNONYMS))
        known = ", ".join(f"{name}:" for name in FIELDS)
        return f"{field}: is no filter{_meant(_SYNONYMS.get(near, near), '')}; the filters are {known}"
    if not value and field != "here":
        return f"{field}: has no value"
    if field in ("before", "after") and moment(value, now) is None:
        today = time.strftime("%Y-%m-%d", time.localtime(now))
        meant = _meant(field, nearest(value.lower(), WORDS) or "today")
        return f"{field}:{value} is no time{meant}; write {field}:{today}, {field}:yesterday or {field}:7d"
    choices = {"role": _ROLES, "live": _LIVE}.get(field)
    if choices is not None and value.lower() not in choices:
        near = nearest(value.lower(), choices)
        return f"{field}:{value} means nothing{near and _meant(field, near)}; it is one of {', '.join(choices)}"
    if field == "tag" and value.startswith("="):
        return "a tag has a name: tag:KEY or tag:KEY=VALUE"
    return None


def _meant(field: str, value: str) -> str:
    return f" (did you mean {field}:{value}?)" if field else ""
