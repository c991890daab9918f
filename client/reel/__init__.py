"""The client of ``reeld``, the daemon that owns the conversations of LLM agents.

Example::

    import reel

    client = reel.connect(autostart=True)
    client.add("demo", "What is a tape deck?", create=True)
    for message in client.iter_messages("demo"):
        print(message["role"], message["content"])
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reel import aio as aio
    from reel.blocks import InvalidRecord
    from reel.errors import (
        Busy,
        Cancelled,
        Conflict,
        Exists,
        Internal,
        InvalidMessage,
        InvalidParams,
        InvalidRequest,
        Killed,
        MethodNotFound,
        NoSuchMark,
        NotFound,
        NothingToUndo,
        NotRunning,
        ParseError,
        ProtocolMismatch,
        ReelError,
        ShuttingDown,
        Storage,
        Timeout,
        TooLarge,
    )
    from reel.kinds import is_conversation_kind
    from reel.messages import (
        Block,
        Event,
        Message,
        NewMessage,
        NewRecord,
        Record,
        text,
        tool_call,
        tool_result,
    )
    from reel.pushes import DraftPush, EventPush, ResetPush
    from reel.records import message_from_record
    from reel.sync.client import Client, connect
    from reel.version import __version__

# Where each public name lives. It is loaded when it is first used: a command that only prints its version
# should not pay for a socket, nor one that adds a message for a JSON parser.
_MODULES = {
    "reel.sync.client": ("Client", "connect"),
    "reel.blocks": ("InvalidRecord",),
    "reel.errors": (
        "Busy",
        "Cancelled",
        "Conflict",
        "Exists",
        "Internal",
        "InvalidMessage",
        "InvalidParams",
        "InvalidRequest",
        "Killed",
        "MethodNotFound",
        "NoSuchMark",
        "NotFound",
        "NothingToUndo",
        "NotRunning",
        "ParseError",
        "ProtocolMismatch",
        "ReelError",
        "ShuttingDown",
        "Storage",
        "Timeout",
        "TooLarge",
    ),
    "reel.kinds": ("is_conversation_kind",),
    "reel.messages": (
        "Block",
        "Event",
        "Message",
        "NewMessage",
        "NewRecord",
        "Record",
        "text",
        "tool_call",
        "tool_result",
    ),
    "reel.pushes": ("DraftPush", "EventPush", "ResetPush"),
    "reel.records": ("message_from_record",),
    "reel.version": ("__version__",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Block",
    "Busy",
    "Cancelled",
    "Client",
    "Conflict",
    "DraftPush",
    "Event",
    "EventPush",
    "Exists",
    "Internal",
    "InvalidMessage",
    "InvalidParams",
    "InvalidRecord",
    "InvalidRequest",
    "Killed",
    "Message",
    "MethodNotFound",
    "NewMessage",
    "NewRecord",
    "NoSuchMark",
    "NotFound",
    "NotRunning",
    "NothingToUndo",
    "ParseError",
    "ProtocolMismatch",
    "Record",
    "ReelError",
    "ResetPush",
    "ShuttingDown",
    "Storage",
    "Timeout",
    "TooLarge",
    "__version__",
    "connect",
    "is_conversation_kind",
    "message_from_record",
    "text",
    "tool_call",
    "tool_result",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module, once."""
    from importlib import import_module  # noqa: PLC0415 - as above

    if name == "aio":
        return import_module("reel.aio")
    if name not in _HOME:
        raise AttributeError(f"module 'reel' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
