"""JSON-RPC 2.0 without any I/O: each message after a ``Content-Length`` header, or on a line of its own.

Both framings read and write the same messages. They differ in how messages are delimited in the stream. A received
header may have any case, and others beside it. A header that is sent is alone and has exactly one space after the
colon: Vim loses the message without it.

A message that is not JSON, or not a request, is refused and the stream goes on; so is a batch. If the end of a message
cannot be found, or a message is too long, the stream is lost.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from reel.base.errors import InvalidRequest, ParseError, ReelError, as_map, no_memory
from reel.base.strict_json import encode, parse
from reel.base.values import REPLACING, clean_deep, is_clean
from reel.wire.frames import MAX_MESSAGE, Frame, Id, InvalidFrame, Notification, Request, Response, too_large
from reel.wire.msgpack_codec import unpack
from reel.wire.short_messages import unpacked_all
from reeld.wire.encoded import EncodedText, PackedList, PackedMessages
from reeld.wire.shared_pushes import SharedPush, SharedPushes
from reeld.wire.sizes import MAX_VALUES, UNCOUNTED_VALUES, memory_cost, too_many

# The longest header that is accepted, in bytes; the protocols of editors have two short fields.
_MAX_HEADER = 4096
_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*([0-9]{1,15})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
# The characters that precede a nested value.
_SEPARATORS = (b",", b":", b"[", b"{")
# A string that is cut off extends to the end: retrying from each quote in it would take quadratic time.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_HEADER = "a message begins with Content-Length: N, the bytes of its body, and an empty line"


class _JsonRpc(SharedPushes, ABC):
    """The common part of both framings.

    Args:
        max_message: the longest message that is accepted, in bytes.
        max_values: the most values in a message.
    """

    name: str
    # A hint that is added to the error for a message that is not JSON.
    _hint = ""

    def __init__(self, max_message: int = MAX_MESSAGE, max_values: int = MAX_VALUES) -> None:
        self.push_target: list[str] = []
        self._max = max_message
        self._max_values = max_values
        self._buffer = bytearray()
        self._lost = False

    @property
    def held(self) -> int:
        """How many bytes of an incomplete message are kept."""
        return len(self._buffer)

    @abstractmethod
    def _messages(self) -> Iterator[bytes]:
        """Remove the complete messages from the buffer, and yield them.

        Raises:
            ReelError: the stream is lost.
        """

    @abstractmethod
    def end(self) -> list[Frame]:
        """Take the end of the stream; return the frame that it completes or cuts off."""

    @abstractmethod
    def _lay(self, message: bytes) -> bytes:
        """Frame a message for the stream."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take received bytes; return the frames that they complete, in order. Nothing follows a fatal one."""
        if self._lost:
            return []
        frames: list[Frame] = []
        try:
            self._buffer += data
            for message in self._messages():
                values = _values(message)
                if values > self._max_values:
                    raise too_many(self._max_values)
                frames.append(_frame(message, values, self._hint))
        except ReelError as error:
            frames.append(self._lose(error))
        except MemoryError:
            frames.append(self._lose(no_memory()))
        return frames

    def _lose(self, error: ReelError) -> InvalidFrame:
        self.discard()
        return InvalidFrame(error, fatal=True)

    def discard(self) -> None:
        """Free what is kept, and ignore all further bytes."""
        self._lost = True
        self._buffer.clear()

    def _take(self, length: int) -> bytes:
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    def request(self, request_id: Id, method: str, params: Any) -> bytes:
        """Encode a call that expects a response."""
        return self._send({"id": request_id, "method": method, "params": params})

    def notify(self, method: str, params: dict[str, Any] | list[Any]) -> bytes:
        """Encode a call that expects no response, or a push: a map, which goes to ``push_target``."""
        return self._encode_push(method, encode(params)) if type(params) is dict else self._call(method, encode(params))

    def _lay_push(self, method: str, sub: int, shared: SharedPush) -> bytes:
        tail = shared.encodings.get("json")
        if tail is None:
            everything = shared.fields | {name: unpack(value) for name, value in shared.packed.items()}
            tail = shared.encodings["json"] = _bytes(encode(everything))
        return self._encode_push(method, f'{{"sub":{sub},{tail.decode()[1:]}')

    def _encode_push(self, name: str, params: str) -> bytes:
        if not self.push_target:
            return self._call(name, params)
        method, *first = self.push_target
        before = "".join(f"{encode(argument)}," for argument in first)
        return self._call(method, f"[{before}[{encode(name)},{params}]]")

    def _call(self, method: str, params: str) -> bytes:
        return self._lay(_bytes(f'{{"jsonrpc":"2.0","method":{encode(method)},"params":{params}}}'))

    def answer(self, request_id: Id, result: dict[str, Any] | bytes) -> bytes:
        """Encode a result; its values may be :class:`PackedList`."""
        return self._send({"id": request_id, "result": _opened(result)})

    def refuse(self, request_id: Id | None, error: ReelError) -> bytes:
        """Encode an error; ``None`` responds to what could not be read."""
        shown = _shown(error)
        del shown["name"]  # it is in the data; JSON-RPC has no other place for it
        return self._send({"id": request_id, "error": shown})

    def reply(self, token: Id, outcome: dict[str, Any] | bytes | ReelError) -> bytes:
        """Encode the push with the outcome of a ``call_async``."""
        if isinstance(outcome, ReelError):
            return self.notify("reply", {"token": token, "error": _shown(outcome)})
        return self.notify("reply", {"token": token, "result": _opened(outcome)})

    def _send(self, message: dict[str, Any]) -> bytes:
        return self._lay(_bytes(encode({"jsonrpc": "2.0", **message})))


class ContentLength(_JsonRpc):
    """``Content-Length: N``, an empty line, and N bytes: Vim, Emacs, vscode-jsonrpc."""

    name = "json-rpc"

    def __init__(self, max_message: int = MAX_MESSAGE, max_values: int = MAX_VALUES) -> None:
        super().__init__(max_message, max_values)
        # The length of the message whose header has been read.
        self._length: int | None = None

    def _messages(self) -> Iterator[bytes]:
        while True:
            if self._length is None:
                self._length = self._header()
            if self._length is None or len(self._buffer) < self._length:
                return
            length, self._length = self._length, None
            yield self._take(length)

    def _header(self) -> int | None:
        end = _END_OF_HEADER.search(self._buffer, 0, _MAX_HEADER)
        if end is None:
            if len(self._buffer) >= _MAX_HEADER:
                raise ParseError(f"{_NO_HEADER}; none came in {_MAX_HEADER} bytes")
            return None
        found = _LENGTH.findall(self._take(end.end()))
        if len(found) != 1:
            raise ParseError(_NO_HEADER)
        length = int(found[0])
        if length > self._max:
            raise too_large(self._max, length)
        return length

    def end(self) -> list[Frame]:
        """Take the end of the stream; return the frame that it cuts off."""
        if self._lost or (self._length is None and not self._buffer):
            return []
        return [self._lose(ParseError("the stream ended inside a message"))]

    def _lay(self, message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


class Lines(_JsonRpc):
    """One message on each line, blank lines ignored: ``nc -U``, scripts."""

    name = "json-rpc-lines"
    _hint = "; each line is a message"

    def __init__(self, max_message: int = MAX_MESSAGE, max_values: int = MAX_VALUES) -> None:
        super().__init__(max_message, max_values)
        # How much of the buffer has been searched for the end of a line.
        self._seen = 0

    def _messages(self) -> Iterator[bytes]:
        while (end := self._buffer.find(b"\n", self._seen)) >= 0:
            self._seen = 0
            if end > self._max:
                raise too_large(self._max)
            line = self._take(end)
            del self._buffer[:1]
            if line.strip(b" \t\r"):
                yield line
        self._seen = len(self._buffer)
        if self._seen > self._max:
            raise too_large(self._max)

    def end(self) -> list[Frame]:
        """Take the end of the stream; a last line needs no line feed."""
        return self.feed(b"\n")

    def _lay(self, message: bytes) -> bytes:
        return message + b"\n"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", REPLACING)


def _values(message: bytes) -> int:
    """Return the number of values in a message, keys included, before it is decoded; never too few."""
    many = sum(map(message.count, _SEPARATORS))
    return many if many < UNCOUNTED_VALUES else sum(map(_STRING.sub(b"", message).count, _SEPARATORS))


def _frame(message: bytes, values: int, hint: str) -> Frame:
    try:
        # Bytes that are not UTF-8 become lone surrogates, so that they can be replaced in texts and refused in names.
        value = parse(message.decode(errors="surrogateescape"))
    except ValueError as error:
        return InvalidFrame(ParseError(f"not JSON: {error}{hint}"), fatal=False)
    except RecursionError:
        return InvalidFrame(ParseError("the message is nested too deep"), fatal=False)
    if type(value) is list:
        return InvalidFrame(InvalidRequest("batches are not accepted; send each request by itself"), fatal=False)
    if type(value) is dict and value.get("jsonrpc", "2.0") == "2.0":
        if type(value.get("method")) is str:
            return _call(value, memory_cost(len(message), values))
        if "method" not in value and ("result" in value or "error" in value) and type(value.get("id")) in _ANSWERED:
            return Response(value.get("id"), value.get("error"), value.get("result"))
    return InvalidFrame(InvalidRequest('expected {"jsonrpc": "2.0", "id": …, "method": …, "params": …}'), fatal=False)


def _call(value: dict[str, Any], size: int) -> Frame:
    method, params = value["method"], value.get("params")
    if "id" not in value:
        return Notification(method, params, size)
    request_id = value["id"]
    if type(request_id) is int or (type(request_id) is str and is_clean(request_id)):
        return Request(request_id, method, params, size)
    return InvalidFrame(
        InvalidRequest("id: expected an integer or a clean string; leave it out of a notification"), fatal=False
    )


_ANSWERED = (int, str, type(None))


def _opened(result: dict[str, Any] | bytes) -> dict[str, Any]:
    if isinstance(result, bytes):
        opened: dict[str, Any] = unpack(result)
        return opened
    return {key: _value(value) for key, value in result.items()}


def _value(value: Any) -> Any:
    if type(value) is PackedList:
        return [unpack(item) for item in value.items]
    if type(value) is PackedMessages:
        return unpacked_all(value.items)
    return str(value) if type(value) is EncodedText else value


def _shown(error: ReelError) -> dict[str, Any]:
    """Return an error as a map. It may quote what was received, and that may not be a clean text."""
    shown: dict[str, Any] = clean_deep(as_map(error))[0]
    return shown
