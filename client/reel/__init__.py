"""The Python client of ``reeld``, the daemon that owns the conversations of LLM agents.

An *agent* is one named conversation, and the task in the daemon that owns it. Example::

    import reel

    client = reel.connect(autostart=True)
    client.add("demo", "What is a tape deck?", create=True)
    for message in client.iter_messages("demo"):
        print(message["role"], message["content"])

``help(reel.Client)`` lists every method. Every error is a :class:`ReelError`. :mod:`reel.aio` has the same client for
async programs, on asyncio and on trio.
"""

# Type checkers treat this like ``typing.TYPE_CHECKING``. Importing ``typing`` takes as long as starting Python.
TYPE_CHECKING = False

# The public names: once for type checkers and editors, and once, below, for the interpreter, which loads a module only
# when a name of it is first used. A command that prints its version should not pay for a socket, nor one that adds a
# message for a JSON parser. A test checks that both lists agree.
if TYPE_CHECKING:
    from typing import Any

    from reel import aio as aio
    from reel.base.errors import Busy as Busy
    from reel.base.errors import Cancelled as Cancelled
    from reel.base.errors import Conflict as Conflict
    from reel.base.errors import Exists as Exists
    from reel.base.errors import Internal as Internal
    from reel.base.errors import InvalidMessage as InvalidMessage
    from reel.base.errors import InvalidParams as InvalidParams
    from reel.base.errors import InvalidRequest as InvalidRequest
    from reel.base.errors import Killed as Killed
    from reel.base.errors import MethodNotFound as MethodNotFound
    from reel.base.errors import NoSuchMark as NoSuchMark
    from reel.base.errors import NotFound as NotFound
    from reel.base.errors import NothingToUndo as NothingToUndo
    from reel.base.errors import NotRunning as NotRunning
    from reel.base.errors import ParseError as ParseError
    from reel.base.errors import ProtocolMismatch as ProtocolMismatch
    from reel.base.errors import ReelError as ReelError
    from reel.base.errors import ShuttingDown as ShuttingDown
    from reel.base.errors import Storage as Storage
    from reel.base.errors import Timeout as Timeout
    from reel.base.errors import TooLarge as TooLarge
    from reel.said.blocks import InvalidRecord as InvalidRecord
    from reel.said.files import media as media
    from reel.said.formats import Format as Format
    from reel.said.kinds import is_conversation_kind as is_conversation_kind
    from reel.said.messages import Block as Block
    from reel.said.messages import Event as Event
    from reel.said.messages import Item as Item
    from reel.said.messages import Message as Message
    from reel.said.messages import NewMessage as NewMessage
    from reel.said.messages import NewRecord as NewRecord
    from reel.said.messages import Record as Record
    from reel.said.new_messages import no_state as no_state
    from reel.said.new_messages import state as state
    from reel.said.new_messages import text as text
    from reel.said.new_messages import tool_call as tool_call
    from reel.said.new_messages import tool_result as tool_result
    from reel.said.records import message_from_record as message_from_record
    from reel.said.tool_calls import ToolCall as ToolCall
    from reel.sync.answer import Answer as Answer
    from reel.sync.client import Client as Client
    from reel.sync.client import connect as connect
    from reel.sync.handle import Handle as Handle
    from reel.version import __version__ as __version__
    from reel.wire.pushes import DraftPush as DraftPush
    from reel.wire.pushes import EventPush as EventPush
    from reel.wire.pushes import ResetPush as ResetPush

_NAMES = {
    "reel.said.blocks": "InvalidRecord",
    "reel.base.errors": "Busy Cancelled Conflict Exists Internal InvalidMessage InvalidParams InvalidRequest Killed"
    " MethodNotFound NoSuchMark NotFound NotRunning NothingToUndo ParseError ProtocolMismatch ReelError"
    " ShuttingDown Storage Timeout TooLarge",
    "reel.said.files": "media",
    "reel.said.formats": "Format",
    "reel.said.kinds": "is_conversation_kind",
    "reel.said.messages": "Block Event Item Message NewMessage NewRecord Record",
    "reel.said.new_messages": "no_state state text tool_call tool_result",
    "reel.wire.pushes": "DraftPush EventPush ResetPush",
    "reel.said.records": "message_from_record",
    "reel.sync.answer": "Answer",
    "reel.sync.client": "Client connect",
    "reel.sync.handle": "Handle",
    "reel.said.tool_calls": "ToolCall",
    "reel.version": "__version__",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
if not TYPE_CHECKING:
    # Not ``aio``, which cannot be imported if anyio is not installed.
    __all__ = sorted(_MODULE_OF)  # noqa: PLE0605 - a checker would want it literal, a third time


def __dir__() -> list[str]:
    """List the public names, for ``dir(reel)``, ``help(reel)`` and completion."""
    return sorted(_MODULE_OF)


def __getattr__(name: str) -> "Any":
    """Load a public name from its module when it is first used."""
    from importlib import import_module  # noqa: PLC0415 - loaded only when a name is first used

    if name == "aio":
        return import_module("reel.aio")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'reel' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value
