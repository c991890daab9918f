"""Encoding and decoding single values as MessagePack.

The daemon keeps messages encoded in this form, so its core needs these two functions, and no framing.
"""

from collections.abc import Callable
from typing import Any

from msgpack import Packer, unpackb

_BUFFER = 1 << 16


def packer() -> Callable[[Any], bytes]:
    """Return a function that encodes one value as MessagePack; each thread needs its own.

    Its buffer is small: the library's default of 256 KiB costs more to allocate than most messages cost to encode.
    """
    pack: Callable[[Any], bytes] = Packer(buf_size=_BUFFER).pack  # type: ignore[call-arg]  # missing in the stubs
    return pack


def unpack(data: bytes) -> Any:
    """Decode one value that was encoded by this module."""
    return unpackb(data)
