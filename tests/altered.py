"""Values like a given one, for what must cope with anything: with another value in each place, or in a chosen one."""

from collections.abc import Iterable, Iterator
from typing import Any


def altered(value: Any, others: Iterable[Any]) -> Iterator[Any]:
    """Yield a value with each other one in each place, and without each of its parts."""
    yield from others
    if isinstance(value, dict):
        for key in value:
            yield {name: inside for name, inside in value.items() if name != key}
            yield from ({**value, key: other} for other in altered(value[key], others))
    if isinstance(value, list):
        for number in range(len(value)):
            yield from ([*value[:number], other, *value[number + 1 :]] for other in altered(value[number], others))


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a value: what it is in, and its key there."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places_in(value[key])
