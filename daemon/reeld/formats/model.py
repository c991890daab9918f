"""The neutral result of repair: turns that every provider can take.

A history is a sequence of rounds: what the user and the tools say, then what the assistant answers. Only the first
round may lack its user turn, only the last one its assistant turn, and either may be empty where nothing is left of
it and the format needs no turn there.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = dict[str, Any]
# The roles above the user's.
ABOVE = ("system", "developer")


class Piece(NamedTuple):
    """A block in its place: everything that a format needs to know of it.

    Ids and names of a ``tool_call`` are the ones to send; its arguments are as the model wrote them.

    Args:
        message: the message that it came from; of a placeholder an empty one.
        index: its number in that message.
        block: the block.
    """

    message: Json
    index: int  # type: ignore[assignment]  # a tuple's method of that name is used by nobody
    block: Json

    @property
    def seq(self) -> int | None:
        """The seq of its message."""
        return self.message.get("seq")

    @property
    def metadata(self) -> Json:
        """What the provider of its message said beside the blocks, such as ``role`` or ``name``."""
        found: Json = self.message.get("provider_metadata") or {}
        return found

    @property
    def above(self) -> str | None:
        """The role above the user's in which its message was said, whoever's request that was in; or none."""
        role = self.metadata.get("role")
        return role if role in ABOVE else None


class Call(NamedTuple):
    """A tool call: its id and name as they are sent and as they were given, where it stands, and its metadata."""

    id: str
    name: str
    given: str
    given_name: str
    seq: int
    metadata: Json

    def as_map(self) -> Json:
        """Give what the wire shows of an open one."""
        return {"id": self.given, "name": self.given_name, "seq": self.seq}


class Answer(NamedTuple):
    """The result of a call.

    Args:
        call: the call that it answers.
        content: a text, or a list of text, media and opaque blocks of which at least one is left.
        failed: whether it is an error.
        piece: the block that it came from; ``None`` where it was made up.
    """

    call: Call
    content: str | list[Json]
    failed: bool
    piece: Piece | None

    @property
    def blocks(self) -> list[Json]:
        """The content as blocks, whether it is a text or not."""
        return [{"type": "text", "text": self.content}] if isinstance(self.content, str) else self.content

    @property
    def metadata(self) -> Json:
        """The result's own ``provider_metadata``."""
        found: Json = (self.piece.block.get("provider_metadata") if self.piece else None) or {}
        return found


class UserTurn(NamedTuple):
    """Results in the order of their calls, then what was said; pieces of several messages, in their order."""

    answers: list[Answer]
    said: list[Piece]


class AssistantTurn(NamedTuple):
    """What the assistant thought, said and called; pieces of several messages."""

    pieces: list[Piece]


Turn: TypeAlias = UserTurn | AssistantTurn


def text_piece(text: str, message: Json | None = None, index: int = 0) -> Piece:
    """Make a piece of a text that stands for something else."""
    return Piece(message or {}, index, {"type": "text", "text": text})


# Whose some blocks are, whoever is said to say them.
_OWNERS = {"tool_result": "tool", **dict.fromkeys(("tool_call", "thinking", "redacted_thinking"), "assistant")}


def speakers(blocks: list[Json], role: str) -> Iterator[tuple[str, list[Json]]]:
    """Split what one message holds by who can say it: results are the tool's, calls the assistant's.

    Args:
        blocks: the blocks; none are an empty text.
        role: who says the rest, ``user`` or ``assistant``.
    """
    said = blocks or [{"type": "text", "text": ""}]
    for who, run in groupby(said, key=lambda block: _OWNERS.get(block["type"], role)):
        yield who, list(run)
