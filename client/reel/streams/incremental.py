"""Maps whose texts arrive in pieces, and readers of values that may have any type.

A provider may send anything. So a value of the wrong type counts as empty, and a stream never fails because of it.
"""

from typing import Any

from reel.base.strict_json import parse_bounded
from reel.base.values import is_clean


def dict_or_empty(value: Any) -> dict[str, Any]:
    """Return a map, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: Any) -> list[Any]:
    """Return a list, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def text_or_empty(value: Any) -> str:
    """Return a text, or an empty one in place of anything else."""
    return value if isinstance(value, str) else ""


def index_or_zero(value: Any) -> int:
    """Return an index, by which items are identified and sorted, or 0 in place of anything else."""
    return value if type(value) is int else 0


def object_or_text(text: str) -> Any:
    """Return the arguments that the pieces of a call form, or the text itself if it is truncated or not an object."""
    try:
        found = parse_bounded(text) if text else {}
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


class IncrementalMap:
    """A map some of whose texts grow. They are joined when it is read, so that growing does not copy a long text.

    Args:
        start: the initial map.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self.known = dict(start)
        self._grown: dict[str, list[str]] = {}

    def grow(self, field: str, piece: str) -> None:
        """Append to the text in a field."""
        self._grown.setdefault(field, [text_or_empty(self.known.get(field))]).append(piece)

    def add(self, given: dict[str, Any]) -> None:
        """Add a piece, whatever its fields are: texts and lists grow, anything else replaces what was there.

        A value of another type than the field has counts as nothing.
        """
        for field, piece in given.items():
            known = "" if field in self._grown else self.known.get(field)
            if isinstance(piece, str) and (known is None or isinstance(known, str)):
                self.grow(field, piece)
            elif known is None or type(known) is type(piece):
                self.known[field] = [*list_or_empty(known), *piece] if isinstance(piece, list) else piece

    def text(self, field: str) -> str:
        """Return the text in a field, as received so far."""
        if field not in self._grown:
            return text_or_empty(self.known.get(field))
        return join_surrogates("".join(self._grown[field]))

    def value(self) -> dict[str, Any]:
        """Return the map, as received so far."""
        return {**self.known, **{field: self.text(field) for field in self._grown}}


def join_surrogates(text: str) -> str:
    """Join the surrogates of characters beyond the first plane whose halves arrived in different pieces."""
    return text if is_clean(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
