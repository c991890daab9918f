"""One body, and the one rule that it is about."""

from typing import Any, NamedTuple


class Case(NamedTuple):
    """A body that a rule lets pass or refuses; by which model, where the rule asks."""

    rule: str
    body: dict[str, Any]
    model: str | None = None
