"""Which agents a person means who types parts of their names, titles and tags."""

import re
from collections.abc import Callable
from typing import NamedTuple

from reeld.search.words import fold

# Characters of a query that are read; a title has no more.
MAX_QUERY = 1024
# Pieces that are looked for before anything else.
_PIECES = 8
# What labels do not have as it is stored: the sign between the key and the value of a tag, and what JSON escapes.
_NOT_STORED = re.compile(r'[="\\\x00-\x1f]')


class LabelFilter(NamedTuple):
    """A query for agents.

    Args:
        accepts: returns whether what describes an agent has every word.
        pieces: lower-case ASCII texts that are in what is accepted as it is stored, unless that is not ASCII.
    """

    accepts: Callable[[str], bool]
    pieces: tuple[str, ...]


def label_filter(query: str) -> LabelFilter:
    """Return what finds the agents with every word of a query.

    A word may be any part of it, without differences of case and accents: the end of a name and the middle of a
    Chinese title are found, too.
    """
    wanted = [fold(word) for word in query[:MAX_QUERY].split()]

    def has_all(labels: str) -> bool:
        folded = fold(labels)
        return all(word in folded for word in wanted)

    pieces = {piece for word in wanted for piece in _NOT_STORED.split(word) if piece}
    return LabelFilter(has_all, tuple(sorted(pieces, key=len, reverse=True)[:_PIECES]))
