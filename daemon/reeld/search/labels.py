"""Which agents a person means who types parts of their names, titles and tags."""

from collections.abc import Callable

from reeld.search.words import fold

# Characters of a query that are read; a title has no more.
MAX_QUERY = 1024


def label_filter(query: str) -> Callable[[str], bool]:
    """Return a function that tells whether what describes an agent has every word of a query.

    A word may be any part of it, without differences of case and accents: the end of a name and the middle of a
    Chinese title are found, too.
    """
    wanted = [fold(word) for word in query[:MAX_QUERY].split()]

    def has_all(labels: str) -> bool:
        folded = fold(labels)
        return all(word in folded for word in wanted)

    return has_all
