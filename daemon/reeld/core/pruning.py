"""What becomes of an event that is pruned: its place in the log stays, and what it said is gone.

Nothing that can still be reached has it. A state is a path, and of a path that is left only its beginning can still be
reached: so the last event of a state says whether the state was pruned.
"""

import re
from typing import Any

from reel.base.strict_json import encode
from reeld.core.redaction import Redacted, Redaction

_MARKER = re.compile(r"\[pruned [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} UTC\]")


class Pruning(Redaction):
    """Removes all that events say.

    Args:
        about: when, for the marker.
    """

    def __init__(self, about: str) -> None:
        super().__init__(about, b"", word="pruned")

    def event(
        self, kind: str, content: str | None, data_json: str | None, ref: str | None = None, name: str = ""
    ) -> Redacted | None:
        """Return what an event becomes; ``None`` if nothing of it is removed. A value keeps its key."""
        if says_nothing(kind, content):
            return None
        if kind == "state":
            made = Redacted(content, encode({"value": self.marker}), ref, is_restructured=False)
            return None if made.data_json == data_json or data_json is None else made
        return super().event(kind, content, data_json, ref, name)

    def _core(self, block: dict[str, Any]) -> dict[str, Any]:
        # Whatever a message has, there is a marker in what becomes of it.
        return super()._core({**block, "content": " "} if block["type"] == "tool_result" else block)

    def text(self, text: str) -> str:  # noqa: ARG002 - whatever it was
        """Return the marker: even an empty message says that it was pruned."""
        return self.marker


def marker_of(kind: str, content: str | None, data_json: str | None) -> str | None:
    """Return the marker of an event that is as a prune leaves it; ``None`` if it is not."""
    found = _MARKER.search(content or "") or _MARKER.search(data_json or "")
    if found is None:
        return None
    pruning = Pruning(found[0].removeprefix("[pruned ").removesuffix("]"))
    return found[0] if pruning.event(kind, content, data_json) is None else None


def says_nothing(kind: str, content: str | None) -> bool:
    """Whether an event of a conversation has nothing that could be pruned: a mark, or the removal of a prompt."""
    return kind == "mark" or (kind == "system" and not content)
