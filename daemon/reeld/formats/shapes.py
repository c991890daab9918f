"""The keys that the objects of an API may have and must have, by their type."""

from typing import NamedTuple


class Shape(NamedTuple):
    """The keys that an object may have, and those that it must have."""

    allowed: frozenset[str]
    required: frozenset[str]


def shapes_of(table: dict[str, str]) -> dict[str, Shape]:
    """Return the shapes of a table from types to their keys, divided by blanks; a required key ends in "!"."""
    return {
        kind: Shape(
            frozenset(["type", *(key.rstrip("!") for key in keys.split())]),
            frozenset(key.rstrip("!") for key in keys.split() if key.endswith("!")),
        )
        for kind, keys in table.items()
    }
