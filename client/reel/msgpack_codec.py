"""Encoding and decoding single values of the wire."""

from collections.abc import Callable
from typing import Any

from msgpack import Packer, unpackb

_BUFFER = 1 << 16


def packer() -> Callable[[Any], bytes]:
    """Make a function that encodes one value as MessagePack.

    Each thread needs its own. Its buffer stays small: the library's default of 256 KiB costs more to allocate
    than most messages cost to encode.
    """
    pack: Callable[[Any], bytes] = Packer(buf_size=_BUFFER).pack  # type: ignore[call-arg]  # the stubs lack it
    return pack


def unpack(data: bytes) -> Any:
    """Decode one value that was encoded here."""
    return unpackb(data)
