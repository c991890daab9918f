"""Reads frames from a stream of MessagePack.

Nearly all messages arrive whole, in one short piece, which a single decoder turns into messages one by one. Everything
else is read by two decoders on the same bytes: the first skips messages without building values, and finds where each
one ends; the second decodes a message once it is complete, and counts its values. So a message that never ends costs no
more than its bytes, and one with too many values is refused before they fill the memory.

Only clients do not count values. They trust the daemon, so they need no skipping decoder: the other one resumes where
the bytes ended, and reads a rendered body of megabytes in half the time.

All paths produce the same frames. The fast path accepts nothing that the careful one would refuse: whatever it cannot
decode, and everything after it, goes to the careful one.
"""

from __future__ import annotations

from msgpack import Unpacker
from msgpack.exceptions import BufferFull, OutOfData

from reel.errors import InvalidRequest, ParseError, ReelError, TooLarge
from reel.frames import (
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
from reel.garbage import uncollected
from reel.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# How many received bytes are decoded at a time; a decoder holds up to this much beyond the longest message.
_CHUNK = 1 << 16
# The longest piece for the fast path, and the most items of a list in it. A hostile piece of nested, unfinished lists
# makes the decoder allocate 1 MB.
_SHORT = 1 << 15
_SHORT_LIST = 1 << 7
# The buffers of a connection, in bytes; they grow as needed. The library's own, 1 MiB for each decoder, made 4,000
# short connections cost the daemon 106 MB.
_BUFFER = 1 << 12
# A pool of decoders for the fast path. Each takes 45 KB, most of it for nested lists, and is needed for microseconds.
_idle: list[Unpacker] = []
# The first element of a message, and how many elements each kind has.
_REQUEST, _RESPONSE, _NOTIFICATION = 0, 1, 2
_LENGTHS = (4, 3)
_RESPONSE_IDS = (int, type(None))
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


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
        self._careful: _CarefulReader | None = None
        self._lost = False

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message are kept."""
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
        tell, before, begin, new, counted = decoder.tell, decoder.tell(), 0, _new, self._counted
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
        if self._careful is None:
            self._careful = _CarefulReader(self._max, self._max_values)
        try:
            with uncollected():
                self._careful.read(data, frames)
        except ReelError as error:
            frames.append(self._lose(error))
        except BufferFull:
            frames.append(self._lose(too_large(self._max)))
        except Exception as error:  # the decoder raises a dozen kinds of exceptions, and is out of sync after each
            frames.append(self._lose(_undecodable(error)))
        if not self.held:
            self._careful = None

    def _lose(self, error: ReelError) -> InvalidFrame:
        self.discard()
        return InvalidFrame(error, fatal=True)


class _CarefulReader:
    """Reads messages of any length, which may arrive in pieces; arguments as for :class:`MessageReader`."""

    def __init__(self, max_message: int, max_values: int | None) -> None:
        self._max = max_message
        self._counter = _Counter(max_values)
        room = max_message + _CHUNK
        self._skipper = None if max_values is None else Unpacker(max_buffer_size=room, read_size=_BUFFER)
        self._decoder = _decoder(room, MAX_ELEMENTS, None if max_values is None else self._counter.count)
        self._fed = 0
        self._read = 0

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message are kept."""
        return self._fed - self._read

    def read(self, data: memoryview, frames: list[Frame]) -> None:
        """Take bytes, and add the frames that they complete.

        Raises:
            TooLarge: a message is too long, or has too many values.
            Exception: the bytes are not MessagePack.
        """
        for start in range(0, len(data), _CHUNK):
            piece = data[start : start + _CHUNK]
            if self._skipper is not None:
                self._skipper.feed(piece)
            self._decoder.feed(piece)
            self._fed += len(piece)
            while (frame := self._next()) is not None:
                frames.append(frame)

    def _next(self) -> Frame | None:
        """Return the next message as a frame, or ``None`` if it is incomplete.

        Raises:
            TooLarge: the message is too long, or what has arrived of it.
        """
        decoder, skipper, message = self._decoder, self._skipper, None
        try:
            if skipper is None:
                message = decoder.unpack()
            else:
                skipper.skip()
        except OutOfData:
            self._require_room(self._fed - self._read)
            return None
        end = (skipper or decoder).tell()
        size, self._read = end - self._read, end
        self._require_room(size)
        if skipper is None:
            return _frame(message, size)
        self._counter.values = 0
        message = decoder.unpack()
        return _frame(message, memory_cost(size, self._counter.values))

    def _require_room(self, size: int) -> None:
        if size > self._max:
            raise too_large(self._max)


class _Counter:
    """Counts the values of the message that is being decoded.

    A decoder refers to it; if the reader counted itself, that cycle would keep it in memory until the garbage collector
    runs.
    """

    def __init__(self, limit: int | None) -> None:
        self.values = 0
        self._limit = limit

    def count(self, value: Any) -> Any:
        """Count the values in a list or a map that was just decoded."""
        self.values += _items_in(value)
        if self._limit is not None and self.values > self._limit:
            raise too_many(self._limit)
        return value


def _decoder(room: int, max_elements: int, hook: Any = None) -> Unpacker:
    """Return a decoder that holds up to ``room`` bytes.

    Bytes that are not UTF-8 become lone surrogates, so that they can be replaced in texts and refused in names.
    """
    return Unpacker(
        strict_map_key=False,
        unicode_errors="surrogateescape",
        max_buffer_size=room,
        read_size=_BUFFER,
        max_array_len=max_elements,
        max_map_len=max_elements,
        list_hook=hook,
        object_hook=hook,
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
