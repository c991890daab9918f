"""A stage: the events that commands want to write, laid over a committed state, which it does not change.

Several ``add`` and ``mark`` commands may share one; a command that moves the tip other than forward has its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from reel.base.errors import Conflict, Killed
from reel.base.strict_json import encode
from reel.base.values import new_tuple
from reel.wire.msgpack_codec import packer
from reeld.core.events import (
    TEXT_HEADS,
    Event,
    Origin,
    Pack,
    Tools,
    pack_message,
    text_message,
    with_origin,
)
from reeld.core.open_calls import OpenCalls
from reeld.core.rows import CheckedRow
from reeld.core.state import Profile, State, info
from reeld.core.superseding import LookBack, has_results
from reeld.core.tree import NODE_KINDS
from reeld.core.undo import UNDOABLE_KINDS

Reply: TypeAlias = dict[str, Any]
# The kind of a row, one of ``TEXT_HEADS``, and its content.
PlainText: TypeAlias = tuple[str, str]
_pack = packer()
# The constant parts of the reply to an `add`, as MessagePack; see `add_packed`.
_BEFORE_AGENT = b"\x87" + _pack("agent")
_BEFORE_HEAD, _BEFORE_COMMAND, _BEFORE_TIME, _BEFORE_FIRST = map(_pack, ("head", "command", "time", "first"))
_NOTHING_OPEN = b"".join(map(_pack, ("orphans", [], "open_calls", [])))


class NotInMemory(Exception):
    """Something has to be looked for in the log, so that the command cannot be staged among others."""


class Stage:
    """The events of one transaction, over a state.

    Args:
        state: the committed state.
        now: milliseconds since the epoch, UTC.
        pack: encodes a message for the wire.
    """

    __slots__ = (
        *("_open_calls", "_packed", "_state", "_tip", "base", "client", "events", "head", "looked_up", "now", "pack"),
        "refs",
    )

    def __init__(self, state: State, now: int, pack: Pack) -> None:
        self._state = state
        self._tip = state.conversation.tip
        self._open_calls: OpenCalls | None = None
        # The profile except for its head and time, which change with every event.
        self.base = state.profile
        self.head = state.profile.head
        self.now = now
        self.pack = pack
        # The agent's id and the time as MessagePack, for replies and messages.
        self._packed = pack(self.base.uid), pack(now)
        self.client: str | None = None
        self.events: list[Event] = []
        # The references that were looked for in the log: none was there, and they are staged, or were refused.
        self.refs: set[str] = set()
        # How many references and values were looked for.
        self.looked_up = 0

    @property
    def profile(self) -> Profile:
        """The profile as it will be."""
        if not self.events:
            return self.base
        row, uid, name, title, tags, source, created, _, killed, _ = self.base
        return new_tuple(Profile, (row, uid, name, title, tags, source, created, self._updated(), killed, self.head))

    def _updated(self) -> int:
        """Return when the agent was used last."""
        for event in reversed(self.events):
            if event.kind in UNDOABLE_KINDS:
                return used_at(event, self._state)
        return used_at(self.events[-1], self._state)

    @property
    def next_seq(self) -> int:
        """The seq that the next event gets."""
        return self.head + 1

    @property
    def open_calls(self) -> OpenCalls:
        """The open calls as they will be; callers must not change them."""
        return self._state.conversation.open_calls if self._open_calls is None else self._open_calls

    def require_head(self, if_seq: int | None) -> None:
        """Refuse a command that expects another head.

        Raises:
            Conflict: the conversation has moved on since the client read it.
        """
        if if_seq is not None and if_seq != self.head:
            raise Conflict(
                f"agent {self.base.name} is at #{self.head}, not at #{if_seq}; read the events in between and retry",
                head=self.head,
            )

    def require_alive(self) -> None:
        """Refuse a command on a killed agent."""
        if not self.base.alive:
            raise Killed(f"agent {self.base.name} is killed; revive it, or clone it", agent=self.base.name)

    def marked(self, rows: list[CheckedRow]) -> list[CheckedRow]:
        """Return rows that go forward from the tip, with their marks; see :mod:`reeld.core.superseding`.

        Raises:
            NotInMemory: a call has to be looked for in the log.
        """
        if not has_results(rows):
            return rows
        conversation = self._state.conversation
        look = LookBack.over(rows, reversed(self.events), conversation, conversation.tip)
        if look.base is not None:
            raise NotInMemory
        return look.marked()

    def note_tools(self, seq: int, tools: Tools) -> list[dict[str, Any]]:
        """Track the calls and results of a message; return the results that answer no call."""
        if self._open_calls is None:
            self._open_calls = self._state.conversation.open_calls.copy()
        answered = self._open_calls.take(seq, tools)
        return [
            {"id": call_id, "seq": seq} for call_id, call in zip(tools.results, answered, strict=True) if call is None
        ]

    def put(
        self,
        kind: str,
        command: int,
        content: str | None = None,
        data: dict[str, Any] | None = None,
        parent: int | None = None,
        origin: Origin | None = None,
    ) -> int:
        """Put an event that moves the tip to ``parent``; return its seq."""
        self.head += 1
        data_json = None if data is None else encode(data)
        values = (self.head, command, kind, content, data_json, parent, self.now, self.client, None, None, origin)
        self.events.append(new_tuple(Event, values))
        self._tip = parent
        return self.head

    def put_inert(
        self, kind: str, command: int, data: dict[str, Any] | None = None, origin: Origin | None = None
    ) -> int:
        """Put an event that changes nothing of the conversation."""
        return self.put(kind, command, None, data, self._tip, origin)

    def put_rewind(self, data: dict[str, Any], tip: int | None, open_calls: OpenCalls) -> int:
        """Put an event that goes back to a tip, at which these calls are open; return its seq."""
        self._open_calls = open_calls.copy()
        return self.put("rewind", self.next_seq, data=data, parent=tip)

    def put_mark(self, command: int, label: str | None, origin: Origin | None = None) -> int:
        """Put a mark on the tip."""
        seq = self.put("mark", command, data={"label": label}, parent=self._tip, origin=origin)
        self._tip = -len(self.events)
        return seq

    def put_rows(self, command: int, rows: Iterable[CheckedRow]) -> list[dict[str, Any]]:
        """Put checked rows, of which the nodes become the tip; return the results among them that answer no call."""
        orphans: list[dict[str, Any]] = []
        pack, events, now, client, packed_time = self.pack, self.events, self.now, self.client, self._packed[1]
        tip, seq = self._tip, self.head
        for row, parts in rows:
            kind, content, data_json, origin = row
            seq += 1
            message: bytes | None
            tools = None
            if data_json is None and content is not None and kind in TEXT_HEADS:
                message = text_message(pack, TEXT_HEADS[kind], content, seq, packed_time)
                if origin is not None:
                    message = with_origin(pack, message, origin)
            else:
                message, tools = pack_message(pack, parts, seq, now, origin)
                if tools is not None:
                    orphans += self.note_tools(seq, tools)
            values = (seq, command, kind, content, data_json, tip, now, client, message, tools, origin)
            events.append(new_tuple(Event, values))
            if kind in NODE_KINDS:
                tip = -len(events)
        self.head, self._tip = seq, tip
        return orphans

    def put_texts(self, texts: Sequence[PlainText]) -> list[bytes]:
        """Put plain texts, each as its own command; return the replies, as :meth:`packed_added` does.

        What :meth:`put_rows` computes for each text is computed once here.
        """
        pack, events, now, client, tip, seq = self.pack, self.events, self.now, self.client, self._tip, self.head
        uid, time = self._packed
        before, between = _BEFORE_AGENT + uid + _BEFORE_HEAD, _BEFORE_TIME + time + _BEFORE_FIRST
        replies: list[bytes] = []
        for kind, content in texts:
            seq += 1
            packed = pack(seq)
            message = b"".join((TEXT_HEADS[kind], time, packed, pack(content)))
            events.append(new_tuple(Event, (seq, seq, kind, content, None, tip, now, client, message, None, None)))
            tip = -len(events)
            replies.append(b"".join((before, packed, _BEFORE_COMMAND, packed, between, packed, _NOTHING_OPEN)))
        self.head, self._tip = seq, tip
        return replies

    def packed_added(self, first: int) -> bytes:
        """Return the packed reply of a command that added rows, without any open call or orphaned result."""
        uid, time = self._packed
        packed_first = self.pack(first)
        head = packed_first if first == self.head else self.pack(self.head)
        return b"".join(
            (
                *(_BEFORE_AGENT, uid, _BEFORE_HEAD, head, _BEFORE_COMMAND, packed_first, _BEFORE_TIME, time),
                *(_BEFORE_FIRST, packed_first, _NOTHING_OPEN),
            )
        )

    def reply(self, command: int, **more: Any) -> Reply:
        """Return the reply of a command: the common fields, and those that it adds."""
        return {"agent": self.base.uid, "head": self.head, "command": command, "time": self.now, **more}

    def info(self, command: int | None = None) -> Reply:
        """Describe the agent as it will be; without a command, nothing was written."""
        shown = info(self.profile, self._state.conversation)
        return shown if command is None else {**shown, "command": command, "time": self.now}


def used_at(event: Event, before: State) -> int:
    """Return when an agent was used last, after an event.

    A message with an original time does not make an old conversation recent; nor does an event after it that leaves the
    conversation unchanged: a title, a tag, a note. Nor does an erasure, which the daemon may do by itself.

    Args:
        event: the event.
        before: the state before it.
    """
    if event.kind in UNDOABLE_KINDS:
        return event.time if event.origin is None or event.origin.sent is None else event.origin.sent
    if event.kind == "redacted":
        return before.profile.updated
    return event.time if before.conversation.sent is None else before.profile.updated
