"""The neutral form of a history: the output of repair, and the input of a format's writer.

A history is a sequence of exchanges: a user turn, then the assistant turn that answers it. Only the first exchange may
lack its user turn, and only the last one its assistant turn. Either may be empty if nothing is left of it and the
format needs no turn there.
"""

from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.base.values import new_tuple
from reel.providers.changes import Action, Change
from reel.providers.roles import INSTRUCTION_ROLES, THOUGHTS


class Piece(NamedTuple):
    """A block with its place: everything that a format needs to know about it.

    Id and name of a ``tool_call`` are the ones to send; its arguments are those that the model wrote.

    Args:
        message: the message that it comes from; empty for a placeholder.
        message_index: the number of that message in the batch that is rendered. It tells the pieces of one message
            from those of the next; -1 for a placeholder.
        block_index: the number of the block in its message.
        block: the block.
    """

    message: Json
    message_index: int
    block_index: int
    block: Json

    @property
    def seq(self) -> int | None:
        """The seq of its message."""
        return self.message.get("seq")

    @property
    def metadata(self) -> Json:
        """The ``provider_metadata`` of its message, such as ``role`` or ``name``."""
        metadata: Json = self.message.get("provider_metadata") or {}
        return metadata

    @property
    def privileged_role(self) -> str | None:
        """The role of its message if that is an instruction role, whatever API it came from."""
        role = self.metadata.get("role")
        return role if role in INSTRUCTION_ROLES else None


class ToolCall(NamedTuple):
    """A tool call: its id and name in the sent and the original form, its message's seq, and its metadata."""

    id: str
    name: str
    given_id: str
    given_name: str
    seq: int
    metadata: Json

    def as_map(self) -> Json:
        """Return the form in which an open call is sent to clients."""
        return {"id": self.given_id, "name": self.given_name, "seq": self.seq}


class CallResult(NamedTuple):
    """The result of a tool call.

    Args:
        call: the call that it answers.
        content: a text, or a non-empty list of text, media and opaque blocks.
        failed: whether it is an error.
        piece: the block that it comes from; ``None`` if it was synthesized.
    """

    call: ToolCall
    content: str | list[Json]
    failed: bool
    piece: Piece | None

    @property
    def blocks(self) -> list[Json]:
        """The content as blocks, also if it is a text."""
        return self.content if type(self.content) is list else [{"type": "text", "text": self.content}]

    @property
    def text(self) -> str | None:
        """The content of a result that is not an error and only a text, as most are; ``None`` of any other."""
        return self.content if type(self.content) is str and not self.failed else None

    @property
    def metadata(self) -> Json:
        """The ``provider_metadata`` of the result block."""
        metadata: Json = (self.piece.block.get("provider_metadata") if self.piece else None) or {}
        return metadata


class UserTurn(NamedTuple):
    """Results in the order of their calls, then the user's blocks; pieces of several messages, in order.

    ``text`` is the text of a turn that is nothing else (:func:`only_text`); ``None`` if it is more, or is not known.
    """

    results: list[CallResult]
    pieces: list[Piece]
    text: str | None = None


class AssistantTurn(NamedTuple):
    """The assistant's thinking, text and calls; pieces of several messages. ``text`` is as that of a user turn."""

    pieces: list[Piece]
    text: str | None = None


Turn: TypeAlias = UserTurn | AssistantTurn


# How many keys a block has that is a text without metadata.
_TEXT_KEYS = len(("type", "text"))
# The text of an otherwise empty turn, if the API accepts no empty turns.
PLACEHOLDER = "(empty)"


def placeholder() -> Piece:
    """Return a piece of text that comes from no message."""
    return Piece({}, -1, 0, {"type": "text", "text": PLACEHOLDER})


def only_text(messages: list[Json], index: int) -> tuple[list[Piece], str] | None:
    """Return messages that are one text with nothing beside it, and not blank: the piece and the text; else ``None``.

    Args:
        messages: the messages of the user, or of the assistant, of an exchange.
        index: the number of the first one.
    """
    if len(messages) != 1:
        return None
    message = messages[0]
    blocks = message["content"]
    if len(blocks) != 1 or message["provider_metadata"]:
        return None
    block = blocks[0]
    if len(block) != _TEXT_KEYS or block["type"] != "text" or not (text := block["text"]).strip():
        return None
    return [new_tuple(Piece, (message, index, 0, block))], text


def is_thought(block: Json) -> bool:
    """Return whether a block is reasoning."""
    return block["type"] in THOUGHTS


class HistorySettings(NamedTuple):
    """The settings that ``extra`` and the prompt impose on the history.

    Args:
        thinking: whether the last turn may contain thinking, if it is the assistant's.
        by_id: whether the provider looks up its own items by id, and then requires the items that belong to them.
        past_reasoning: whether the model reads its reasoning of earlier turns, though its server ignores it otherwise.
        tools: the names of the tools whose calls are sent as calls, and all others as text; ``None`` for all tools.
        declared: the features that ``extra`` declares, of those that the API refuses undeclared.
    """

    thinking: bool = True
    by_id: bool = False
    past_reasoning: bool = False
    tools: frozenset[str] | None = None
    declared: frozenset[str] = frozenset()

    @property
    def of_settled(self) -> "HistorySettings":
        """The settings that apply to all turns but the last one."""
        return self._replace(thinking=True)


class RenderContext:
    """The context for writing a turn, and the place for reports of losses.

    Args:
        model: the model that will answer, if known.
        by_id: whether the provider looks up its own items by id.
        past_reasoning: whether the model reads its reasoning of earlier turns.
    """

    __slots__ = (
        "breakpoints",
        "by_id",
        "follows_results",
        "has_summary",
        "is_last",
        "model",
        "past_reasoning",
        "report",
        "sent_once",
        "thinking",
    )

    def __init__(self, model: str | None, *, by_id: bool = False, past_reasoning: bool = False) -> None:
        self.model = model
        self.by_id = by_id
        self.past_reasoning = past_reasoning
        # The ids or names sent so far that must be unique in a history; a dict, because its order tells which ones
        # the open turns added.
        self.sent_once: dict[str, None] = {}
        # The seq and the number of the block of each cache breakpoint of the turn, in order.
        self.breakpoints: list[tuple[int | None, int]] = []
        # Whether a summary was written, which may stand for everything before it; most histories have none.
        self.has_summary = False
        # Whether nothing follows the turn, so that it may contain no invented text.
        self.is_last = False
        # Whether the turn is the assistant's and follows results alone: the user has not spoken since the calls.
        self.follows_results = False
        # Whether the turn may contain thinking.
        self.thinking = True
        self.report: list[Change] = []

    def note(self, piece: Piece, action: Action, why: str) -> None:
        """Report what happened to a block."""
        self.report.append(Change(piece.seq, piece.block_index, action, why))

    def note_lost_role(self, piece: Piece) -> None:
        """Report that a message is sent as the user's if it had an instruction role."""
        if (role := piece.privileged_role) is not None:
            self.note(piece, "downgraded", f"a {role} message is sent as the user's")
