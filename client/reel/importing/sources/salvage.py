"""Finds what is readable in a damaged object that has a list of messages."""

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO

from reel.base.strict_json import Json
from reel.importing.sources.json_elements import Elements
from reel.importing.values import parse_record

# Stands for a message that is damaged.
GAP: Json = {}


def salvaged(data: bytes, first_keys: Iterable[str], accepts: Callable[[Json], bool]) -> Iterator[Json]:
    """Yield the complete messages in damaged data; see :func:`with_gaps`."""
    return (found for found in with_gaps(data, first_keys, accepts) if found is not GAP)


def with_gaps(data: bytes, first_keys: Iterable[str], accepts: Callable[[Json], bool]) -> Iterator[Json]:
    """Yield the complete messages in damaged data, and a gap for each other one: those after it keep their numbers.

    Args:
        data: the data, from the beginning of the list on; or all of it.
        first_keys: the keys that a message may begin with.
        accepts: returns whether an object is a message.
    """
    elements, damaged = Elements(BytesIO(data), first_keys), False
    while (element := elements.next(damaged=damaged)) is not None:
        try:
            found = (parse_record(element.data) if element.complete else None) or {}
        except (ValueError, RecursionError):
            found = {}
        damaged = not accepts(found)
        yield GAP if damaged else found
