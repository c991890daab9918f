"""Values of a result that are encoded already, to be spliced in as they are."""

from reel.base.light_typing import NamedTuple

# The bytes of a character in UTF-8 after its first.
_CONTINUATIONS = bytes(range(0x80, 0xC0))


class PackedList(NamedTuple):
    """A list whose items are MessagePack already, to be spliced into a result."""

    items: list[bytes]


class PackedMessages(NamedTuple):
    """The same for messages in the form in which they are kept (:mod:`reel.wire.short_messages`)."""

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

    def __bytes__(self) -> bytes:
        return b"".join(self.parts)

    def __str__(self) -> str:
        return bytes(self).decode()

    @property
    def characters(self) -> int:
        """How many characters it has, found without joining its parts."""
        return sum(len(bytes(part).translate(None, _CONTINUATIONS)) for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EncodedText) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))
