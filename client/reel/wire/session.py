"""MessagePack-RPC without any I/O; both ends use the same class."""

from __future__ import annotations

from struct import Struct

from msgpack import Packer

from reel.base.errors import InvalidParams, ReelError, as_map
from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import REPLACING, clean_deep
from reel.wire.frames import (
    MAX_MESSAGE,
    EncodedText,
    Frame,
    Id,
    PackedList,
    SharedPush,
    SharedPushes,
)
from reel.wire.msgpack_codec import LARGE
from reel.wire.msgpack_reader import MessageReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The buffer of a connection's encoder, in bytes; it grows as needed. The library's own has 256 KiB.
_BUFFER = 1 << 9
# Types that are spliced in without encoding; any text may have the longest header.
_SPLICED = (PackedList, EncodedText)
_TEXT_HEADER = Struct(">BI")


class MessagePack(SharedPushes):
    """MessagePack-RPC: ``[0, id, method, params]``, ``[1, id, error, result]``, ``[2, method, params]``.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message. Default: values are not counted, which saves some time.
        error_maps: send errors as maps ``{code, name, message, data}``, not as the pair ``[kind, text]`` that Neovim
            shows.
    """

    name = "msgpack-rpc"

    def __init__(
        self, max_message: int = MAX_MESSAGE, max_values: int | None = None, *, error_maps: bool = False
    ) -> None:
        self.error_maps = error_maps
        self.push_target: list[str] = []
        self._reader = MessageReader(max_message, max_values)
        # What the daemon sends is UTF-8, whatever it was made from.
        self._packer = _packer(REPLACING)
        self._pack = self._packer.pack
        # The encoder of calls, made by the first one. A client sends what it got: the daemon replaces and counts.
        self._pack_call: Callable[[Any], bytes] | None = None

    def _call(self, message: tuple[Any, ...]) -> bytes:
        if self._pack_call is None:
            self._pack_call = _packer("surrogatepass").pack
        encoded = self._pack_call(message)
        if len(encoded) >= LARGE:
            self._pack_call = None  # its buffer would stay that large
        return encoded

    @property
    def held(self) -> int:
        """The number of buffered bytes of an incomplete message."""
        return self._reader.held

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes; return the frames that they complete, in order. A fatal frame is the last one."""
        return self._reader.feed(data)

    def end(self) -> list[Frame]:
        """Process the end of the stream; drop a truncated message."""
        return []

    def discard(self) -> None:
        """Free the buffer, and ignore all further bytes."""
        self._reader.discard()

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that expects a response.

        Raises:
            InvalidParams: an integer in it needs more than 64 bits, which MessagePack cannot encode.
        """
        try:
            return self._call((0, request_id, method, params))
        except OverflowError:
            raise InvalidParams("an integer is beyond ±(2^53-1)") from None

    def notify(self, method: str, params: dict[str, Any] | list[Any]) -> bytes:
        """Encode a call that expects no response, or a push: a map, which goes to ``push_target``."""
        if type(params) is dict:
            return self._encode_push(method, self._pack(params))
        return self._call((2, method, params))

    def _lay_push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        encoded = shared.encodings.get(self.name)
        if encoded is None:
            encoded = shared.encodings[self.name] = self._around_sub(shared)
        params, tail = encoded
        return self._encode_push(method, b"".join((params, self._pack(sub), tail)))

    def _around_sub(self, shared: SharedPush) -> tuple[bytes, bytes]:
        """Return the bytes before and after the number in the parameters of a push."""
        header = self._packer.pack_map_header(1 + len(shared.fields) + len(shared.packed))
        return header + b"\xa3sub", self._pairs(shared)

    def _pairs(self, shared: SharedPush) -> bytes:
        # One call for all fields takes a quarter of the time of one for each name and value.
        header = len(self._packer.pack_map_header(len(shared.fields)))
        pairs = [self._pack(shared.fields)[header:]]
        for name, value in shared.packed.items():
            pairs += [self._pack(name), value]
        return b"".join(pairs)

    def _encode_push(self, name: str, params: bytes) -> bytes:
        """Encode a push whose parameters are packed, as a list of one, the only form that Neovim accepts."""
        if not self.push_target:
            return b"".join((b"\x93\x02", self._pack(name), b"\x91", params))
        method, *first = self.push_target
        header = self._packer.pack_array_header(len(self.push_target))
        return b"".join(
            (b"\x93\x02", self._pack(method), header, *map(self._pack, first), b"\x92", self._pack(name), params)
        )

    def answer(self, request_id: Id, result: dict[str, Any] | bytes) -> bytes:
        """Encode a result; its values may be :class:`PackedList` and :class:`EncodedText`."""
        if isinstance(result, bytes):
            return b"".join((b"\x94\x01", self._pack(request_id), b"\xc0", result))
        for value in result.values():
            if type(value) in _SPLICED:
                return b"".join((b"\x94\x01", self._pack(request_id), b"\xc0", *self._spliced(result)))
        return self._pack((1, request_id, None, result))

    def _spliced(self, result: dict[str, Any]) -> list[bytes | memoryview]:
        packer = self._packer
        parts: list[bytes | memoryview] = [packer.pack_map_header(len(result))]
        for key, value in result.items():
            parts.append(packer.pack(key))
            if type(value) is PackedList:
                parts.append(packer.pack_array_header(len(value.items)))
                parts += value.items
            elif type(value) is EncodedText:
                parts += (_TEXT_HEADER.pack(0xDB, len(value)), *value.parts)
            else:
                parts.append(packer.pack(value))
        return parts

    def refuse(self, request_id: Id | None, error: ReelError) -> bytes:
        """Encode an error; ``None`` responds to an unreadable message."""
        shown = as_map(error) if self.error_maps else [int(isinstance(error, InvalidParams)), str(error)]
        # An error may quote received data, which may not be valid text.
        return self._pack((1, request_id, clean_deep(shown)[0], None))

    def reply(self, token: Id, outcome: dict[str, Any] | bytes | ReelError) -> bytes:
        """Encode the push with the outcome of a ``call_async``; values of a result may be :class:`PackedList`."""
        if isinstance(outcome, ReelError):
            return self.notify("reply", {"token": token, "error": clean_deep(as_map(outcome))[0]})
        result = [outcome] if isinstance(outcome, bytes) else self._spliced(outcome)
        return self._encode_push("reply", b"".join((b"\x82\xa5token", self._pack(token), b"\xa6result", *result)))


def _packer(unicode_errors: str) -> Packer:
    return Packer(buf_size=_BUFFER, unicode_errors=unicode_errors)  # type: ignore[call-arg]  # missing in the stubs
