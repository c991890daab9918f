"""The features of Anthropic's API that a request declares before it may have their blocks (rule A23)."""

import re
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.anthropic import FALLBACK
from reel.providers.metadata import opaque_object

# The keys of ``extra`` with the names of betas, as the SDK and as Bedrock have them; they are read, and no part of the
# body.
KEYS = ("betas", "anthropic_beta")
# What separates names in the header cannot be in one.
_NAME = re.compile(r"[^\s,]+")


class Beta(NamedTuple):
    """A feature.

    Args:
        blocks: the types of blocks that a history may have only with it.
        prefix: how the names of its betas begin.
        newest: the name of the one to declare.
        keys: the keys of a request that use it, and so declare it.
        edits: how the types of edits in ``context_management`` begin that use it.
    """

    blocks: tuple[str, ...]
    prefix: str
    newest: str
    keys: tuple[str, ...]
    edits: str | None = None


_FEATURES = {
    "fallbacks": Beta((FALLBACK,), "server-side-fallback-", "server-side-fallback-2026-07-01", ("fallbacks",)),
    "compaction": Beta(("compaction",), "compact-", "compact-2026-09-04", ("compaction",), "compact_"),
    "mcp": Beta(
        ("mcp_tool_use", "mcp_tool_result", "mcp_tool_listing"),
        "mcp-client-",
        "mcp-client-2026-09-15",
        ("mcp_servers",),
    ),
    "files": Beta(("container_upload",), "files-api-", "files-api-2025-04-14", ("container",)),
}
_FEATURE_OF = {kind: name for name, beta in _FEATURES.items() for kind in beta.blocks}


def declared(extra: Json) -> frozenset[str]:
    """Return the features that a request declares, by its betas or by a key that uses one."""
    if not extra:
        return frozenset()
    named, edits = _named(extra), _edits(extra)
    return frozenset(
        name
        for name, beta in _FEATURES.items()
        if any(extra.get(key) is not None for key in beta.keys)
        or any(one.startswith(beta.prefix) for one in named)
        or (beta.edits is not None and any(kind.startswith(beta.edits) for kind in edits))
    )


def _edits(extra: Json) -> list[str]:
    """Return the types of the edits in ``context_management``."""
    management: Any = extra.get("context_management")
    edits = management.get("edits") if type(management) is dict else None
    return [str(edit.get("type")) for edit in edits if type(edit) is dict] if type(edits) is list else []


def why_undeclared(block: Json, known: frozenset[str]) -> str | None:
    """Return why a block is left out: the API does not know its type unless the request declares the feature."""
    kind = (opaque_object(block) or {}).get("type") if block["type"] == "opaque" else None
    feature = _FEATURE_OF.get(kind) if type(kind) is str else None
    if feature is None or feature in known:
        return None
    beta = _FEATURES[feature]
    return f"a block of the type {kind}: extra declares no beta for it, such as {beta.newest}"


def why_invalid(extra: Json) -> str | None:
    """Return why betas cannot be declared: they are not a list of names."""
    for key in KEYS:
        given: Any = extra.get(key)
        if given is not None and not (type(given) is list and all(map(_is_name, given))):
            return f'{key}: expected a list of names, such as ["{_FEATURES["compaction"].newest}"], got {given!r}'
    return None


def _is_name(value: Any) -> bool:
    return type(value) is str and _NAME.fullmatch(value) is not None


def header(extra: Json, known: frozenset[str]) -> list[str]:
    """Return the betas of a request's header: those of ``extra``, and one for each feature that it uses without."""
    named = _named(extra)
    needed = [_FEATURES[name] for name in _FEATURES if name in known]
    missing = [beta.newest for beta in needed if not any(one.startswith(beta.prefix) for one in named)]
    return [*named, *missing]


def _named(extra: Json) -> list[str]:
    """Return the names in ``extra``, once each; anything else is refused later."""
    given: list[Any] = [extra.get(key) for key in KEYS]
    return list(dict.fromkeys(one for names in given if type(names) is list for one in names if _is_name(one)))
