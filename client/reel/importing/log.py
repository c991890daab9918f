"""What is known of an agent's log: which messages of a source it has, and how its conversation branches."""

from collections.abc import Iterable
from typing import Any

from reel.kinds import is_conversation_kind
from reel.strict_json import Json, encode, parse

# Events that change a conversation without being a part of it. A clone's first event is one of them.
_MOVES = frozenset({"clear", "rewind", "restore", "clone"})
_MARK = "mark"


class Log:
    """The messages of a log by the source's ids, and the tree that they make.

    A place in the tree is the seq of a message; ``None`` is the beginning.
    """

    def __init__(self) -> None:
        self.refs: dict[str, int] = {}
        self.head = 0
        # The last message of the conversation.
        self.tip: int | None = None
        # Whether somebody else than the importer changed the conversation.
        self.changed = False
        self._before: dict[int, int | None] = {}
        self._marks: set[int] = set()
        # For each message, the command that added it; and for each command, the last message after it.
        self._commands: dict[int, int] = {}
        self._ends: dict[int, int | None] = {}

    def read(self, events: Iterable[Any], client: str) -> None:
        """Take the events of a log, in their order.

        Args:
            events: the events, those of what the agent was cloned from included.
            client: the name of the importer, which is stored with its events.
        """
        for event in events:
            seq, kind = event["seq"], event["kind"]
            is_node = is_conversation_kind(kind) or kind == _MARK
            parent = event["parent"]["seq"] if event["parent"] else None
            if ref := ref_in(event):
                self.refs[ref] = seq
            if is_node:
                self._before[seq] = parent
                self._commands[seq] = event["command"]
            if kind == _MARK:
                self._marks.add(seq)
            if (is_node or kind in _MOVES) and event["client"] != client:
                self.changed = True
            self.head, self.tip = seq, seq if is_node else parent
            self._ends[event["command"]] = self.tip

    def add(self, seq: int, command: int, ref: str, *, is_message: bool) -> None:
        """Note an event that was added at the tip."""
        self.head = seq
        self.refs[ref] = seq
        if is_message:
            self._before[seq] = self.tip
            self._commands[seq] = command
            self.tip = seq
        self._ends[command] = self.tip

    def go_to(self, place: int | None, command: int) -> None:
        """Note an event that made another place the tip."""
        self.head, self.tip = command, place
        self._ends[command] = place

    def after(self, place: int | None) -> int | None:
        """Return the first message after a place on the way to the tip; ``None`` if the tip is not behind the place."""
        seq, found = self.tip, None
        while seq != place:
            if seq is None:
                return None
            found = found if seq in self._marks else seq
            seq = self._before.get(seq)
        return found

    def end_of(self, place: int) -> int | None:
        """Return the last message of the conversation after the command that added a message."""
        return self._ends[self._commands[place]]


def with_origin(element: Json, ref: str, sent: int | None) -> Json:
    """Return a message or a record with the source's id of it, and the time when it was said."""
    if "kind" in element:
        return {**element, "data_json": encode({**parse(element["data_json"]), "ref": ref, "sent": sent})}
    return {**element, "provider_metadata": {**element.get("provider_metadata", {}), "ref": ref, "sent": sent}}


def ref_in(event: Any) -> str:
    """Return the source's id of an event; empty if it has none."""
    data = parse(event["data_json"] or "{}")
    return (data.get("provider_metadata") or data).get("ref") or ""
