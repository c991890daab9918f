"""JSON-RPC in lines, as the protocol wants it: what a line is, and the lines of replies. Pure."""

from __future__ import annotations

from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode, parse
from reel.base.values import clean_deep

# What JSON-RPC and the protocol allow as the id of a request.
Id: TypeAlias = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022
# The bytes of a line; a request is a tool's name and a few words.
MAX_LINE = 4 << 20


class ProtocolError(Exception):
    """A request that cannot be answered: its code, the reason, and data for programs."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_map(self) -> dict[str, Any]:
        """Return the error as it is sent."""
        return {"code": self.code, "message": self.message, **({} if self.data is None else {"data": self.data})}


class Request(NamedTuple):
    """A request of the client, which gets exactly one reply unless the client cancels it."""

    id: Id
    method: str
    params: dict[str, Any]

    @property
    def meta(self) -> dict[str, Any]:
        """What the client says beside the parameters."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


class Notification(NamedTuple):
    """A message of the client that gets no reply."""

    method: str
    params: dict[str, Any]


class Reply(NamedTuple):
    """The client's reply to a request of ours, if its id is one; ``result`` is ``None`` if it is an error."""

    id: Id | None
    result: Any


class Unreadable(NamedTuple):
    """A line that is no message, with the id of the request that it may have been."""

    id: Id | None
    error: ProtocolError


def read_id(value: Any) -> Id | None:
    """Return the id that a value is; ``None`` if it is not one: true is not, though Python takes it for 1."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def read_frame(line: bytes) -> Request | Notification | Reply | Unreadable:
    """Return the message in a line."""
    try:
        found, _ = clean_deep(parse(line.decode()))  # an escaped half of a character cannot be sent back
    except (ValueError, RecursionError):
        return Unreadable(None, ProtocolError(PARSE_ERROR, "this line is not JSON; send a message a line"))
    if not isinstance(found, dict):
        return Unreadable(None, ProtocolError(INVALID_REQUEST, "a message is one JSON object, not a batch"))
    number, method, params = read_id(found.get("id")), found.get("method"), found.get("params", {})
    if method is None and ("result" in found or "error" in found):
        return Reply(number, found.get("result"))
    if isinstance(method, str) and isinstance(params, dict):
        if number is not None:
            return Request(number, method, params)
        if "id" not in found:
            return Notification(method, params)
    what = "a request has a method, an id that is a text or an integer, and params that are an object"
    return Unreadable(number, ProtocolError(INVALID_REQUEST, what))


def result_line(number: Id, result: dict[str, Any]) -> bytes:
    """Return the line of a reply."""
    return _line({"id": number, "result": result})


def error_line(number: Id | None, error: ProtocolError) -> bytes:
    """Return the line of a reply that is an error."""
    return _line({"id": number, "error": error.as_map()})


def request_line(number: Id, method: str, params: dict[str, Any]) -> bytes:
    """Return the line of a request of ours."""
    return _line({"id": number, "method": method, "params": params})


def _line(message: dict[str, Any]) -> bytes:
    return f"{encode({'jsonrpc': '2.0', **message})}\n".encode()


class Lines:
    """Cuts what arrives into lines; one that is too long is passed on cut, and so is no message."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._rest = b""
        self._skips = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without blank ones."""
        *lines, rest = (self._rest + data).split(b"\n")
        if self._skips and lines:
            self._skips, lines = False, lines[1:]
        self._rest = b"" if self._skips else rest
        if len(self._rest) > self._limit:
            lines.append(self._rest[: self._limit])
            self._rest, self._skips = b"", True
        return [line for line in lines if line.strip()]

    def end(self) -> list[bytes]:
        """Return the last line, which may lack its line break."""
        rest, self._rest = self._rest, b""
        return [rest] if rest.strip() else []
