"""The replies to commands that set marks and navigate in the log."""

from __future__ import annotations

from reel.base.light_typing import NamedTuple


class Moved(NamedTuple):
    """The conversation was cleared or restored; ``was`` is the head before, the seq to restore."""

    agent: str
    head: int
    command: int
    time: int
    was: int
    repeated: bool = False


class Marked(NamedTuple):
    """A mark was set."""

    agent: str
    head: int
    command: int
    time: int
    seq: int
    label: str | None
    repeated: bool = False


class Rewound(NamedTuple):
    """The conversation was rewound to ``target``, the seq of the mark ``label``; ``dropped`` records left it."""

    agent: str
    head: int
    command: int
    time: int
    target: int
    dropped: int
    was: int
    label: str | None = None
    repeated: bool = False


class Undone(NamedTuple):
    """The command ``undone`` was undone."""

    agent: str
    head: int
    command: int
    time: int
    undone: int
    was: int
    repeated: bool = False


class TurnUndone(NamedTuple):
    """The turn that began with the seq ``first`` was taken back; ``dropped`` records left the conversation.

    ``was`` is the head before, the seq to restore.
    """

    agent: str
    head: int
    command: int
    time: int
    first: int
    dropped: int
    was: int
    repeated: bool = False


class Redone(NamedTuple):
    """The command ``redone`` was redone."""

    agent: str
    head: int
    command: int
    time: int
    redone: int
    was: int
    repeated: bool = False
