"""Encoding and decoding single values as MessagePack.

The daemon keeps messages encoded in this form, so its core needs these functions, and no framing.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgpack import Packer, unpackb

_BUFFER = 1 << 16
# "array 32": the number of elements follows, in 4 bytes.
_LIST = b"\xdd"


def packer() -> Callable[[Any], bytes]:
    """Return a function that encodes one value as MessagePack; each thread needs its own.

    Its buffer is small: the library's default of 256 KiB costs more to allocate than most messages cost to encode.
    """
    pack: Callable[[Any], bytes] = Packer(buf_size=_BUFFER).pack  # type: ignore[call-arg]  # missing in the stubs
    return pack


def unpack(data: bytes) -> Any:
    """Decode one value that was encoded by this module."""
    return unpackb(data)


def unpack_raw(encoded: Sequence[bytes]) -> list[Any]:
    """Decode values that were encoded by this module; every text and every key stays UTF-8, as bytes."""
    # The head of a list makes one value of all: it is decoded by one call.
    return unpackb(b"".join((_LIST, len(encoded).to_bytes(4, "big"), *encoded)), raw=True)  # type: ignore[no-any-return]
