"""How the models of Claude differ, by the version in their name. What is behind an alias has none, and is not known."""

import re
from typing import TypeAlias

_Version: TypeAlias = tuple[int, int]

# The first version that accepts system messages in mid-history (rule A10), and that thinks if not told otherwise.
_SYSTEM_MESSAGES_SINCE, _THINKS_SINCE = (4, 8), (5, 0)
# The first versions that bind their thinking (rule A8).
_FABLE_BINDS_SINCE, _BINDS_SINCE = (5, 1), (5, 5)
# By a kind of thinking: the first version of each tier that refuses it (rule A24).
_REFUSED_SINCE: dict[str, dict[str, _Version]] = {
    "enabled": {"fable": (5, 0), "mythos": (5, 0), "opus": (5, 5), "sonnet": (5, 5), "haiku": (5, 5)},
    "disabled": {"fable": (5, 0), "mythos": (5, 0), "opus": (5, 5), "sonnet": (5, 5)},
}
# The first version of each tier that refuses a request that says which tool is to be called (rule A25).
_CHOOSES_SINCE: dict[str, _Version] = {"fable": (5, 1), "mythos": (5, 1), "opus": (5, 5), "sonnet": (5, 5)}
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_TIER = re.compile(r"claude-([a-z]+)-\d")


def version(model: str | None) -> _Version | None:
    """Return the version of a model if its name has one, before its tier or after."""
    match = _VERSION.search(model or "")
    return (int(match[1]), int(match[2] or 0)) if match else None


def takes_system_messages(model: str | None) -> bool:
    """Whether a model accepts system messages in mid-history; one without a version in its name does not (rule A10)."""
    return _is_since(model, _SYSTEM_MESSAGES_SINCE)


def thinks_unasked(model: str | None) -> bool:
    """Whether a model thinks if a request does not say whether it is to (rule A9)."""
    return _is_since(model, _THINKS_SINCE)


def is_binding(model: str | None) -> bool:
    """Whether a model binds its thinking to all that is before it (rule A8)."""
    return _is_since(model, _FABLE_BINDS_SINCE if "fable" in (model or "") else _BINDS_SINCE)


def refuses_thinking(model: str | None, kind: str) -> bool:
    """Whether a model refuses a kind of thinking, such as ``disabled``, in any request (rule A24)."""
    return _is_of(model, _REFUSED_SINCE.get(kind, {}))


def refuses_forced_tools(model: str | None) -> bool:
    """Whether a model refuses to be told to call a tool, in any request (rule A25)."""
    return _is_of(model, _CHOOSES_SINCE)


def _is_of(model: str | None, first: dict[str, _Version]) -> bool:
    """Whether a model is of one of some tiers, and of a version since the first one there."""
    tier = _TIER.search(model or "")
    since = first.get(tier[1]) if tier else None
    return since is not None and _is_since(model, since)


def _is_since(model: str | None, first: _Version) -> bool:
    found = version(model)
    return found is not None and found >= first
