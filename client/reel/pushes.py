"""What a subscription brings, as tuples whose fields are the protocol's."""

from typing import Any, NamedTuple, TypeAlias

from reel.messages import Message, Record


class EventPush(NamedTuple):
    """An event that was committed.

    Who keeps a copy of the view truncates it to ``keep`` entries, appends ``message`` or ``record`` where there is one,
    and where ``count`` says that there are more reads the rest at this ``seq``. Both are ``None`` where ``kinds`` were
    chosen, or the view ``none``.
    """

    agent: str
    name: str
    id: int
    seq: int
    command: int
    kind: str
    time: int
    keep: int | None = None
    count: int | None = None  # type: ignore[assignment]  # a tuple has a method of this name; the field is the protocol's
    message: Message | None = None
    record: Record | None = None


class DraftPush(NamedTuple):
    """What somebody else is writing; an empty text: it is there no longer.

    ``client`` is what the program that writes calls itself; ``None`` if it has not said so.
    """

    agent: str
    connection: int
    text: str
    client: str | None = None


class ResetPush(NamedTuple):
    """What was known is not so: read it again.

    The agent's living state was not what the log says, and has been replaced; or an older log, a backup, was put in the
    place of the one that was known, and then where all agents are followed ``agent`` is ``None``.
    """

    agent: str | None


Push: TypeAlias = EventPush | DraftPush | ResetPush

_SHAPES: dict[str, type[Push]] = {"event": EventPush, "draft": DraftPush, "reset": ResetPush}


def read_push(method: str, params: dict[str, Any]) -> Push | None:
    """Read a push; ``None``: it is about the subscription, or newer than we are."""
    shape = _SHAPES.get(method)
    if shape is None:
        return None
    return shape(**{field: params[field] for field in shape._fields if field in params})
