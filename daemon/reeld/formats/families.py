"""Model families: signatures and opaque blocks go back to the family that made them, and to no other."""

import re

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
