"""The frames of a connection, for every framing, and the limits."""

from __future__ import annotations

from abc import ABC, abstractmethod

from reel.base.errors import ReelError, TooLarge
from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, TypeAlias

# The longest message that is accepted, in bytes; every connection may make the daemon hold one.
MAX_MESSAGE = 16 << 20
# The longest reply that our clients accept, in bytes. The longest that the daemon sends is a rendered body of 48 MiB.
MAX_REPLY = 64 << 20
# The most values in a message, those inside others and the keys of maps included. An empty list is one byte on the
# wire: without this limit 16 MiB of them became 1.2 GB in memory.
MAX_VALUES = 1 << 20
# The most items of one list, and keys of one map. MessagePack's decoder allocates a list by its header alone, before
# any item has arrived, so that five hostile bytes could ask for gigabytes.
MAX_ELEMENTS = 1 << 16
# The average memory of a decoded value besides its bytes on the wire, in bytes.
_VALUE_COST = 80
# A message of fewer values is charged for its bytes alone: its values do not matter, and need not be counted exactly.
UNCOUNTED_VALUES = 256
# Nor do the values of a message of fewer bytes.
UNCOUNTED_BYTES = 1 << 10

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


# The bytes of a character in UTF-8 after its first.
_CONTINUATIONS = bytes(range(0x80, 0xC0))


class PackedList(NamedTuple):
    """A list whose items are MessagePack already, to be spliced into a result."""

    items: list[bytes]


class EncodedText:
    """A text in UTF-8, to be spliced into a result; it is equal to another one of the same text.

    Args:
        parts: its bytes, which are joined only when it is sent.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: list[bytes | memoryview]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __str__(self) -> str:
        return b"".join(self.parts).decode()

    @property
    def characters(self) -> int:
        """How many characters it has, found without joining its parts."""
        return sum(len(bytes(part).translate(None, _CONTINUATIONS)) for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EncodedText) and b"".join(self.parts) == b"".join(other.parts)

    def __hash__(self) -> int:
        return hash(b"".join(self.parts))


class SharedPush:
    """The parameters of a push that goes to many subscriptions, encoded only once for each framing.

    Args:
        fields: the parameters that still have to be encoded.
        packed: further parameters, as MessagePack already.
    """

    __slots__ = ("encodings", "fields", "packed", "pushes")

    def __init__(self, fields: dict[str, Any], packed: dict[str, bytes]) -> None:
        self.fields = fields
        self.packed = packed
        # By the name of the framing.
        self.encodings: dict[str, Any] = {}
        # Complete pushes without a ``push_target``, by framing and subscription number. Most connections have only one
        # subscription, so most pushes are identical.
        self.pushes: dict[tuple[str, int], bytes] = {}


class SharedPushes(ABC):
    """The part of every framing that encodes a push to many subscriptions only once."""

    name: str
    push_target: list[str]

    def push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        """Encode a push to the subscription with the number ``sub``."""
        if self.push_target:
            return self._lay_push(method, sub, shared)
        key = (self.name, sub)
        whole = shared.pushes.get(key)
        if whole is None:
            whole = shared.pushes[key] = self._lay_push(method, sub, shared)
        return whole

    @abstractmethod
    def _lay_push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        """Encode the whole push, reusing ``shared.encodings`` if possible."""


def memory_cost(size: int, values: int) -> int:
    """Return about how many bytes of memory a message takes: its bytes on the wire, and its values."""
    return size if values < UNCOUNTED_VALUES or size < UNCOUNTED_BYTES else size + _VALUE_COST * values


def too_large(limit: int, size: int | None = None) -> TooLarge:
    """Return the error for a message that is too long.

    Args:
        limit: how many bytes it may have.
        size: how many it has, if that is known.
    """
    has = "" if size is None else f", this one has {size}"
    return TooLarge(f"a message may have {limit} bytes{has}; send it in parts", limit=limit)


def too_many(limit: int) -> TooLarge:
    """Return the error for a message that has too many values."""
    return TooLarge(f"a message may have {limit} values, one inside another included; send it in parts", limit=limit)
