"""The log as people read it: one line per event."""

from collections.abc import Callable

from reel.cli.screen.output import Line
from reel.reading.gist import gist
from reel.reading.wording import cut
from reel.said.messages import Event

# How much of an event's content is shown if there is no terminal to set the limit.
_GIST = 200
_KIND = 12
# What people read in place of the protocol's word.
_KINDS = {"agent_killed": "killed"}
_STYLES = {"system": "system", "user": "user", "assistant": "assistant", "tool_call": "call", "tool_result": "result"}


class EventLines:
    """Lays out events.

    Args:
        width: how many columns there are; ``None`` if there is no terminal.
        clock: formats a time.
        name_of: returns the name of the agent with an id.
    """

    def __init__(self, width: int | None, clock: Callable[[int], str], name_of: Callable[[str], str]) -> None:
        self._width = width
        self._clock = clock
        self._name_of = name_of

    def layout(self, event: Event, margin: int = 0) -> Line:
        """Lay out an event: seq, time, kind and the beginning of its content; a margin is left free."""
        kind, seq = _KINDS.get(event["kind"], event["kind"]), f"#{event['seq']}"
        head = f"{seq:>6}  {self._clock(event.get('sent', event['time']))}  "
        taken = margin + len(head) + max(_KIND, len(kind)) + 2
        room = _GIST if self._width is None else max(self._width - taken, 1)
        return [
            (head, "dim"),
            (f"{kind:<{_KIND}}", _STYLES.get(kind, "bold")),
            "  ",
            cut(gist(event, self._name_of), room),
        ]
