"""The wire without any I/O: bytes in, frames out; calls and answers in, bytes out.

Both ends use the same class. A ``Framing`` turns bytes into frames and back; the daemon tells from the first
byte of a connection which one its peer speaks (:func:`detect`). Theory of operation, for each framing:

* ``feed`` takes whatever arrived, in pieces of any size, and gives the frames that are complete.
* ``end`` takes the end of the stream, which may complete a frame, or cut one off.
* A frame is a ``Request``, a ``Notification``, an ``Answer`` or a ``Broken`` one. A broken frame that is
  ``fatal`` means that the place in the stream is lost: say so and close. After one that is not, the stream
  goes on.
* ``request``, ``notify``, ``answer``, ``refuse`` and ``reply`` give the bytes to send. Values of a result that are
  ``Packed`` are spliced in as they are, so that what is kept encoded is not decoded to be encoded again.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias

from msgpack import Packer, Unpacker
from msgpack.exceptions import BufferFull, OutOfData

from reel.errors import InvalidParams, InvalidRequest, ParseError, ReelError, TooLarge, as_map
from reel.plain import clean_deep

MAX_MESSAGE = 16 << 20
# The longest reply that our clients take in: a page and one item over it.
MAX_REPLY = 64 << 20
# A hostile array header is believed by the decoder before its elements have come.
MAX_ELEMENTS = 1 << 16
# Values in a message, those inside others and the keys of maps included. An empty list is one byte on the wire.
MAX_VALUES = 1 << 20
# What a value takes in memory, about, in bytes, beside those that it had on the wire; a few do not matter.
_VALUE = 80
FEW = 256
_ARRAY_HEADERS = frozenset({*range(0x90, 0xA0), 0xDC, 0xDD})
# What a decoder holds on to between two messages.
_CHUNK = 1 << 16

# What a request is known by; it goes back as it came. MessagePack-RPC has integers only.
Id: TypeAlias = int | str


class Request(NamedTuple):
    """A call that wants an answer; ``size`` is what it takes in memory, about, in bytes."""

    id: Id
    method: str
    params: Any
    size: int


class Notification(NamedTuple):
    """A call that wants none, or a push."""

    method: str
    params: Any
    size: int


class Answer(NamedTuple):
    """What came of a request: ``error`` is ``None`` where ``result`` counts.

    ``id`` is ``None`` where the other side could not read what it answers.
    """

    id: Id | None
    error: Any
    result: Any


class Broken(NamedTuple):
    """A frame that is none."""

    error: ReelError
    fatal: bool


Frame = Request | Notification | Answer | Broken


class Packed(NamedTuple):
    """A list whose items are MessagePack already, to be spliced into a result."""

    items: list[bytes]


class Shared:
    """What many subscriptions are told: a map that is encoded once for each framing.

    Args:
        fields: the map.
        packed: more of its fields, as MessagePack already.
    """

    __slots__ = ("encodings", "fields", "packed")

    def __init__(self, fields: dict[str, Any], packed: dict[str, bytes]) -> None:
        self.fields = fields
        self.packed = packed
        self.encodings: dict[str, bytes] = {}


class Framing(Protocol):
    """One way to lay calls and answers into a stream of bytes.

    ``wrapper`` is how the peer wants pushes: a method and its first arguments, behind which comes the pair of the
    push's name and parameters; empty: by their own names. ``held`` is how many bytes of a message have come whose
    rest has not.
    """

    name: str
    wrapper: list[str]

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message are kept."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes that came; give the frames that they complete, in order. After a fatal one nothing comes."""

    def end(self) -> list[Frame]:
        """Take the end of the stream; give the frames that it completes or cuts off."""

    def forget(self) -> None:
        """Let go of what is kept, and take no more."""

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that wants an answer."""

    def notify(self, method: str, params: dict[str, Any] | list[Any]) -> bytes:
        """Encode a call that wants none, or a push, which is a map and travels as ``wrapper`` says."""

    def tell(self, method: str, sub: int, shared: Shared) -> bytes:
        """Encode a push to a subscription: what is shared, and ``sub``, its number."""

    def answer(self, request_id: Id, result: dict[str, Any]) -> bytes:
        """Encode a result; its values may be :class:`Packed`."""

    def refuse(self, request_id: Id | None, error: ReelError) -> bytes:
        """Encode an error; ``None`` answers what could not be read."""

    def reply(self, token: Id, outcome: dict[str, Any] | ReelError) -> bytes:
        """Encode the push that says what came of a ``call_async``; values of a result may be :class:`Packed`."""


class MessagePack:
    """MessagePack-RPC: ``[0, id, method, params]``, ``[1, id, error, result]``, ``[2, method, params]``.

    A scout skips through what arrives, which makes no values, and a message is decoded when it is whole. So one that
    never ends costs no more than its bytes.

    Args:
        max_message: the longest message that is taken in, in bytes.
        max_values: how many values a message may have; ``None``: they are not counted, which saves a little.
        error_maps: send errors as maps ``{code, name, message, data}``, not as the pair ``[kind, text]``
            that Neovim shows.
    """

    name = "msgpack-rpc"

    def __init__(
        self, max_message: int = MAX_MESSAGE, max_values: int | None = None, *, error_maps: bool = False
    ) -> None:
        self.error_maps = error_maps
        self.wrapper: list[str] = []
        self._max = max_message
        self._max_values = max_values
        # Of the message that is being decoded.
        self._values = 0
        count = None if max_values is None else self._count
        room = max_message + _CHUNK
        self._scout = Unpacker(max_buffer_size=room)
        # Bytes that are no UTF-8 come in as lone surrogates, so that free text can be mended and names refused.
        self._unpacker = Unpacker(
            strict_map_key=False,
            unicode_errors="surrogateescape",
            max_buffer_size=room,
            max_array_len=MAX_ELEMENTS,
            max_map_len=MAX_ELEMENTS,
            list_hook=count,
            object_hook=count,
        )
        self._pack = Packer(buf_size=_CHUNK, unicode_errors="surrogatepass").pack  # type: ignore[call-arg]  # the stubs lack it
        self._fed = 0
        self._lost = False
        self._read = 0

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message are kept."""
        return 0 if self._lost else self._fed - self._read

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes that came; give the frames that they complete, in order. After a fatal one nothing comes."""
        view = memoryview(data)
        frames: list[Frame] = []
        for start in range(0, len(view), _CHUNK):
            if self._lost:
                break
            piece = view[start : start + _CHUNK]
            try:
                self._scout.feed(piece)
                self._unpacker.feed(piece)
                self._fed += len(piece)
                self._read_frames(frames)
            except ReelError as error:
                frames.append(self._lose(error))
            except BufferFull:
                frames.append(self._lose(too_large(self._max)))
            except Exception as error:  # the decoder raises a dozen kinds, and each means that the place is lost
                frames.append(self._lose(_undecodable(error)))
        return frames

    def end(self) -> list[Frame]:
        """Take the end of the stream; nothing comes of a message that it cuts off."""
        return []

    def _read_frames(self, frames: list[Frame]) -> None:
        while (size := self._next()) is not None:
            self._values = 0
            message = self._unpacker.unpack()
            frames.append(_frame(message, weight(size, self._values)))

    def _next(self) -> int | None:
        """Give the length of the next message that is whole.

        Raises:
            TooLarge: it is too long, or will be.
        """
        try:
            self._scout.skip()
        except OutOfData:
            size, whole = self._fed - self._read, False
        else:
            end = self._scout.tell()
            size, self._read, whole = end - self._read, end, True
        if size > self._max:
            raise too_large(self._max)
        return size if whole else None

    def _count(self, value: Any) -> Any:
        """Count what is in a list or a map that has been decoded."""
        self._values += 1 + (2 * len(value) if type(value) is dict else len(value))
        if self._max_values is not None and self._values > self._max_values:
            raise too_many(self._max_values)
        return value

    def _lose(self, error: ReelError) -> Broken:
        self.forget()
        return Broken(error, fatal=True)

    def forget(self) -> None:
        """Let go of what is kept, and take no more."""
        self._lost = True
        self._scout = self._unpacker = Unpacker(max_buffer_size=1)

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that wants an answer.

        Raises:
            InvalidParams: it has an integer that MessagePack has no bytes for.
        """
        try:
            return self._pack((0, request_id, method, params))
        except OverflowError:
            raise InvalidParams("an integer is beyond ±(2^53-1)") from None

    def notify(self, method: str, params: dict[str, Any] | list[Any]) -> bytes:
        """Encode a call that wants none, or a push, which is a map and travels as ``wrapper`` says."""
        return self._push(method, self._pack(params)) if type(params) is dict else self._pack((2, method, params))

    def tell(self, method: str, sub: int, shared: Shared) -> bytes:
        """Encode a push to a subscription: what is shared, and ``sub``, its number."""
        tail = shared.encodings.get(self.name)
        if tail is None:
            tail = shared.encodings[self.name] = self._pairs(shared)
        header = Packer().pack_map_header(1 + len(shared.fields) + len(shared.packed))
        return self._push(method, b"".join((header, b"\xa3sub", self._pack(sub), tail)))

    def _pairs(self, shared: Shared) -> bytes:
        pairs = [self._pack(part) for pair in shared.fields.items() for part in pair]
        for name, value in shared.packed.items():
            pairs += [self._pack(name), value]
        return b"".join(pairs)

    def _push(self, name: str, params: bytes) -> bytes:
        """Lay out a push whose parameters are packed; they stand in a list, since Neovim takes nothing else."""
        if not self.wrapper:
            return b"".join((b"\x93\x02", self._pack(name), b"\x91", params))
        method, *first = self.wrapper
        header = Packer().pack_array_header(len(self.wrapper))
        return b"".join(
            (b"\x93\x02", self._pack(method), header, *map(self._pack, first), b"\x92", self._pack(name), params)
        )

    def answer(self, request_id: Id, result: dict[str, Any]) -> bytes:
        """Encode a result; its values may be :class:`Packed`."""
        for value in result.values():
            if type(value) is Packed:
                return b"".join((b"\x94\x01", self._pack(request_id), b"\xc0", *self._spliced(result)))
        return self._pack((1, request_id, None, result))

    def _spliced(self, result: dict[str, Any]) -> list[bytes]:
        packer = Packer(buf_size=1024)  # type: ignore[call-arg]  # as above
        parts = [packer.pack_map_header(len(result))]
        for key, value in result.items():
            parts.append(packer.pack(key))
            if type(value) is Packed:
                parts.append(packer.pack_array_header(len(value.items)))
                parts += value.items
            else:
                parts.append(packer.pack(value))
        return parts

    def refuse(self, request_id: Id | None, error: ReelError) -> bytes:
        """Encode an error; ``None`` answers what could not be read."""
        shown = as_map(error) if self.error_maps else [int(isinstance(error, InvalidParams)), str(error)]
        # An error may quote what was sent, and that may be no text.
        return self._pack((1, request_id, clean_deep(shown)[0], None))

    def reply(self, token: Id, outcome: dict[str, Any] | ReelError) -> bytes:
        """Encode the push that says what came of a ``call_async``; values of a result may be :class:`Packed`."""
        if isinstance(outcome, ReelError):
            return self.notify("reply", {"token": token, "error": clean_deep(as_map(outcome))[0]})
        return self._push(
            "reply", b"".join((b"\x82\xa5token", self._pack(token), b"\xa6result", *self._spliced(outcome)))
        )


def weight(size: int, values: int) -> int:
    """Say what a message takes in memory, about, in bytes."""
    return size if values < FEW else size + _VALUE * values


def too_large(limit: int) -> TooLarge:
    """Say that a message is too long."""
    return TooLarge(f"a message may have {limit} bytes; send it in parts", limit=limit)


def too_many(limit: int) -> TooLarge:
    """Say that a message has too many values."""
    return TooLarge(f"a message may have {limit} values, one inside another included; send it in parts", limit=limit)


def _undecodable(error: Exception) -> ReelError:
    what = str(error) or type(error).__name__
    if "exceeds max_" in what:
        return TooLarge(f"{what}: send it in parts", limit=MAX_ELEMENTS)
    return ParseError(f"no MessagePack: {what}")


def _frame(message: Any, size: int) -> Frame:
    if type(message) is list and len(message) in _LENGTHS:
        kind = message[0]
        if kind == _REQUEST and len(message) == _LENGTHS[0] and type(message[1]) is int and type(message[2]) is str:
            return Request(message[1], message[2], message[3], size)
        if kind == _ANSWER and len(message) == _LENGTHS[0] and type(message[1]) in _ANSWERED:
            return Answer(message[1], message[2], message[3])
        if kind == _NOTIFICATION and len(message) == _LENGTHS[1] and type(message[1]) is str:
            return Notification(message[1], message[2], size)
    return Broken(InvalidRequest("expected [0, id, method, params] or [2, method, params]"), fatal=False)


# Of a call with an answer and of its answer; of a call without one.
_LENGTHS = (4, 3)
_REQUEST, _ANSWER, _NOTIFICATION = 0, 1, 2
_ANSWERED = (int, type(None))


def detect(first: int, max_message: int = MAX_MESSAGE, max_values: int = MAX_VALUES) -> Framing | None:
    """Tell from the first byte of a connection which framing its peer speaks; ``None``: none of ours."""
    if first in _ARRAY_HEADERS:
        return MessagePack(max_message, max_values)
    if first in b"Cc{[ \t\r\n":
        # The clients in Python speak MessagePack, and need not pay for this.
        from reel.json_framing import ContentLength, Lines  # noqa: PLC0415

        return (ContentLength if first in b"Cc" else Lines)(max_message, max_values)
    return None
