"""Reads frames from a stream of MessagePack, and counts the values of messages.

What does not arrive whole in a short piece is collected, and one decoder skips it without building values, to find
where each message ends; only then the message is decoded, and its values are counted. So a message that never ends
costs no more than its bytes, and one with too many values is refused before they fill the memory.

The skipping decoder copies what it cannot skip yet, which is a text up to its end. Therefore it is not given the bytes
of a long text before all of them have arrived: with two copies of each, half messages took 562 MB for a limit of 256.
"""

from collections.abc import Callable
from typing import Any

from msgpack import Unpacker, unpackb
from msgpack.exceptions import OutOfData

from reel.wire.frames import MAX_ELEMENTS, Frame
from reel.wire.msgpack_reader import AS_IT_IS, BUFFER, CHUNK, MessageReader, PieceReader, frame_of, require_room
from reeld.wire.sizes import UNCOUNTED_BYTES, memory_cost, too_many

# How many bytes a decoder may be unable to skip before they are known to be of a text: everything else is shorter.
_LONG = 1 << 12
# The first bytes of a text, of bytes and of an extension, by the number of bytes in which their length follows. Shorter
# ones are not long.
_HEADS = {2: b"\xc5\xc8\xda", 4: b"\xc6\xc9\xdb"}


class CountingReader(MessageReader):
    """Reads frames from a stream, none of them with too many values.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message.
    """

    def __init__(self, max_message: int, max_values: int) -> None:
        # A byte makes at most one value, and a nested list or map counts twice. So a short piece contains no message
        # that has too many values.
        super().__init__(max_message, short=max_values // 2, counted=UNCOUNTED_BYTES)
        self._max_values = max_values

    def _cost(self, size: int, message: Any) -> int:
        """Return about how many bytes of memory a message takes, its values included."""
        return memory_cost(size, _values_in(message))

    def _piece_reader(self) -> PieceReader:
        """Return a reader of messages that do not arrive whole."""
        return _CarefulReader(self._max, self._max_values)


class _CarefulReader(PieceReader):
    """Reads messages of any length, which may arrive in pieces, and builds no value before a message is complete.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message.
    """

    def __init__(self, max_message: int, max_values: int) -> None:
        self._max = max_message
        self._counter = _Counter(max_values)
        self._skipper = Unpacker(max_buffer_size=max_message + CHUNK, read_size=BUFFER)
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
        for start in range(0, len(data), CHUNK):
            self._bytes += data[start : start + CHUNK]
            if self._begin + len(self._bytes) >= self._wanted:
                self._feed()
                while (frame := self._next()) is not None:
                    frames.append(frame)
            require_room(len(self._bytes), self._max)

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
            require_room(self._wanted - self._begin, self._max)
            return None
        end = self._skipper.tell()
        size = end - self._begin
        require_room(size, self._max)
        self._counter.values = 0
        with memoryview(self._bytes) as arrived, arrived[:size] as whole:
            message = _decoded(whole, self._counter.count)
        del self._bytes[:size]
        self._begin = end
        return frame_of(message, memory_cost(size, self._counter.values))

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


def _decoded(whole: memoryview, count: Callable[[Any], Any]) -> Any:
    """Decode a complete message; ``count`` is called with each list and map in it."""
    return unpackb(
        whole,
        list_hook=count,
        object_hook=count,
        max_array_len=MAX_ELEMENTS,
        max_map_len=MAX_ELEMENTS,
        **AS_IT_IS,
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
