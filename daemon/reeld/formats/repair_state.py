"""What repair knows of the rounds that are settled: enough to repair the next one as if all were repaired at once."""

from typing import NamedTuple

from reeld.formats.ids import sent_id
from reeld.formats.model import Call, Piece
from reeld.formats.names import sent_name


class Saved(NamedTuple):
    """Where a memory stood."""

    used: int
    left: dict[str, tuple[Call, ...]]
    pending: tuple[Call, ...]
    loop: tuple[bool, bool] | None


class Memory:
    """The calls that were made so far.

    ``used`` are the ids that were sent, of calls and of whole blocks, ``pending`` the calls of the newest round,
    ``left`` the calls that were closed
    by a made-up result (by the id that they were given), ``names`` the tools that are sent under another name (sent:
    given), ``loop`` whether the first and the last step of the tool loop so far begin with thinking (``None``: the
    user spoke last, or nobody).
    """

    __slots__ = ("left", "loop", "names", "pending", "used")

    def __init__(self) -> None:
        self.used: dict[str, None] = {}
        self.left: dict[str, tuple[Call, ...]] = {}
        self.pending: tuple[Call, ...] = ()
        self.names: dict[str, str] = {}
        self.loop: tuple[bool, bool] | None = None

    def save(self) -> Saved:
        """Note where it stands."""
        return Saved(len(self.used), dict(self.left), self.pending, self.loop)

    def restore(self, saved: Saved) -> None:
        """Go back to where it stood; names stay, for what they stand for never changes."""
        while len(self.used) > saved.used:
            self.used.popitem()
        self.left, self.pending, self.loop = dict(saved.left), saved.pending, saved.loop

    def open_calls(self) -> list[Call]:
        """Give the calls without a result, in the order in which they were made."""
        left = [call for calls in self.left.values() for call in calls]
        return sorted([*left, *self.pending], key=lambda call: call.seq)

    def call(self, piece: Piece) -> Call:
        """Give a call the id and the name that it is sent with."""
        given, given_name = piece.block["id"], piece.block["name"]
        seq: int = piece.message["seq"]
        call_id, name = sent_id(given, self.used, seq, piece.index), sent_name(given_name)
        self.used[call_id] = None
        if name != given_name:
            self.names[name] = given_name
        return Call(call_id, name, given, given_name, seq, piece.block.get("provider_metadata") or {})

    def leave(self, call: Call) -> None:
        """Note that a call was closed without a result of its own."""
        self.left[call.given] = (*self.left.get(call.given, ()), call)

    def take_late(self, given: str) -> Call | None:
        """Take the newest such call that a late result answers; ``None``: it answers none."""
        calls = self.left.pop(given, ())
        if len(calls) > 1:
            self.left[given] = calls[:-1]
        return calls[-1] if calls else None
