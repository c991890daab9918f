"""Messages, blocks and records: the provider-neutral form of a conversation, as typed dictionaries.

They are the maps that travel over the wire, with types: what ``client.messages()`` returns can be passed to
``client.add()`` unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Metadata: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["user", "assistant", "tool"]
# What a daemon says in the metadata of a message. Of an answer: how many messages were added while it was written.
LATE = "late"
# Of results: the calls that had a result already, which counts no more.
SUPERSEDES = "supersedes"
# What a client says in the metadata of the message that begins what it put in the place of all that was said before.
COMPACTED = "compacted"


class TextBlock(TypedDict):
    """Text that was said."""

    type: Literal["text"]
    text: str
    provider_metadata: NotRequired[Metadata]


class ToolCallBlock(TypedDict):
    """A tool call by the assistant; ``arguments`` is the JSON text as the model wrote it."""

    type: Literal["tool_call"]
    id: str
    name: str
    arguments: str
    provider_metadata: NotRequired[Metadata]


class NewToolCallBlock(TypedDict):
    """A tool call to add; ``arguments`` is JSON text, which is kept unchanged, or a map."""

    type: Literal["tool_call"]
    id: str
    name: str
    arguments: str | Mapping[str, Any]
    provider_metadata: NotRequired[Metadata]


class ThinkingBlock(TypedDict):
    """Reasoning, with the signature that its provider expects back."""

    type: Literal["thinking"]
    text: str
    signature: NotRequired[str | None]
    provider: NotRequired[str | None]
    model: NotRequired[str | None]
    provider_metadata: NotRequired[Metadata]


class RedactedThinkingBlock(TypedDict):
    """Reasoning that only its provider can read."""

    type: Literal["redacted_thinking"]
    data: str
    provider: NotRequired[str | None]
    model: NotRequired[str | None]
    provider_metadata: NotRequired[Metadata]


class MediaBlock(TypedDict):
    """An image, audio, video or document; exactly one of ``data_base64`` and ``url`` is given."""

    type: Literal["media"]
    mime_type: str
    data_base64: NotRequired[str]
    url: NotRequired[str]
    name: NotRequired[str | None]
    provider_metadata: NotRequired[Metadata]


class OpaqueBlock(TypedDict):
    """A provider's own block that has no neutral form; it is only ever sent back to that provider."""

    type: Literal["opaque"]
    provider: str
    data_json: str
    model: NotRequired[str | None]
    provider_metadata: NotRequired[Metadata]


class ToolResultBlock(TypedDict):
    """The result of a tool call; ``content`` is a text, or a list of text, media and opaque blocks."""

    type: Literal["tool_result"]
    tool_call_id: str
    content: "str | list[TextBlock | MediaBlock | OpaqueBlock]"
    is_error: bool
    provider_metadata: NotRequired[Metadata]


# The content of a tool's result.
ToolOutput: TypeAlias = "str | list[TextBlock | MediaBlock | OpaqueBlock]"

Block: TypeAlias = (
    TextBlock | ToolCallBlock | ThinkingBlock | RedactedThinkingBlock | MediaBlock | OpaqueBlock | ToolResultBlock
)


# A block of a message to add.
NewBlock: TypeAlias = Block | NewToolCallBlock


class Message(TypedDict):
    """One message of a conversation; ``time`` is in milliseconds since the epoch, UTC.

    ``sent`` and ``ref`` are present if the message was imported with them: its original time, and its original id.
    """

    role: Role
    content: list[Block]
    provider_metadata: Metadata
    seq: int
    time: int
    sent: NotRequired[int]
    ref: NotRequired[str]


class Item(TypedDict):
    """An item of a provider's history, and the seq and the time of its message.

    If the format is the caller's own, a message that was not added as an item has ``message`` instead of ``item``.
    """

    seq: int
    time: int
    item: NotRequired[dict[str, Any]]
    message: NotRequired[Message]
    sent: NotRequired[int]
    ref: NotRequired[str]


class NewMessage(TypedDict):
    """A message to add; a string as ``content`` is one text block, and the role ``system`` sets the prompt."""

    role: Literal["user", "assistant", "tool", "system"]
    content: str | Sequence[NewBlock]
    provider_metadata: NotRequired[Metadata]
    sent: NotRequired[int | None]
    ref: NotRequired[str | None]


class Record(TypedDict):
    """A conversation event as it is stored; ``data_json`` is unchanged, byte for byte."""

    seq: int
    kind: str
    content: str | None
    data_json: str | None
    time: int
    sent: NotRequired[int]
    ref: NotRequired[str]


class NewRecord(TypedDict):
    """A record to add, of a conversation kind or an inert kind; ``if_seq`` is of the kind ``state`` alone."""

    kind: str
    content: NotRequired[str | None]
    data_json: NotRequired[str | None]
    sent: NotRequired[int | None]
    ref: NotRequired[str | None]
    if_seq: NotRequired[int]


class EventParent(TypedDict):
    """The node that an event follows; it may belong to another agent."""

    agent: str
    seq: int


class Event(TypedDict):
    """One row of the log; ``id`` grows over the whole database, ``seq`` within the agent."""

    id: int
    agent: str
    seq: int
    command: int
    kind: str
    content: str | None
    data_json: str | None
    parent: EventParent | None
    time: int
    client: str | None
    sent: NotRequired[int]
    ref: NotRequired[str]
    damaged: NotRequired[bool]


Addable: TypeAlias = str | NewMessage | Message | NewRecord
# One or several. Not any iterable: a map is an iterable of strings, so a type checker would accept a message that has a
# wrong role as a list of texts.
Addables: TypeAlias = Addable | Sequence[Addable] | Iterator[Addable]
