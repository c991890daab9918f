"""The pushes that a subscription yields, as tuples with the protocol's fields."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from reel.said.messages import Message, Record


class EventPush(NamedTuple):
    """An event that was committed.

    To keep a copy of the view, truncate it to ``keep`` entries, then append ``message`` or ``record`` if there is one.
    If ``count`` is larger than the copy is now, read the rest at this ``seq``. Both are ``None`` if the subscription
    has ``kinds``, or the view ``none``.
    """

    agent: str
    name: str
    id: int
    seq: int
    command: int
    kind: str
    time: int
    keep: int | None = None
    count: int | None = None  # type: ignore[assignment]  # hides a method of tuples; the protocol names the field so
    message: Message | None = None
    record: Record | None = None
    sent: int | None = None
    ref: str | None = None


class DraftPush(NamedTuple):
    """A text that another connection is writing; empty when the draft is gone.

    ``client`` is the name that its client gave in ``hello``; ``None`` if it gave none.
    """

    agent: str
    connection: int
    text: str
    client: str | None = None


class ResetPush(NamedTuple):
    """What was received before is invalid: read the state again.

    Either the live state of the agent differed from its log and was replaced, or the database was replaced by an older
    one, a backup. In the second case ``agent`` is ``None`` if all agents are followed.
    """

    agent: str | None


Push: TypeAlias = EventPush | DraftPush | ResetPush

_SHAPES: dict[str, type[Push]] = {"event": EventPush, "draft": DraftPush, "reset": ResetPush}


def read_push(method: str, params: dict[str, Any]) -> Push | None:
    """Read a push; return ``None`` if it is about the subscription itself, or newer than this client."""
    shape = _SHAPES.get(method)
    if shape is None:
        return None
    return shape(**{field: params[field] for field in shape._fields if field in params})
