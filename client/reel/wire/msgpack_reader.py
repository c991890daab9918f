"""Reads frames from a stream of MessagePack.

Nearly all messages arrive whole, in one short piece, which a single decoder turns into messages one by one. Everything
else goes to a reader of pieces, which knows where each message ends. Clients trust the daemon: theirs builds values as
the bytes arrive, resumes where they ended, and reads a rendered body of megabytes in half the time of one that looks
for the end of the message first. The daemon's is :mod:`reeld.wire.counting_reader`.

All paths produce the same frames. The fast path accepts nothing that the others would refuse: whatever it cannot
decode, and everything after it, goes to the reader of pieces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from msgpack import Unpacker
from msgpack.exceptions import BufferFull, OutOfData

from reel.base.errors import InvalidRequest, ParseError, ReelError, TooLarge, no_memory
from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import new_tuple
from reel.wire.frames import MAX_ELEMENTS, Frame, InvalidFrame, Notification, Request, Response, too_large

if TYPE_CHECKING:
    from typing import Any

# How many received bytes are decoded at a time; a decoder holds up to this much beyond the longest message.
CHUNK = 1 << 16
# The longest piece for the fast path, and the most items of a list in it. A hostile piece of nested, unfinished lists
# makes the decoder allocate 1 MB.
SHORT = 1 << 15
_SHORT_LIST = 1 << 7
# The buffers of a connection, in bytes; they grow as needed. The library's own, 1 MiB for each decoder, made 4,000
# short connections cost the daemon 106 MB.
BUFFER = 1 << 12
# A pool of decoders for the fast path. Each takes 45 KB, most of it for nested lists, and is needed for microseconds.
_idle: list[Unpacker] = []
# The first element of a message, and how many elements each kind has.
_REQUEST, _RESPONSE, _NOTIFICATION = 0, 1, 2
_LENGTHS = (4, 3)
_RESPONSE_IDS = (int, type(None))


class PieceReader(ABC):
    """Reads messages of any length, which may arrive in pieces."""

    @property
    @abstractmethod
    def held(self) -> int:
        """How many bytes an incomplete message takes."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether no message is incomplete."""

    @abstractmethod
    def read(self, data: memoryview, frames: list[Frame]) -> None:
        """Take bytes, and add the frames that they complete.

        Raises:
            TooLarge: a message is too long.
            Exception: the bytes are not MessagePack.
        """


class MessageReader:
    """Reads frames from a stream.

    Args:
        max_message: the longest message that is accepted, in bytes.
        short: the longest piece for the fast path, in bytes.
        counted: the cost of a message of this size, in bytes, or above is more than its bytes; ``None`` if none is.
    """

    def __init__(self, max_message: int, short: int = SHORT, counted: int | None = None) -> None:
        self._max = max_message
        # A short piece contains no message that is too long.
        self._short = min(SHORT, short, max_message)
        self._counted = max_message + 1 if counted is None else counted
        # Reads the message whose beginning has arrived.
        self._pieces: PieceReader | None = None
        self._lost = False

    def _cost(self, size: int, _message: Any) -> int:
        """Return about how many bytes of memory a message takes."""
        return size

    def _piece_reader(self) -> PieceReader:
        """Return a reader of messages that do not arrive whole."""
        return _TrustingReader(self._max)

    @property
    def held(self) -> int:
        """How many bytes an incomplete message takes."""
        return 0 if self._pieces is None else self._pieces.held

    def discard(self) -> None:
        """Free what is kept, and ignore all further bytes."""
        self._lost = True
        self._pieces = None

    def feed(self, data: bytes | memoryview) -> list[Frame]:
        """Take received bytes; return the frames that they complete, in order. Nothing follows a fatal one."""
        frames: list[Frame] = []
        if self._lost:
            return frames
        done = self._read_whole(data, frames) if self._pieces is None and len(data) <= self._short else 0
        if done < len(data):
            self._read_pieces(memoryview(data)[done:], frames)
        return frames

    def _read_whole(self, data: bytes | memoryview, frames: list[Frame]) -> int:
        """Read complete messages; return where the first incomplete or invalid one begins."""
        try:
            decoder = _idle.pop()
        except IndexError:
            decoder = _decoder(SHORT, _SHORT_LIST)
        tell, before, begin, new, counted = decoder.tell, decoder.tell(), 0, new_tuple, self._counted
        try:
            decoder.feed(data)
            for message in decoder:
                end = tell() - before
                size = end - begin
                cost = size if size < counted else self._cost(size, message)
                if (
                    type(message) is list
                    and len(message) == 4  # noqa: PLR2004
                    and message[0] == _REQUEST
                    and type(message[1]) is int
                    and type(message[2]) is str
                ):
                    frames.append(new(Request, (message[1], message[2], message[3], cost)))
                else:
                    frames.append(frame_of(message, cost))
                begin = end
        except Exception:
            return begin
        if begin == len(data):  # otherwise it keeps what it has read of the next message
            _idle.append(decoder)
        return begin

    def _read_pieces(self, data: memoryview, frames: list[Frame]) -> None:
        from reel.base.garbage import uncollected  # noqa: PLC0415 - the replies of a short command come whole

        try:
            if self._pieces is None:
                self._pieces = self._piece_reader()
            with uncollected():
                self._pieces.read(data, frames)
        except ReelError as error:
            frames.append(self._lose(error))
        except MemoryError:
            frames.append(self._lose(no_memory()))
        except BufferFull:
            frames.append(self._lose(too_large(self._max)))
        except Exception as error:  # the decoder raises a dozen kinds of exceptions, and is out of sync after each
            frames.append(self._lose(_undecodable(error)))
        if self._pieces is not None and self._pieces.is_empty:
            self._pieces = None

    def _lose(self, error: ReelError) -> InvalidFrame:
        self.discard()
        return InvalidFrame(error, fatal=True)


class _TrustingReader(PieceReader):
    """Reads messages of any length, which may arrive in pieces, and builds their values as the bytes arrive.

    Args:
        max_message: the longest message that is accepted, in bytes.
    """

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        self._decoder = _decoder(max_message + CHUNK, MAX_ELEMENTS)
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
        for start in range(0, len(data), CHUNK):
            piece = data[start : start + CHUNK]
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
            require_room(self._fed - self._read, self._max)
            return None
        end = self._decoder.tell()
        size, self._read = end - self._read, end
        require_room(size, self._max)
        return frame_of(message, size)


def require_room(size: int, limit: int) -> None:
    """Refuse a message that is too long.

    Raises:
        TooLarge: it is.
    """
    if size > limit:
        raise too_large(limit)


# Bytes that are not UTF-8 become lone surrogates, so that they can be replaced in texts and refused in names.
AS_IT_IS: Any = {"strict_map_key": False, "unicode_errors": "surrogateescape"}


def _decoder(room: int, max_elements: int) -> Unpacker:
    """Return a decoder that holds up to ``room`` bytes."""
    return Unpacker(
        max_buffer_size=room, read_size=BUFFER, max_array_len=max_elements, max_map_len=max_elements, **AS_IT_IS
    )


def _undecodable(error: Exception) -> ReelError:
    what = str(error) or type(error).__name__
    if "exceeds max_" in what:
        return TooLarge(f"{what}: send it in parts", limit=MAX_ELEMENTS)
    return ParseError(f"not MessagePack: {what}")


def _result(result: Any) -> Any:
    """Return a decoded result with its messages in their usual form."""
    if type(result) is dict and type(found := result.get("messages")) is list and found:
        from reel.wire.short_messages import spread  # noqa: PLC0415 - few replies have messages

        result["messages"] = spread(found)
    return result


def frame_of(message: Any, size: int) -> Frame:
    """Return a decoded message as a frame; ``size`` is what it takes in memory."""
    if type(message) is list and len(message) in _LENGTHS:
        kind = message[0]
        if kind == _REQUEST and len(message) == _LENGTHS[0] and type(message[1]) is int and type(message[2]) is str:
            return Request(message[1], message[2], message[3], size)
        if kind == _RESPONSE and len(message) == _LENGTHS[0] and type(message[1]) in _RESPONSE_IDS:
            return Response(message[1], message[2], _result(message[3]))
        if kind == _NOTIFICATION and len(message) == _LENGTHS[1] and type(message[1]) is str:
            return Notification(message[1], message[2], size)
    return InvalidFrame(InvalidRequest("expected [0, id, method, params] or [2, method, params]"), fatal=False)
