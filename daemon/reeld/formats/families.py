"""Model families: signatures and opaque blocks go back to the family that made them, and to no other."""

import re
from typing import Any

# What tells releases of one model apart: dates, revisions, channels.
_RELEASE = re.compile(
    r"([-@](\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4}|\d{3})|-v\d+(:\d+)?|-(latest|preview|exp|experimental))+$"
)
# What clouds and routers put before the name: "models/", "anthropic/", "us.anthropic.".
_ROUTE = re.compile(r"^(.*/)?([a-z-]+\.)*(?=[a-z])")


def family(model: str) -> str:
    """Give the family of a model: its name without route, date, revision and channel."""
    return _RELEASE.sub("", _ROUTE.sub("", model.lower())).replace(".", "-")


def same_family(made_by: str | None, target: str | None) -> bool:
    """Tell whether what one model signed may go to another; what is unknown stands in nobody's way."""
    return not made_by or not target or family(made_by) == family(target)


def foreign(block: dict[str, Any], provider: str, model: str | None) -> str | None:
    """Say whose a block is that only its maker can read, where that is somebody else than who is to get it.

    Args:
        block: thinking, or an opaque block.
        provider: who is to get it.
        model: which model of theirs; ``None`` where that does not matter, or is not known.
    """
    kind = "a block" if block["type"] == "opaque" else "thinking"
    if block.get("provider") != provider:
        return f"{kind} of {block.get('provider') or 'an unknown provider'}"
    if not same_family(block.get("model"), model):
        return f"{kind} of another model, {block['model']}"
    return None
