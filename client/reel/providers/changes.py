"""The lines of a report: what could not be kept unchanged."""

from typing import Literal, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json

Action: TypeAlias = Literal["dropped", "synthesized", "merged", "moved", "renamed", "downgraded", "prefix_changed"]


class Change(NamedTuple):
    """One line of a report: something that could not be kept unchanged.

    Args:
        seq: the message concerned, or ``None``.
        block: the number of the block in that message, from 0; ``None`` for the whole message.
        action: the action taken.
        why: the reason, as a sentence without its full stop.
    """

    seq: int | None
    block: int | None
    action: Action
    why: str

    def as_map(self) -> Json:
        """Return the form that goes over the wire."""
        return self._asdict()
