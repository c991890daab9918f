"""Reads frames from a stream of MessagePack.

Nearly all messages arrive whole, in one short piece, which a single decoder turns into messages one by one. Everything
else is collected, and one decoder skips it without building values, to find where each message ends; only then the
message is decoded, and its values are counted. So a message that never ends costs no more than its bytes, and one with
too many values is refused before they fill the memory.

The skipping decoder copies what it cannot skip yet, which is a text up to its end. Therefore it is not given the bytes
of a long text before all of them have arrived: with two copies of each, half messages took 562 MB for a limit of 256.

Only clients do not count values. They trust the daemon, so they need no skipping decoder: theirs resumes where the
bytes ended, and reads a rendered body of megabytes in half the time.

All paths produce the same frames. The fast path accepts nothing that the careful one would refuse: whatever it cannot
decode, and everything after it, goes to the careful one.
"""

from __future__ import annotations

from msgpack import Unpacker, unpackb
from msgpack.exceptions import BufferFull, OutOfData

from reel.base.errors import InvalidRequest, ParseError, ReelError, TooLarge, no_memory
from reel.base.garbage import uncollected
from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import new_tuple
from reel.wire.frames import (
    MAX_ELEMENTS,
    UNCOUNTED_BYTES,
    Frame,
    InvalidFrame,
    Notification,
    Request,
    Response,
    memory_cost,
    too_large,
    too_many,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# How many received bytes are decoded at a time; a decoder holds up to this much beyond the longest message.
_CHUNK = 1 << 16
# The longest piece for the fast path, and the most items of a list in it. A hostile piece of nested, unfinished lists
# makes the decoder allocate 1 MB.
_SHORT = 1 << 15
_SHORT_LIST = 1 << 7
# How many bytes a decoder may be unable to skip before they are known to be of a text: everything else is shorter.
_LONG = 1 << 12
# The first bytes of a text, of bytes and of an extension, by the number of bytes in which their length follows. Shorter
# ones are not long.
_HEADS = {2: b"\xc5\xc8\xda", 4: b"\xc6\xc9\xdb"}
# The buffers of a connection, in bytes; they grow as needed. The library's own, 1 MiB for each decoder, made 4,000
# short connections cost the daemon 106 MB.
_BUFFER = 1 << 12
# A pool of decoders for the fast path. Each takes 45 KB, most of it for nested lists, and is needed for microseconds.
_idle: list[Unpacker] = []
# The first element of a message, and how many elements each kind has.
_REQUEST, _RESPONSE, _NOTIFICATION = 0, 1, 2
_LENGTHS = (4, 3)
_RESPONSE_IDS = (int, type(None))


class MessageReader:
    """Reads frames from a stream.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message. Default: they are not counted, which saves a little.
    """

    def __init__(self, max_message: int, max_values: int | None) -> None:
        self._max = max_message
        self._max_values = max_values
        # A byte makes at most one value, and a nested list or map counts twice. So a short piece contains no message
        # that is too long or has too many values.
        self._short = min(_SHORT, max_message, _SHORT if max_values is None else max_values // 2)
        # The values of a message of this size, in bytes, or above are counted.
        self._counted = UNCOUNTED_BYTES if max_values is not None else max_message + 1
        # Reads the message whose beginning has arrived.
        self._careful: _CarefulReader | _TrustingReader | None = None
        self._lost = False

    @property
    def held(self) -> int:
        """How many bytes an incomplete message takes."""
        return 0 if self._careful is None else self._careful.held

    def discard(self) -> None:
        """Free what is kept, and ignore all further bytes."""
        self._lost = True
        self._careful = None

    def feed(self, data: bytes) -> list[Frame]:
        """Take received bytes; return the frames that they complete, in order. Nothing follows a fatal one."""
        frames: list[Frame] = []
        if self._lost:
            return frames
        done = self._read_whole(data, frames) if self._careful is None and len(data) <= self._short else 0
        if done < len(data):
            self._read_carefully(memoryview(data)[done:], frames)
        return frames

    def _read_whole(self, data: bytes, frames: list[Frame]) -> int:
        """Read complete messages; return where the first incomplete or invalid one begins."""
        try:
            decoder = _idle.pop()
        except IndexError:
            decoder = _decoder(_SHORT, _SHORT_LIST)
        tell, before, begin, new, counted = decoder.tell, decoder.tell(), 0, new_tuple, self._counted
        try:
            decoder.feed(data)
            for message in decoder:
                end = tell() - before
                size = end - begin
                cost = size if size < counted else memory_cost(size, _values_in(message))
                begin = end
                if (
                    type(message) is list
                    and len(message) == 4  # noqa: PLR2004
                    and message[0] == _REQUEST
                    and type(message[1]) is int
                    and type(message[2]) is str
                ):
                    frames.append(new(Request, (message[1], message[2], message[3], cost)))
                else:
                    frames.append(_frame(message, cost))
        except Exception:
            return begin
        if begin == len(data):  # otherwise it keeps what it has read of the next message
            _idle.append(decoder)
        return begin

    def _read_carefully(self, data: memoryview, frames: list[Frame]) -> None:
        try:
            if self._careful is None:
                values = self._max_values
                self._careful = _TrustingReader(self._max) if values is None else _CarefulReader(self._max, values)
            with uncollected():
                self._careful.read(data, frames)
        except ReelError as error:
            frames.append(self._lose(error))
        except MemoryError:
            frames.append(self._lose(no_memory()))
        except BufferFull:
            frames.append(self._lose(too_large(self._max)))
        except Exception as error:  # the decoder raises a dozen kinds of exceptions, and is out of sync after each
            frames.append(self._lose(_undecodable(error)))
        if self._careful is not None and self._careful.is_empty:
            self._careful = None

    def _lose(self, error: ReelError) -> InvalidFrame:
        self.discard()
        return InvalidFrame(error, fatal=True)


class _TrustingReader:
    """Reads messages of any length, which may arrive in pieces, and builds their values as the bytes arrive.

    Args:
        max_message: the longest message that is accepted, in bytes.
    """

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        self._decoder = _decoder(max_message + _CHUNK, MAX_ELEMENTS)
        self._fed = 0
        self._read = 0

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message have arrived."""
        return self._fed - self._read

    @property
    def is_empty(self) -> bool:
        """Whether no message is incomplete."""
        return self._fed == self._read

    def read(self, data: memoryview, frames: list[Frame]) -> None:
        """Take bytes, and add the frames that they complete.

        Raises:
            TooLarge: a message is too long.
            Exception: the bytes are not MessagePack.
        """
        for start in range(0, len(data), _CHUNK):
            piece = data[start : start + _CHUNK]
            self._decoder.feed(piece)
            self._fed += len(piece)
            while (frame := self._next()) is not None:
                frames.append(frame)

    def _next(self) -> Frame | None:
        """Return the next message as a frame, or ``None`` if it is incomplete.

        Raises:
            TooLarge: the message is too long, or what has arrived of it.
        """
        try:
            message = self._decoder.unpack()
        except OutOfData:
            _require_room(self._fed - self._read, self._max)
            return None
        end = self._decoder.tell()
        size, self._read = end - self._read, end
        _require_room(size, self._max)
        return _frame(message, size)


class _CarefulReader:
    """Reads messages of any length, which may arrive in pieces, and builds no value before a message is complete.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message.
    """

    def __init__(self, max_message: int, max_values: int) -> None:
        self._max = max_message
        self._counter = _Counter(max_values)
        self._skipper = Unpacker(max_buffer_size=max_message + _CHUNK, read_size=_BUFFER)
        # What has arrived and is not decoded yet, and where in the stream it begins.
        self._bytes = bytearray()
        self._begin = 0
        # How much of the stream the skipper was given, and how much must have arrived before it can go on.
        self._fed = 0
        self._wanted = 0
        # The bytes that it has copied at most: its buffer does not shrink.
        self._copied = 0

    @property
    def held(self) -> int:
        """How many bytes an incomplete message takes."""
        return len(self._bytes) + self._copied

    @property
    def is_empty(self) -> bool:
        """Whether no message is incomplete."""
        return not self._bytes

    def read(self, data: memoryview, frames: list[Frame]) -> None:
        """Take bytes, and add the frames that they complete.

        Raises:
            TooLarge: a message is too long, or has too many values.
            Exception: the bytes are not MessagePack.
        """
        for start in range(0, len(data), _CHUNK):
            self._bytes += data[start : start + _CHUNK]
            if self._begin + len(self._bytes) >= self._wanted:
                self._feed()
                while (frame := self._next()) is not None:
                    frames.append(frame)
            _require_room(len(self._bytes), self._max)

    def _feed(self) -> None:
        """Feed the skipper the bytes that it does not have yet."""
        with memoryview(self._bytes) as arrived, arrived[self._fed - self._begin :] as new:
            self._copied = max(self._copied, self._fed - self._skipper.tell() + len(new))
            self._skipper.feed(new)
            self._fed += len(new)

    def _next(self) -> Frame | None:
        """Return the next message as a frame, or ``None`` if it is incomplete.

        Raises:
            TooLarge: the message is too long.
        """
        try:
            self._skipper.skip()
        except OutOfData:
            self._wanted = self._end_of_text()
            _require_room(self._wanted - self._begin, self._max)
            return None
        end = self._skipper.tell()
        size = end - self._begin
        _require_room(size, self._max)
        self._counter.values = 0
        with memoryview(self._bytes) as arrived, arrived[:size] as whole:
            message = _decoded(whole, self._counter.count)
        del self._bytes[:size]
        self._begin = end
        return _frame(message, memory_cost(size, self._counter.values))

    def _end_of_text(self) -> int:
        """Return the position in the stream at which an incomplete long text ends; 0 if none is incomplete.

        The bytes before it are its length, in one of two forms. If both are possible, the shorter one may cost a copy.
        """
        at = self._skipper.tell()
        pending, text = self._fed - at, at - self._begin
        if pending <= _LONG:
            return 0
        lengths = [
            int.from_bytes(self._bytes[text - width : text], "big")
            for width, heads in _HEADS.items()
            if text > width and self._bytes[text - width - 1] in heads
        ]
        return at + min((length for length in lengths if length > pending), default=0)


def _require_room(size: int, limit: int) -> None:
    """Refuse a message that is too long.

    Raises:
        TooLarge: it is.
    """
    if size > limit:
        raise too_large(limit)


class _Counter:
    """Counts the values of the message that is being decoded."""

    def __init__(self, limit: int) -> None:
        self.values = 0
        self._limit = limit

    def count(self, value: Any) -> Any:
        """Count the values in a list or a map that was just decoded."""
        self.values += _items_in(value)
        if self.values > self._limit:
            raise too_many(self._limit)
        return value


# Bytes that are not UTF-8 become lone surrogates, so that they can be replaced in texts and refused in names.
_AS_IT_IS: Any = {"strict_map_key": False, "unicode_errors": "surrogateescape"}


def _decoder(room: int, max_elements: int) -> Unpacker:
    """Return a decoder that holds up to ``room`` bytes."""
    return Unpacker(
        max_buffer_size=room, read_size=_BUFFER, max_array_len=max_elements, max_map_len=max_elements, **_AS_IT_IS
    )


def _decoded(whole: memoryview, count: Callable[[Any], Any]) -> Any:
    """Decode a complete message; ``count`` is called with each list and map in it."""
    return unpackb(
        whole,
        list_hook=count,
        object_hook=count,
        max_array_len=MAX_ELEMENTS,
        max_map_len=MAX_ELEMENTS,
        **_AS_IT_IS,
    )


def _items_in(value: Any) -> int:
    return 1 + (2 * len(value) if type(value) is dict else len(value))


def _values_in(message: Any) -> int:
    """Count the values of a message as the careful reader does."""
    found = 0
    pending: list[Any] = [[message]]
    while pending:
        inside = pending.pop()
        for item in inside.values() if type(inside) is dict else inside:
            if type(item) is list or type(item) is dict:
                found += _items_in(item)
                pending.append(item)
    return found


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
