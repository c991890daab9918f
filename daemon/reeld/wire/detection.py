"""Which framing a peer speaks, judging by its first byte."""

from reel.wire.frames import MAX_MESSAGE
from reeld.wire.framing import Framing
from reeld.wire.msgpack_framing import ServerMessagePack
from reeld.wire.sizes import MAX_VALUES

_ARRAY_HEADERS = frozenset({*range(0x90, 0xA0), 0xDC, 0xDD})


def detect(first: int, max_message: int = MAX_MESSAGE, max_values: int = MAX_VALUES) -> Framing | None:
    """Return the framing that a peer speaks, judging by its first byte; ``None`` if it is not one of ours."""
    if first in _ARRAY_HEADERS:
        return ServerMessagePack(max_message, max_values)
    if first in b"Cc{[ \t\r\n":
        from reeld.wire.json_framing import ContentLength, Lines  # noqa: PLC0415 - our own clients never use it

        return (ContentLength if first in b"Cc" else Lines)(max_message, max_values)
    return None
