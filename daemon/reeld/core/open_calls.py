"""The tool calls of a conversation that wait for their results."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reeld.core.events import Tools


class OpenCall(NamedTuple):
    """A tool call that waits for its result."""

    id: str
    name: str
    seq: int
    # Its index among the calls of its message.
    number: int

    def as_map(self) -> dict[str, Any]:
        """Return it in the form of the protocol."""
        return {"id": self.id, "name": self.name, "seq": self.seq}


class OpenCalls:
    """The calls without a result, in their order.

    A result answers the newest open call with its id: an older one with the same id was abandoned by an interruption.

    Args:
        calls: the calls that are open, in their order.
    """

    __slots__ = ("_by_id",)

    def __init__(self, calls: Iterable[OpenCall] = ()) -> None:
        self._by_id: dict[str, tuple[OpenCall, ...]] = {}
        for call in calls:
            self.open(call)

    def copy(self) -> "OpenCalls":
        """Return a copy that can be changed independently."""
        twin = OpenCalls()
        twin._by_id = dict(self._by_id)
        return twin

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def __iter__(self) -> Iterator[OpenCall]:
        calls = [call for waiting in self._by_id.values() for call in waiting]
        return iter(sorted(calls, key=lambda call: (call.seq, call.number)))

    def open(self, call: OpenCall) -> None:
        """Add a call."""
        self._by_id[call.id] = (*self._by_id.get(call.id, ()), call)

    def close(self, call_id: str) -> OpenCall | None:
        """Remove and return the call that a result answers; ``None`` if it answers none."""
        waiting = self._by_id.pop(call_id, None)
        if waiting is None:
            return None
        if len(waiting) > 1:
            self._by_id[call_id] = waiting[:-1]
        return waiting[-1]

    def take(self, seq: int, tools: Tools) -> list[OpenCall | None]:
        """Add the calls of a message, and remove those that it answers; return the call that each result answered."""
        for number, (call_id, name) in enumerate(tools.calls):
            self.open(OpenCall(call_id, name, seq, number))
        return [self.close(call_id) for call_id in tools.results]

    def withdraw(self, tools: Tools | None, answered: Sequence[OpenCall | None]) -> None:
        """Undo what :meth:`take` did with the newest message.

        Args:
            tools: the calls and results of the message.
            answered: what each of its results answered.
        """
        for call in reversed(answered):
            if call is not None:
                self.open(call)
        for call_id, _ in tools.calls if tools is not None else ():
            self.close(call_id)
