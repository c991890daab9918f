"""Checks the keys of transcripts, whose fields become tags of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reel.base.errors import InvalidParams
from reel.base.values import is_clean

# The fields of a key.
FIELDS: Final = ("project_key", "session_id", "subpath")
# The protocol's limit for the value of a tag, in characters.
LONGEST: Final = 1024


def checked_key(key: Any) -> dict[str, str]:
    """Check a key, and return its fields; an empty subpath is left out."""
    if not isinstance(key, Mapping):
        raise InvalidParams(f"key: expected a map, got a {type(key).__name__}", field="key")
    return {
        name: checked_text(name, key.get(name))
        for name in FIELDS
        if name != "subpath" or key.get(name) not in (None, "")
    }


def checked_text(name: str, value: Any) -> str:
    """Return a field of a key, checked for use as a tag."""
    if not isinstance(value, str) or not value:
        raise InvalidParams(f"{name}: expected a text that is not empty, got {value!r}", field=name)
    if len(value) > LONGEST:
        raise InvalidParams(f"{name}: expected at most {LONGEST:,} characters, got {len(value):,}", field=name)
    if not is_clean(value):
        raise InvalidParams(f"{name}: {value!r} has NUL or half a character; use another one", field=name)
    return value
