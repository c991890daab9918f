"""The state between two repairs: enough to repair the next exchange as if the whole history were repaired at once."""

from collections.abc import Callable, Iterable, Mapping

from reel.base.light_typing import NamedTuple
from reel.base.values import new_tuple
from reeld.core.open_calls import OpenCall
from reeld.formats.format import LoopThinking
from reeld.formats.model import Piece, ToolCall
from reeld.formats.naming import sent_id, sent_name


class SavedState(NamedTuple):
    """A snapshot of a repair state. It holds only the number of ids, because ids are never removed."""

    used_ids: int
    answered: int
    abandoned: dict[str, tuple[ToolCall, ...]]
    told: dict[str, tuple[ToolCall, ...]]
    pending: tuple[ToolCall, ...]
    loop: LoopThinking | None


class RepairState:
    """The state of repair after some exchanges.

    Attributes:
        used_ids: the ids that were sent, of calls and of opaque items. A dict, because :meth:`restore` removes the
            newest.
        answered: the names of the tools of all calls that were closed, by the ids that they were given; of an id that
            came again, the first.
        abandoned: the calls that a synthesized result closed, by the id that they were given.
        told: the calls that were sent as text and have no result yet, by the id that they were given.
        pending: the calls of the newest assistant turn, which the next user turn answers.
        tool_names: the tools that are sent under another name; the keys are the names that are sent.
        loop: the tool loop so far; ``None`` if the user spoke last, or there are no messages.
        waiting: the keys of the calls of a server's tools whose results come after the exchanges that it covers.
    """

    __slots__ = ("abandoned", "answered", "loop", "pending", "told", "tool_names", "used_ids", "waiting")

    def __init__(self) -> None:
        self.used_ids: dict[str, None] = {}
        self.answered: dict[str, str] = {}
        self.abandoned: dict[str, tuple[ToolCall, ...]] = {}
        self.told: dict[str, tuple[ToolCall, ...]] = {}
        self.pending: tuple[ToolCall, ...] = ()
        self.tool_names: dict[str, str] = {}
        self.loop: LoopThinking | None = None
        self.waiting: tuple[str, ...] = ()

    def begin_after(self, calls: Iterable[OpenCall], tools: frozenset[str] | None) -> None:
        """Begin after messages that are not looked at, whose calls without a result are known.

        Args:
            calls: these calls.
            tools: the tools whose calls are sent as calls; ``None`` for all.
        """
        for call_id, name, seq, _ in calls:
            call = ToolCall(call_id, name, call_id, name, seq, {})
            _put(self.abandoned if tools is None or name in tools else self.told, call)

    def save(self) -> SavedState:
        """Return a snapshot for :meth:`restore`."""
        return SavedState(
            len(self.used_ids), len(self.answered), dict(self.abandoned), dict(self.told), self.pending, self.loop
        )

    def restore(self, saved: SavedState) -> None:
        """Return to an earlier state. Tool names are kept, because their meaning never changes."""
        while len(self.used_ids) > saved.used_ids:
            self.used_ids.popitem()
        while len(self.answered) > saved.answered:
            self.answered.popitem()
        self.abandoned, self.told = dict(saved.abandoned), dict(saved.told)
        self.pending, self.loop = saved.pending, saved.loop

    def open_calls(self) -> list[ToolCall]:
        """Return the calls without a result, in the order in which they were made."""
        abandoned = [call for calls in self.abandoned.values() for call in calls]
        return sorted([*abandoned, *self.pending], key=lambda call: call.seq)

    def add_call(self, piece: Piece, make_id: Callable[[str, Mapping[str, None], int, int], str] = sent_id) -> ToolCall:
        """Return a call with the id and the name under which it is sent.

        Args:
            piece: the call.
            make_id: returns the id, as ``sent_id`` of a :class:`~reeld.formats.format.Format`.
        """
        message, _, index, block = piece
        given_id, given_name, seq = block["id"], block["name"], message["seq"]
        call_id, name = make_id(given_id, self.used_ids, seq, index), sent_name(given_name)
        self.used_ids[call_id] = None
        if name != given_name:
            self.tool_names[name] = given_name
        metadata = block.get("provider_metadata") or {}
        return new_tuple(ToolCall, (call_id, name, given_id, given_name, seq, metadata))

    def abandon(self, call: ToolCall) -> None:
        """Record that a call was closed without its own result."""
        _put(self.abandoned, call)

    def pop_abandoned(self, given_id: str) -> ToolCall | None:
        """Remove and return the newest abandoned call that a late result answers; ``None`` if it answers none."""
        return _pop(self.abandoned, given_id)

    def tell(self, piece: Piece) -> ToolCall:
        """Record that a call is sent as text, and return it in its original form."""
        given_id, name = piece.block["id"], piece.block["name"]
        call = ToolCall(given_id, name, given_id, name, piece.message["seq"], {})
        _put(self.told, call)
        return call

    def pop_told(self, given_id: str) -> ToolCall | None:
        """Remove and return the newest call that was sent as text and that a result answers."""
        return _pop(self.told, given_id)


def _put(calls: dict[str, tuple[ToolCall, ...]], call: ToolCall) -> None:
    calls[call.given_id] = (*calls.get(call.given_id, ()), call)


def _pop(calls: dict[str, tuple[ToolCall, ...]], given_id: str) -> ToolCall | None:
    found = calls.pop(given_id, ())
    if len(found) > 1:
        calls[given_id] = found[:-1]
    return found[-1] if found else None
