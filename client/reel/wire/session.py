"""MessagePack-RPC as a client speaks it, without any I/O; the daemon's half is :mod:`reeld.wire.msgpack_framing`."""

from __future__ import annotations

from msgpack import Packer

from reel.base.errors import InvalidParams
from reel.base.light_typing import TYPE_CHECKING
from reel.wire.frames import LARGE, MAX_MESSAGE
from reel.wire.msgpack_reader import MessageReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reel.wire.frames import Frame, Id

# The buffer of a connection's encoder, in bytes; it grows as needed. The library's own has 256 KiB.
_BUFFER = 1 << 9


class MessagePack:
    """MessagePack-RPC: ``[0, id, method, params]``, ``[1, id, error, result]``, ``[2, method, params]``.

    ``feed`` takes received bytes, in pieces of any size, and returns the frames that are complete. After an
    :class:`~reel.wire.frames.InvalidFrame` that is ``fatal`` nobody knows where the next message begins.

    Args:
        max_message: the longest message that is accepted, in bytes.
    """

    def __init__(self, max_message: int = MAX_MESSAGE) -> None:
        self._reader = MessageReader(max_message)
        # The encoder of calls, made by the first one. A client sends what it got: the daemon replaces and counts.
        self._pack_call: Callable[[Any], bytes] | None = None

    def feed(self, data: bytes | memoryview) -> list[Frame]:
        """Process received bytes; return the frames that they complete, in order. A fatal frame is the last one."""
        return self._reader.feed(data)

    @property
    def is_amid(self) -> bool:
        """Whether a part of a message has arrived, and the rest has not."""
        return self._reader.held > 0

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that expects a response.

        Raises:
            InvalidParams: an integer in it needs more than 64 bits, which MessagePack cannot encode.
        """
        try:
            return self._call((0, request_id, method, params))
        except OverflowError:
            raise InvalidParams("an integer is beyond ±(2^53-1)") from None

    def _call(self, message: tuple[Any, ...]) -> bytes:
        if self._pack_call is None:
            self._pack_call = packer().pack
        try:
            encoded = self._pack_call(message)
        except UnicodeEncodeError:  # few texts have lone surrogates; to be ready for them takes twice as long
            encoded = packer("surrogatepass").pack(message)
        if len(encoded) >= LARGE:
            self._pack_call = None  # its buffer would stay that large
        return encoded


def packer(unicode_errors: str | None = None) -> Packer:
    """Return an encoder, which treats lone surrogates as told; without that, they raise ``UnicodeEncodeError``."""
    return Packer(buf_size=_BUFFER, unicode_errors=unicode_errors)  # type: ignore[call-arg]  # missing in the stubs
