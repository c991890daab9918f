"""The roots of a client: the directories that it works in, as it tells them. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

# As many directories as the daemon looks at, and characters of a path as a tag may have: what is beyond has no
# conversations.
MOST_DIRECTORIES = 100
_LONGEST = 1024


def directories_in(result: Any) -> tuple[str, ...]:
    """Return the directories among the roots in a client's reply, each once; what is no directory is left out."""
    roots = result.get("roots") if isinstance(result, dict) else None
    paths = (_path_in(root) for root in (roots if isinstance(roots, list) else []))
    return tuple(dict.fromkeys(filter(None, paths)))[:MOST_DIRECTORIES]


def _path_in(root: Any) -> str:
    """Return the path of a root; empty if no conversation can be held there."""
    uri = root.get("uri") if isinstance(root, dict) else None
    try:
        parts = urlsplit(uri) if isinstance(uri, str) else None
    except ValueError:  # such as a bracket without the other one
        return ""
    if parts is None or parts.scheme != "file":
        return ""
    path = unquote(parts.path).rstrip("/")
    return path if path.startswith("/") and "\0" not in path and len(path) <= _LONGEST else ""
