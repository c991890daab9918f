"""Answers that grow on the screen: the end of what others are writing, until it is added."""

from collections.abc import Callable, Iterator

from reel.cli.output import Span
from reel.cli.terminal import flat, wrap
from reel.pushes import DraftPush

_MARGIN = "  "
# Lines of the screen that drafts leave free: the line before them, and the cursor's.
_FREE = 2


class LiveDrafts:
    """The drafts that are being written, each with the name of its client.

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
        """Forget all drafts: the daemon has gone, and sends those that are still being written again."""
        self._drafts.clear()

    def lines(self, width: int, height: int) -> list[Span]:
        """Return what to show on a screen: the end of each draft that has room."""
        room = max((height - _FREE) // max(len(self._drafts), 1), 2)
        shown = [line for draft in self._drafts.values() for line in self._layout(draft, width, room - 1)]
        return shown[: max(height - _FREE, 1)]

    def _layout(self, draft: DraftPush, width: int, room: int) -> Iterator[Span]:
        agent = f" to {self._name_of(draft.agent)}" if self._name_of else ""
        yield f"{flat(draft.client or 'somebody')} writes{agent} …", "assistant"
        # What cannot be seen is not laid out: drafts may be long, and come thirty times a second.
        end = draft.text[-room * width :].rstrip("\r\n")
        for line in list(wrap(end, width - len(_MARGIN) - 1))[-room:]:
            yield f"{_MARGIN}{line}"
