"""What a rule says about a request, and how rules are run.

A rule is a function that has the rule's name, takes a request and yields faults.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

Json = dict[str, Any]


class Problem(NamedTuple):
    """One rule that one place of a body breaks; careless where some API somewhere lets it pass."""

    rule: str
    where: str
    why: str
    careless: bool


class Fault(NamedTuple):
    """A problem before its rule's name is put to it."""

    where: str
    why: str
    careless: bool = False


class Shape(NamedTuple):
    """The keys that an object may have, and those that it must have."""

    allowed: frozenset[str]
    required: frozenset[str]


Request = TypeVar("Request")
Rule = Callable[[Request], Iterator[Fault]]


def careless(where: str, why: str) -> Fault:
    """Return a fault that some API tolerates, on which nobody should rely."""
    return Fault(where, why, careless=True)


def run(rules: Iterable[Rule[Request]], request: Request) -> list[Problem]:
    """Run every rule, and return what each finds under its name."""
    return [Problem(rule.__name__.replace("_", "-"), *fault) for rule in rules for fault in rule(request)]


def shape_of(keys: str) -> Shape:
    """Read a shape from its keys, of which the required ones end in an exclamation mark."""
    names = keys.split()
    required = frozenset(name[:-1] for name in names if name.endswith("!"))
    return Shape(required | frozenset(name for name in names if not name.endswith("!")), required)


def shapes(table: dict[str, str]) -> dict[str, Shape]:
    """Read a table of shapes by type; the type itself is a key of each."""
    return {name: shape_of(f"type! {keys}") for name, keys in table.items()}


def key_faults(where: str, found: Json, shape: Shape) -> Iterator[Fault]:
    """Yield the keys that an object has and may not have, and those that it lacks."""
    for key in sorted(found.keys() - shape.allowed):
        yield Fault(f"{where}.{key}", "unknown key")
    for key in sorted(shape.required - found.keys()):
        yield Fault(f"{where}.{key}", "required key is missing")


def objects(value: Any, where: str) -> Iterator[tuple[str, Json]]:
    """Return the objects of a list with their places; anything else is for the shapes to report."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            if isinstance(entry, dict):
                yield f"{where}[{index}]", entry


def repeated(names: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return each name that occurs again, with its later place."""
    seen = set()
    for where, name in names:
        if isinstance(name, str) and name in seen:
            yield where, name
        elif isinstance(name, str):
            seen.add(name)
