"""The frames of a connection, for every framing, and the limits."""

from __future__ import annotations

from reel.base.errors import ReelError, TooLarge
from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, TypeAlias

# The longest message that is accepted, in bytes; every connection may make the daemon hold one.
MAX_MESSAGE = 16 << 20
# The longest reply that our clients accept, in bytes. The longest that the daemon sends is a rendered body of 48 MiB.
MAX_REPLY = 64 << 20
# From this many bytes on, a value is large: a new encoder costs nothing beside it.
LARGE = 1 << 20
# The most items of one list, and keys of one map. MessagePack's decoder allocates a list by its header alone, before
# any item has arrived, so that five hostile bytes could ask for gigabytes.
MAX_ELEMENTS = 1 << 16
# How many bytes are read from a socket at a time. From 128 KiB on, malloc asks the kernel for memory and gives it back
# each time: a small add took the client 190 to 235 us of processor time with 256 KiB, and 125 to 175 with this.
RECEIVED = 1 << 16
# How many at a time of a reply whose beginning has arrived, into memory that is asked for once: about as much as a
# socket holds.
RECEIVED_AMID = 1 << 18
# The feature of a client that takes messages in short (:mod:`reel.wire.short_messages`), and of a daemon that has them.
SHORT_MESSAGES = "short_messages"
# The id of a request. A response repeats it unchanged. MessagePack-RPC has only integers.
Id: TypeAlias = int | str


class Request(NamedTuple):
    """A call that expects a response; ``size`` is about what it takes in memory, in bytes."""

    id: Id
    method: str
    params: Any
    size: int


class Notification(NamedTuple):
    """A call that expects no response, or a push; ``size`` is about what it takes in memory, in bytes."""

    method: str
    params: Any
    size: int


class Response(NamedTuple):
    """The outcome of a request: ``error``, or ``result`` if that is ``None``.

    ``id`` is ``None`` if the other side could not read what it responds to.
    """

    id: Id | None
    error: Any
    result: Any


class InvalidFrame(NamedTuple):
    """A message that cannot be read as a frame; after a ``fatal`` one the rest of the stream is lost."""

    error: ReelError
    fatal: bool


Frame: TypeAlias = Request | Notification | Response | InvalidFrame


def too_large(limit: int, size: int | None = None) -> TooLarge:
    """Return the error for a message that is too long.

    Args:
        limit: how many bytes it may have.
        size: how many it has, if that is known.
    """
    has = "" if size is None else f", this one has {size}"
    return TooLarge(f"a message may have {limit} bytes{has}; send it in parts", limit=limit)
