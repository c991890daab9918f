"""Bound thinking (rule A8): what was before a block when it was made must still be there."""

from typing import Any

from tests.formats.checker.anthropic_request import Request
from tests.formats.checker.problem import Json, Problem

SIGNED = ("signature", "data", "connector_text")


def prefix_changed(earlier: Json, later: Json) -> list[Problem]:
    """Return the thinking blocks of two bodies of Anthropic before which the later body differs.

    A block is not bound to cache breakpoints.
    """
    before, after = bound(earlier), bound(later)
    return [
        Problem("prefix-changed", where, "what comes before it differs", careless=False)
        for name, (where, prefix) in after.items()
        if name in before and before[name][1] != prefix
    ]


def bound(body: Json) -> dict[str, tuple[str, list[Any]]]:
    """Return each signed block by its signature: its place, and everything before it."""
    request = Request(body, None)
    said: list[Any] = [unmarked(body.get("system")), unmarked(body.get("tools"))]
    found = {}
    for turn in request.turns:
        for where, block in turn.blocks:
            if block.get("type") in ("thinking", "redacted_thinking", "connector_text"):
                name = next((str(block[key]) for key in SIGNED if key in block), "")
                found[name] = (where, list(said))
            said.append((turn.role, unmarked(block)))
    return found


def unmarked(value: Any) -> Any:
    """Return a value without its cache breakpoints."""
    if isinstance(value, dict):
        return {key: unmarked(entry) for key, entry in value.items() if key != "cache_control"}
    return [unmarked(entry) for entry in value] if isinstance(value, list) else value
