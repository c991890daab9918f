"""What rendering or loading did to a history: one line for everything that could not stay as it was."""

from typing import Any, Literal, NamedTuple, TypeAlias

Action: TypeAlias = Literal["dropped", "synthesized", "merged", "moved", "renamed", "downgraded", "prefix_changed"]


class Change(NamedTuple):
    """One thing that is not rendered as it is stored.

    Args:
        seq: the message that it is about, or null where there is none.
        block: the number of the block in that message, from 0; null where it is about all of it.
        action: what was done.
        why: what made it necessary, as a sentence without its full stop.
    """

    seq: int | None
    block: int | None
    action: Action
    why: str

    def as_map(self) -> dict[str, Any]:
        """Give what the wire shows of it."""
        return self._asdict()
