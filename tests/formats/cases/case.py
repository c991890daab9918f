"""One body, and the one rule that it is about."""

from typing import Any, NamedTuple


class Case(NamedTuple):
    """A body that a rule permits or refuses, and the model if the rule depends on it."""

    rule: str
    body: dict[str, Any]
    model: str | None = None
