"""Encoding and decoding single values as MessagePack.

The daemon keeps messages encoded in this form, so its core needs these functions, and no framing.
"""

from __future__ import annotations

from _thread import _local  # threading.local, without its import

from msgpack import Packer, unpackb

from reel.base.light_typing import TYPE_CHECKING
from reel.wire.frames import LARGE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_BUFFER = 1 << 16
# What begins a list of 2**16 values or more, before their number in four bytes; a list of fewer may begin so as well.
_LIST = b"\xdd"
# What the library raises for a number that is too large for it, and for one that Python cannot represent.
CANNOT_PACK = (OverflowError, TypeError)


def packer(unicode_errors: str | None = None) -> Callable[[Any], bytes]:
    """Return a function that encodes one value as MessagePack; each thread needs its own.

    Its buffer is small: the library's default of 256 KiB costs more to allocate than most messages cost to encode.

    Args:
        unicode_errors: what becomes of lone surrogates, as in ``str.encode``; without it they raise
            ``UnicodeEncodeError``. With any, also with ``strict``, each text is encoded by itself, which takes twice as
            long for a message.
    """
    made = Packer(buf_size=_BUFFER, unicode_errors=unicode_errors)  # type: ignore[call-arg]  # missing in the stubs
    pack: Callable[[Any], bytes] = made.pack
    return pack


class LastingPacker:
    """An encoder for one thread that lives as long as its process.

    An encoder keeps a buffer of twice the largest value that it has ever encoded: after four messages of 4 to 15 MB,
    those of the daemon kept 100 MB. So it is replaced after a large value.

    Args:
        make: returns a function that encodes one value.
    """

    __slots__ = ("_make", "pack")

    def __init__(self, make: Callable[[], Callable[[Any], bytes]] = packer) -> None:
        self._make = make
        # Encodes one value. Whoever keeps a reference to it keeps the buffer, too.
        self.pack = make()

    def forget(self, size: int) -> None:
        """Free the buffer if a value of about this size, in bytes, was encoded and is large."""
        if size >= LARGE:
            self.pack = self._make()


class _OfThread(_local):
    """The encoder of each thread for :func:`packed`: to make one takes twice as long as to encode a message."""

    def __init__(self) -> None:
        self.packer = LastingPacker()


_own = _OfThread()


def packed(value: Any) -> bytes:
    """Return a plain value as MessagePack, with lone surrogates.

    Raises:
        OverflowError: a number is too large.
        TypeError: it has something that is no plain value, or a numeral.
    """
    lasting = _own.packer
    try:
        data = lasting.pack(value)
    except UnicodeEncodeError:  # few texts have lone surrogates
        data = packer("surrogatepass")(value)
    lasting.forget(len(data))
    return data


def unpack(data: bytes) -> Any:
    """Decode one value that was encoded by this module."""
    return unpackb(data)


def unpack_all(encoded: Sequence[bytes]) -> list[Any]:
    """Decode values that were encoded by this module, each by itself: many small ones in two thirds of the time."""
    if sum(map(len, encoded)) >= LARGE:  # they would be in memory once more
        return [unpackb(data) for data in encoded]
    values: list[Any] = unpackb(b"".join((_LIST, len(encoded).to_bytes(4, "big"), *encoded)))
    return values
