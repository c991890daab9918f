"""What others are writing, growing at the end of the screen. No I/O."""

from collections.abc import Callable, Iterator

from reel.cli.screen.output import Span
from reel.reading.wording import wrap, writing
from reel.wire.pushes import DraftPush

# The prefix of each line of a draft.
_MARGIN = "  "
# Lines of the screen that drafts leave free: the line before them, and the cursor's.
_FREE = 2


class LiveDrafts:
    """Drafts that grow on the screen: the end of what others are writing, until it is added.

    Args:
        name_of: returns the name of the agent with an id; ``None`` if only one is followed.
    """

    def __init__(self, name_of: Callable[[str], str] | None) -> None:
        self._name_of = name_of
        self._drafts: dict[tuple[str, int], DraftPush] = {}

    def update(self, push: DraftPush) -> None:
        """Replace a draft; an empty one has ended."""
        key = (push.agent, push.connection)
        if push.text:
            self._drafts[key] = push
        else:
            self._drafts.pop(key, None)

    def clear(self) -> None:
        """Forget all drafts: the connection was lost, and the daemon sends the current ones again."""
        self._drafts.clear()

    def lines(self, width: int, height: int) -> list[Span]:
        """Return what to show on a screen: the end of each draft that has room."""
        room = max((height - _FREE) // max(len(self._drafts), 1), 2)
        shown = [line for draft in self._drafts.values() for line in self._layout(draft, width, room - 1)]
        return shown[: max(height - _FREE, 1)]

    def _layout(self, draft: DraftPush, width: int, room: int) -> Iterator[Span]:
        who = self._name_of(draft.agent) if self._name_of else "assistant"
        yield f"{who} · {writing(draft.client)}", "assistant"
        # Only the visible part is laid out: drafts may be long, and arrive thirty times a second.
        end = draft.text[-room * width :].rstrip("\r\n")
        for line in list(wrap(end, width - len(_MARGIN) - 1))[-room:]:
            yield f"{_MARGIN}{line}"
