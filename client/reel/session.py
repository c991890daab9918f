"""MessagePack-RPC without any I/O, and which framing a peer speaks; see :mod:`reel.frames` for how to use a framing."""

from typing import Any

from msgpack import Packer, Unpacker
from msgpack.exceptions import BufferFull, OutOfData

from reel.errors import InvalidParams, InvalidRequest, ParseError, ReelError, TooLarge, as_map
from reel.frames import (
    MAX_MESSAGE,
    MAX_VALUES,
    Frame,
    Framing,
    Id,
    InvalidFrame,
    Notification,
    PackedList,
    Request,
    Response,
    SharedPush,
    memory_cost,
    too_large,
    too_many,
)
from reel.values import clean_deep

# The most items of one list, and keys of one map. The decoder allocates a list by its header alone, before any item
# has arrived, so that five hostile bytes could ask for gigabytes.
MAX_ELEMENTS = 1 << 16
# How much of what arrived is decoded at a time, in bytes; a decoder keeps up to this much beyond the longest message.
_CHUNK = 1 << 16
# The buffers of a connection, in bytes; they grow as needed. The library's own, 1 MiB for each decoder and 256 KiB for
# each encoder, made 4,000 short connections cost the daemon 106 MB.
_BUFFER = 1 << 12
_ARRAY_HEADERS = frozenset({*range(0x90, 0xA0), 0xDC, 0xDD})
# The first element of a message, and how many elements each kind has.
_REQUEST, _RESPONSE, _NOTIFICATION = 0, 1, 2
_LENGTHS = (4, 3)
_RESPONSE_IDS = (int, type(None))


class MessagePack:
    """MessagePack-RPC: ``[0, id, method, params]``, ``[1, id, error, result]``, ``[2, method, params]``.

    Two decoders read the same bytes. The first skips over messages, which builds no values, and finds where each one
    ends; the second decodes a message when it is complete. So a message that never ends costs no more than its bytes.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message. Default: they are not counted, which saves a little.
        error_maps: send errors as maps ``{code, name, message, data}``, not as the pair ``[kind, text]`` that Neovim
            shows.
    """

    name = "msgpack-rpc"

    def __init__(
        self, max_message: int = MAX_MESSAGE, max_values: int | None = None, *, error_maps: bool = False
    ) -> None:
        self.error_maps = error_maps
        self.push_target: list[str] = []
        self._max = max_message
        self._max_values = max_values
        # How many values the message has that is being decoded.
        self._values = 0
        count = None if max_values is None else self._count
        room = max_message + _CHUNK
        self._skipper = Unpacker(max_buffer_size=room, read_size=_BUFFER)
        # Bytes that are not UTF-8 become lone surrogates, so that they can be replaced in texts and refused in names.
        self._unpacker = Unpacker(
            strict_map_key=False,
            unicode_errors="surrogateescape",
            max_buffer_size=room,
            read_size=_BUFFER,
            max_array_len=MAX_ELEMENTS,
            max_map_len=MAX_ELEMENTS,
            list_hook=count,
            object_hook=count,
        )
        self._packer = Packer(buf_size=_BUFFER, unicode_errors="surrogatepass")  # type: ignore[call-arg]  # missing in the stubs
        self._pack = self._packer.pack
        self._fed = 0
        self._lost = False
        self._read = 0

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message are kept."""
        return 0 if self._lost else self._fed - self._read

    def feed(self, data: bytes) -> list[Frame]:
        """Take received bytes; return the frames that they complete, in order. Nothing follows a fatal one."""
        view = memoryview(data)
        frames: list[Frame] = []
        for start in range(0, len(view), _CHUNK):
            if self._lost:
                break
            piece = view[start : start + _CHUNK]
            try:
                self._skipper.feed(piece)
                self._unpacker.feed(piece)
                self._fed += len(piece)
                self._read_frames(frames)
            except ReelError as error:
                frames.append(self._lose(error))
            except BufferFull:
                frames.append(self._lose(too_large(self._max)))
            except Exception as error:  # the decoder raises a dozen kinds, and after each of them it is out of step
                frames.append(self._lose(_undecodable(error)))
        return frames

    def end(self) -> list[Frame]:
        """Take the end of the stream; a message that it cuts off is dropped."""
        return []

    def _read_frames(self, frames: list[Frame]) -> None:
        while (size := self._next()) is not None:
            self._values = 0
            message = self._unpacker.unpack()
            frames.append(_frame(message, memory_cost(size, self._values)))

    def _next(self) -> int | None:
        """Return the length of the next message, or ``None`` if that is incomplete.

        Raises:
            TooLarge: the message is too long, or what has arrived of it.
        """
        try:
            self._skipper.skip()
        except OutOfData:
            size, complete = self._fed - self._read, False
        else:
            end = self._skipper.tell()
            size, self._read, complete = end - self._read, end, True
        if size > self._max:
            raise too_large(self._max)
        return size if complete else None

    def _count(self, value: Any) -> Any:
        """Count the values in a list or a map that was just decoded."""
        self._values += 1 + (2 * len(value) if type(value) is dict else len(value))
        if self._max_values is not None and self._values > self._max_values:
            raise too_many(self._max_values)
        return value

    def _lose(self, error: ReelError) -> InvalidFrame:
        self.discard()
        return InvalidFrame(error, fatal=True)

    def discard(self) -> None:
        """Free what is kept, and ignore all further bytes."""
        self._lost = True
        self._skipper = self._unpacker = Unpacker(max_buffer_size=1)

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that expects a response.

        Raises:
            InvalidParams: an integer in it needs more than 64 bits, which MessagePack cannot encode.
        """
        try:
            return self._pack((0, request_id, method, params))
        except OverflowError:
            raise InvalidParams("an integer is beyond ±(2^53-1)") from None

    def notify(self, method: str, params: dict[str, Any] | list[Any]) -> bytes:
        """Encode a call that expects no response, or a push: a map, which goes to ``push_target``."""
        if type(params) is dict:
            return self._encode_push(method, self._pack(params))
        return self._pack((2, method, params))

    def push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        """Encode a push to the subscription with the number ``sub``."""
        tail = shared.encodings.get(self.name)
        if tail is None:
            tail = shared.encodings[self.name] = self._pairs(shared)
        header = self._packer.pack_map_header(1 + len(shared.fields) + len(shared.packed))
        return self._encode_push(method, b"".join((header, b"\xa3sub", self._pack(sub), tail)))

    def _pairs(self, shared: SharedPush) -> bytes:
        pairs = [self._pack(part) for pair in shared.fields.items() for part in pair]
        for name, value in shared.packed.items():
            pairs += [self._pack(name), value]
        return b"".join(pairs)

    def _encode_push(self, name: str, params: bytes) -> bytes:
        """Lay out a push whose parameters are packed, in a list of one: Neovim accepts nothing else."""
        if not self.push_target:
            return b"".join((b"\x93\x02", self._pack(name), b"\x91", params))
        method, *first = self.push_target
        header = self._packer.pack_array_header(len(self.push_target))
        return b"".join(
            (b"\x93\x02", self._pack(method), header, *map(self._pack, first), b"\x92", self._pack(name), params)
        )

    def answer(self, request_id: Id, result: dict[str, Any]) -> bytes:
        """Encode a result; its values may be :class:`PackedList`."""
        for value in result.values():
            if type(value) is PackedList:
                return b"".join((b"\x94\x01", self._pack(request_id), b"\xc0", *self._spliced(result)))
        return self._pack((1, request_id, None, result))

    def _spliced(self, result: dict[str, Any]) -> list[bytes]:
        packer = self._packer
        parts = [packer.pack_map_header(len(result))]
        for key, value in result.items():
            parts.append(packer.pack(key))
            if type(value) is PackedList:
                parts.append(packer.pack_array_header(len(value.items)))
                parts += value.items
            else:
                parts.append(packer.pack(value))
        return parts

    def refuse(self, request_id: Id | None, error: ReelError) -> bytes:
        """Encode an error; ``None`` responds to what could not be read."""
        shown = as_map(error) if self.error_maps else [int(isinstance(error, InvalidParams)), str(error)]
        # An error may quote what was received, and that may not be a clean text.
        return self._pack((1, request_id, clean_deep(shown)[0], None))

    def reply(self, token: Id, outcome: dict[str, Any] | ReelError) -> bytes:
        """Encode the push with the outcome of a ``call_async``; values of a result may be :class:`PackedList`."""
        if isinstance(outcome, ReelError):
            return self.notify("reply", {"token": token, "error": clean_deep(as_map(outcome))[0]})
        return self._encode_push(
            "reply", b"".join((b"\x82\xa5token", self._pack(token), b"\xa6result", *self._spliced(outcome)))
        )


def _undecodable(error: Exception) -> ReelError:
    what = str(error) or type(error).__name__
    if "exceeds max_" in what:
        return TooLarge(f"{what}: send it in parts", limit=MAX_ELEMENTS)
    return ParseError(f"not MessagePack: {what}")


def _frame(message: Any, size: int) -> Frame:
    if type(message) is list and len(message) in _LENGTHS:
        kind = message[0]
        if kind == _REQUEST and len(message) == _LENGTHS[0] and type(message[1]) is int and type(message[2]) is str:
            return Request(message[1], message[2], message[3], size)
        if kind == _RESPONSE and len(message) == _LENGTHS[0] and type(message[1]) in _RESPONSE_IDS:
            return Response(message[1], message[2], message[3])
        if kind == _NOTIFICATION and len(message) == _LENGTHS[1] and type(message[1]) is str:
            return Notification(message[1], message[2], size)
    return InvalidFrame(InvalidRequest("expected [0, id, method, params] or [2, method, params]"), fatal=False)


def detect(first: int, max_message: int = MAX_MESSAGE, max_values: int = MAX_VALUES) -> Framing | None:
    """Return the framing that a peer speaks, by the first byte that it sent; ``None`` if it is not one of ours."""
    if first in _ARRAY_HEADERS:
        return MessagePack(max_message, max_values)
    if first in b"Cc{[ \t\r\n":
        from reel.json_framing import ContentLength, Lines  # noqa: PLC0415 - our own clients never speak it

        return (ContentLength if first in b"Cc" else Lines)(max_message, max_values)
    return None
