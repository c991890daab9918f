"""Maps whose texts come in pieces, and what may be believed of a value that a stranger sent."""

from typing import Any

from reel.values import is_clean


def dict_or_empty(value: Any) -> dict[str, Any]:
    """Give a map; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    """Give a list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def text_or_empty(value: Any) -> str:
    """Give a text; an empty one in place of anything else."""
    return value if isinstance(value, str) else ""


def index_or_zero(value: Any) -> int:
    """Give a place in a list, by which things are told apart and put in order; 0 in place of anything else."""
    return value if type(value) is int else 0


class IncrementalMap:
    """A map some of whose texts grow, joined when it is read: adding to a long text must not copy it.

    Args:
        start: what is known of it at first.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self.known = dict(start)
        self._grown: dict[str, list[str]] = {}

    def grow(self, field: str, piece: str) -> None:
        """Add to the text in a field."""
        self._grown.setdefault(field, [text_or_empty(self.known.get(field))]).append(piece)

    def text(self, field: str) -> str:
        """Read the text in a field, as far as it has come."""
        if field not in self._grown:
            return text_or_empty(self.known.get(field))
        return join_surrogates("".join(self._grown[field]))

    def value(self) -> dict[str, Any]:
        """Read the map, as far as it has come."""
        return {**self.known, **{field: self.text(field) for field in self._grown}}


def join_surrogates(text: str) -> str:
    """Mend the characters beyond the first plane whose halves came in different pieces."""
    return text if is_clean(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
