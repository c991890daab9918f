"""The form of what daemons on one server tell each other: a JSON list of a kind, the sending daemon's number, and more.

PostgreSQL lets everybody who may connect to a database notify everybody else. So a message is checked like any other
input, and what no version sends is ignored. A newer version may send more kinds, and append to those that there are.
"""

import json
from collections.abc import Iterator
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.values import clean_deep, has_large_number

# Bytes of a message: PostgreSQL takes less than 8000.
MOST = 7800


class Message(NamedTuple):
    """A message: its kind, the number of the daemon that sent it, and the rest."""

    kind: str
    daemon: int
    more: list[Any]


def written(kind: str, daemon: int, *more: Any) -> str:
    """Return a message as text."""
    return json.dumps((kind, daemon, *more), ensure_ascii=False, separators=(",", ":"))


def read(text: str) -> Message | None:
    """Return a message, with clean texts and numbers that every client can hold; ``None`` if it is not one."""
    try:
        given = json.loads(text)
        if has_large_number(given):
            return None
        given, _ = clean_deep(given)
    except (ValueError, RecursionError):
        return None
    match given:
        case [str(kind), int(daemon), *more] if are_numbers(daemon) and daemon > 0:
            return Message(kind, daemon, more)
    return None


def are_numbers(*values: Any) -> bool:
    """Return whether values are integers; Python takes JSON's ``true`` for one, too."""
    return all(type(value) is int for value in values)


def pieces(text: str, room: int) -> Iterator[str]:
    """Yield a text in pieces, each of which has at most so many bytes in JSON; an empty text is one piece."""
    while True:
        piece = text[:room]
        while len(json.dumps(piece, ensure_ascii=False).encode(errors="replace")) > room:
            piece = piece[: len(piece) // 2]
        yield piece
        text = text[len(piece) :]
        if not text:
            return
