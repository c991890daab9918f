"""MessagePack-RPC as the daemon speaks it, without any I/O: the client's half, and replies and pushes."""

from struct import Struct
from typing import Any

from reel.base.errors import InvalidParams, ReelError, as_map
from reel.base.values import REPLACING, clean_deep
from reel.wire.frames import MAX_MESSAGE, Frame, Id
from reel.wire.session import MessagePack, packer
from reel.wire.short_messages import unabridged
from reeld.wire.counting_reader import CountingReader
from reeld.wire.encoded import EncodedText, PackedList, PackedMessages
from reeld.wire.shared_pushes import SharedPush, SharedPushes

# Types that are spliced in without encoding; any text may have the longest header.
_SPLICED = frozenset({PackedList, PackedMessages, EncodedText})
_TEXT_HEADER = Struct(">BI")


class ServerMessagePack(SharedPushes, MessagePack):
    """MessagePack-RPC with replies and pushes; a :class:`~reeld.wire.framing.Framing`.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message. Default: values are not counted, which saves some time.
        error_maps: send errors as maps ``{code, name, message, data}``, not as the pair ``[kind, text]`` that Neovim
            shows.

    ``short_messages`` is whether the peer takes messages in short (:mod:`reel.wire.short_messages`).
    """

    name = "msgpack-rpc"

    def __init__(
        self, max_message: int = MAX_MESSAGE, max_values: int | None = None, *, error_maps: bool = False
    ) -> None:
        super().__init__(max_message)
        if max_values is not None:
            self._reader = CountingReader(max_message, max_values)
        self.error_maps = error_maps
        self.short_messages = False
        self.push_target: list[str] = []
        # What the daemon sends is UTF-8, whatever it was made from.
        self._packer = packer(REPLACING)
        self._pack = self._packer.pack

    @property
    def held(self) -> int:
        """The number of buffered bytes of an incomplete message."""
        return self._reader.held

    def end(self) -> list[Frame]:
        """Process the end of the stream; drop a truncated message."""
        return []

    def discard(self) -> None:
        """Free the buffer, and ignore all further bytes."""
        self._reader.discard()

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
        """Encode a result; its values may be of any class of :mod:`reeld.wire.encoded`."""
        if isinstance(result, bytes):
            return b"".join((b"\x94\x01", self._pack(request_id), b"\xc0", result))
        if _SPLICED.isdisjoint(map(type, result.values())):
            return self._pack((1, request_id, None, result))
        spliced = self._spliced(result, short=self.short_messages)
        return b"".join((b"\x94\x01", self._pack(request_id), b"\xc0", *spliced))

    def _spliced(self, result: dict[str, Any], *, short: bool = False) -> list[bytes | memoryview]:
        packer = self._packer
        parts: list[bytes | memoryview] = [packer.pack_map_header(len(result))]
        for key, value in result.items():
            parts.append(packer.pack(key))
            if type(value) is PackedList or type(value) is PackedMessages:
                usual = type(value) is PackedMessages and not short
                parts.append(packer.pack_array_header(len(value.items)))
                parts += unabridged(value.items) if usual else value.items
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
        """Encode the push with the outcome of a ``call_async``; values of a result may be encoded already."""
        if isinstance(outcome, ReelError):
            return self.notify("reply", {"token": token, "error": clean_deep(as_map(outcome))[0]})
        result = [outcome] if isinstance(outcome, bytes) else self._spliced(outcome)
        return self._encode_push("reply", b"".join((b"\x82\xa5token", self._pack(token), b"\xa6result", *result)))
