"""The replies to commands that add messages or items, and to several commands at once."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reel.replies.agents import OpenCall


class Orphan(NamedTuple):
    """A result that has no open call."""

    id: str
    seq: int


class Known(NamedTuple):
    """A message that existed already: its index among those to add, and the seq of the event that has its ``ref``."""

    index: int  # type: ignore[assignment]  # hides a method of tuples; the protocol names the field so
    seq: int


class Added(NamedTuple):
    """Messages were added: ``first`` is the seq of the first one; 0 if none were.

    ``replaced`` says how many characters were replaced, ``numbers_as_text`` how many numbers messages have as text. If
    messages were replaced, ``dropped`` says how many records left the conversation, and ``was`` is the head before, the
    seq to restore. ``known`` lists the messages that existed already. ``late`` says how many messages were added since
    what an answer was rendered for. If nothing was written, ``command`` and ``time`` are 0.
    """

    agent: str
    head: int
    command: int
    time: int
    first: int
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    replaced: int = 0
    repeated: bool = False
    numbers_as_text: int = 0
    dropped: int = 0
    was: int | None = None
    known: Sequence[Known] = ()
    late: int = 0


class Appended(NamedTuple):
    """A stretch of a log was appended: ``first`` is the seq of its first event."""

    agent: str
    head: int
    command: int
    time: int
    first: int
    replaced: int = 0
    repeated: bool = False
    numbers_as_text: int = 0


class PartResult(NamedTuple):
    """The result of one part of a command on several agents; the fields are those of `Added`.

    ``name`` is that of an agent that was created. ``first`` is the seq of the first message that was added.
    """

    agent: str
    head: int
    command: int = 0
    time: int = 0
    name: str | None = None
    first: int = 0
    seqs: Sequence[int] = ()
    replaced: int = 0
    numbers_as_text: int = 0
    dropped: int = 0
    was: int | None = None
    known: Sequence[Known] = ()
    late: int = 0


class Committed(NamedTuple):
    """A command on several agents was carried out: the result of each part.

    ``agent``, ``head`` and ``command`` are those of the first agent that got something. If nothing was written,
    ``command`` and ``time`` are 0.
    """

    agent: str
    head: int
    results: list[PartResult]
    command: int = 0
    time: int = 0
    repeated: bool = False


class AddedItems(NamedTuple):
    """Items were added: ``seqs`` has the seq of each, even if it existed already; the rest is as in `Added`."""

    agent: str
    head: int
    command: int
    time: int
    first: int
    seqs: list[int]
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    replaced: int = 0
    repeated: bool = False
    numbers_as_text: int = 0
    dropped: int = 0
    was: int | None = None
    known: Sequence[Known] = ()
    late: int = 0
