"""Every error that the protocol names, as an exception of its own.

``ReelError`` is the base. ``name`` and ``code`` are stable and the same in every framing. ``message`` says what is
wrong, with the value, and what to do. ``data`` has the field, the seq or the head that the error is about.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, ClassVar


class ReelError(Exception):
    """A request was refused or failed; nothing was changed unless the message says so."""

    name: ClassVar[str] = "internal"
    code: ClassVar[int] = -32603

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, Any] = data

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


class ParseError(ReelError):
    """The bytes are not a message of the framing."""

    name = "parse_error"
    code = -32700


class InvalidRequest(ReelError):
    """The message is not a request."""

    name = "invalid_request"
    code = -32600


class MethodNotFound(ReelError):
    """No method has this name."""

    name = "method_not_found"
    code = -32601


class InvalidParams(ReelError):
    """A parameter is missing, unknown or of the wrong type."""

    name = "invalid_params"
    code = -32602


class Internal(ReelError):
    """A bug in the daemon; its log has the details."""

    name = "internal"
    code = -32603


class ProtocolMismatch(ReelError):
    """Client and daemon have no protocol version in common."""

    name = "protocol_mismatch"
    code = -32001


class Busy(ReelError):
    """Too many requests are in flight; repeat it when some of them have been answered."""

    name = "busy"
    code = -32002


def no_memory() -> Busy:
    """Return the error for a request for which there is not enough memory."""
    return Busy("there is not enough memory for this request; retry it later, or ask for less at a time")


class TooLarge(ReelError):
    """A message or a page is over its limit."""

    name = "too_large"
    code = -32003


class NotFound(ReelError):
    """No agent has this name or id."""

    name = "not_found"
    code = -32004


class Timeout(ReelError):
    """The client stopped waiting; the request may still be carried out."""

    name = "timeout"
    code = -32005


class Conflict(ReelError):
    """The agent has moved on since ``if_seq``, ``if_stands`` is gone, or the key was used for another command."""

    name = "conflict"
    code = -32006


class Exists(ReelError):
    """A live agent has this name already."""

    name = "exists"
    code = -32007


class Killed(ReelError):
    """The agent is dead; it can be read, cloned or revived."""

    name = "killed"
    code = -32008


class NoSuchMark(ReelError):
    """No mark in the current conversation has this label."""

    name = "no_such_mark"
    code = -32009


class InvalidMessage(ReelError):
    """A message or a record is invalid; ``data`` has its index and the field."""

    name = "invalid_message"
    code = -32010


class Storage(ReelError):
    """The database failed to commit; nothing was written, unless the message says that this is unknown."""

    name = "storage"
    code = -32011


class ShuttingDown(ReelError):
    """The daemon is stopping and accepts no new requests."""

    name = "shutting_down"
    code = -32012


class NothingToUndo(ReelError):
    """There is no command left to undo, or to redo."""

    name = "nothing_to_undo"
    code = -32013


class Cancelled(ReelError):
    """The client withdrew the request."""

    name = "cancelled"
    code = -32800


class NotRunning(ReelError):
    """No daemon answers on the socket. Only clients raise it; it is never sent."""

    name = "not_running"
    code = -32000


_PROTOCOL_ERRORS: tuple[type[ReelError], ...] = (
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    ProtocolMismatch,
    Busy,
    TooLarge,
    NotFound,
    Timeout,
    Conflict,
    Exists,
    Killed,
    NoSuchMark,
    InvalidMessage,
    Storage,
    ShuttingDown,
    NothingToUndo,
    Cancelled,
)
BY_NAME = {error.name: error for error in _PROTOCOL_ERRORS}


def from_wire(error: Any) -> ReelError:
    """Return the exception for an error that was received.

    Args:
        error: the map ``{name, message, data}`` of ``hello(errors="map")``, the map of JSON-RPC, whose name is in its
            data, or the pair ``[0 or 1, text]``.
    """
    match error:
        case {"name": str(name), "message": str(text)} | {"data": {"name": str(name)}, "message": str(text)}:
            found = BY_NAME.get(name, ReelError)(text.removeprefix(f"{name}: "))
            data = error.get("data")
            found.data = data if isinstance(data, dict) else {}
            return found
        case [int(), str(text)]:
            name, _, rest = text.partition(": ")
            return BY_NAME[name](rest) if name in BY_NAME else ReelError(text)
    return ReelError(f"the daemon sent an error of an unknown form: {error!r}")


def as_map(error: ReelError) -> dict[str, Any]:
    """Return the map that represents an error on the wire."""
    data = {**error.data, "name": error.name}
    return {"code": error.code, "name": error.name, "message": str(error), "data": data}
