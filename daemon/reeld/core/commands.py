"""What each command writes: functions that put events on a stage, or refuse and put nothing.

A stage is a unit of work over a committed state, which it does not change. Several ``add`` and ``mark`` commands may
share one; a command that moves the tip other than forward has its own.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from reel.errors import Conflict, InvalidParams, Killed, NoSuchMark, NotFound
from reel.msgpack_codec import packer
from reel.strict_json import encode
from reeld.core.conversation import Replacement, Takeover
from reeld.core.events import (
    BEFORE_SEQ,
    BEFORE_TIME,
    TEXT_HEADS,
    Event,
    Mark,
    Origin,
    Pack,
    Tools,
    pack_message,
    text_message,
    with_origin,
)
from reeld.core.milestones import Extent
from reeld.core.open_calls import OpenCalls
from reeld.core.state import Profile, State, info
from reeld.core.tree import is_node
from reeld.core.undo import UNDOABLE_KINDS
from reeld.core.validation import UNALTERED, Altered, CheckedRow, Row

Reply: TypeAlias = dict[str, Any]
# The kind of a row, one of ``TEXT_HEADS``, and its content.
PlainText: TypeAlias = tuple[str, str]
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__
_pack = packer()
# The constant parts of the reply to an `add`, as MessagePack; see `add_packed`.
_BEFORE_AGENT = b"\x87" + _pack("agent")
_BEFORE_HEAD, _BEFORE_COMMAND, _BEFORE_FIRST = map(_pack, ("head", "command", "first"))
_NOTHING_OPEN = b"".join(map(_pack, ("orphans", [], "open_calls", [])))


class Stage:
    """The events of one transaction, over a state.

    Args:
        state: the committed state.
        now: milliseconds since the epoch, UTC.
        pack: encodes a message for the wire.
    """

    __slots__ = ("_open_calls", "_packed", "_state", "_tip", "base", "client", "events", "head", "now", "pack")

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

    @property
    def profile(self) -> Profile:
        """The profile as it will be."""
        if not self.events:
            return self.base
        row, uid, name, title, tags, source, created, _, killed, _ = self.base
        return _new(Profile, (row, uid, name, title, tags, source, created, self._updated(), killed, self.head))

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
    ) -> int:
        """Put an event that moves the tip to ``parent``; return its seq."""
        self.head += 1
        data_json = None if data is None else encode(data)
        self.events.append(Event(self.head, command, kind, content, data_json, parent, self.now, self.client))
        self._tip = parent
        return self.head

    def put_inert(self, kind: str, command: int, data: dict[str, Any] | None = None) -> int:
        """Put an event that changes nothing of the conversation."""
        return self.put(kind, command, None, data, self._tip)

    def put_rewind(self, data: dict[str, Any], tip: int | None, open_calls: OpenCalls) -> int:
        """Put an event that goes back to a tip, at which these calls are open; return its seq."""
        self._open_calls = open_calls.copy()
        return self.put("rewind", self.next_seq, data=data, parent=tip)

    def put_mark(self, command: int, label: str | None) -> int:
        """Put a mark on the tip."""
        seq = self.put("mark", command, data={"label": label}, parent=self._tip)
        self._tip = ~(len(self.events) - 1)
        return seq

    def put_row(self, command: int, row: Row, message: bytes | None = None, tools: Tools | None = None) -> None:
        """Put a checked row; if it is a node, it becomes the tip."""
        self.head += 1
        events = self.events
        kind, content, data_json, origin = row
        values = (command, kind, content, data_json, self._tip, self.now, self.client, message, tools, origin)
        events.append(Event(self.head, *values))
        if is_node(kind):
            self._tip = ~(len(events) - 1)

    def put_text(self, command: int, kind: str, content: str, origin: Origin | None = None) -> None:
        """Put a plain text of a kind in ``TEXT_HEADS``: the fast path of :meth:`put_row`."""
        events = self.events
        self.head = seq = self.head + 1
        message = text_message(self.pack, TEXT_HEADS[kind], content, seq, self._packed[1])
        if origin is not None:
            message = with_origin(self.pack, message, origin)
        values = (seq, command, kind, content, None, self._tip, self.now, self.client, message, None, origin)
        events.append(_new(Event, values))
        self._tip = -len(events)

    def put_rows(self, command: int, rows: list[CheckedRow]) -> list[dict[str, Any]]:
        """Put checked rows; return the results among them that answer no call."""
        orphans: list[dict[str, Any]] = []
        for row, parts in rows:
            kind, content, data_json, origin = row
            if data_json is None and content is not None and kind in TEXT_HEADS:
                self.put_text(command, kind, content, origin)
                continue
            seq = self.head + 1
            packed, tools = pack_message(self.pack, parts, data_json, seq, self.now, origin)
            if tools is not None:
                orphans += self.note_tools(seq, tools)
            self.put_row(command, row, packed, tools)
        return orphans

    def put_texts(self, texts: Sequence[PlainText]) -> list[bytes]:
        """Put plain texts, each as its own command; return the replies, as :meth:`packed_added` does.

        What :meth:`put_text` computes for each text is computed once here.
        """
        pack, events, now, client, tip, seq = self.pack, self.events, self.now, self.client, self._tip, self.head
        uid, time = self._packed
        message_time = BEFORE_TIME + time
        before, between = _BEFORE_AGENT + uid + _BEFORE_HEAD, BEFORE_TIME + time + _BEFORE_FIRST
        replies: list[bytes] = []
        for kind, content in texts:
            seq += 1
            packed = pack(seq)
            message = b"".join((TEXT_HEADS[kind], pack(content), BEFORE_SEQ, packed, message_time))
            events.append(_new(Event, (seq, seq, kind, content, None, tip, now, client, message, None, None)))
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
                *(_BEFORE_AGENT, uid, _BEFORE_HEAD, head, _BEFORE_COMMAND, packed_first, BEFORE_TIME, time),
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


def add(stage: Stage, rows: list[CheckedRow], altered: Altered = UNALTERED, command: int | None = None) -> Reply:
    """Put checked rows; ``command`` is the seq of the command that they belong to, if it has begun already."""
    stage.require_alive()
    first = stage.next_seq
    command = first if command is None else command
    orphans = stage.put_rows(command, rows)
    return _added(stage, command, first if rows else 0, orphans, altered)


def replace(
    stage: Stage,
    state: State,
    seq: int,
    tip: int | None,
    past: Takeover,
    rows: list[CheckedRow],
    altered: Altered = UNALTERED,
) -> Reply:
    """Rewind to before an entry, and put checked rows there; there may be none.

    Args:
        stage: the events.
        state: the committed state.
        seq: the entry's.
        tip: the tip of the state before it.
        past: how that state is taken over.
        rows: the rows.
        altered: how much of them was altered.
    """
    stage.require_alive()
    was, conversation = stage.head, state.conversation
    if isinstance(past, Replacement):
        kept, calls = past.kept, past.conversation.open_calls
    else:
        kept, calls = conversation.extent_at(tip), conversation.open_calls_at(tip)
    command = stage.put_rewind({"before": seq}, tip, calls)
    dropped = conversation.extent.records - kept.records
    return {**add(stage, rows, altered, command), "dropped": dropped, "was": was}


def with_known(reply: Reply, known: list[dict[str, int]], *, wrote: bool) -> Reply:
    """Return the reply of an add that left out known rows; if it wrote nothing, it has no command."""
    told = {name: value for name, value in reply.items() if wrote or name not in ("command", "time")}
    return {**told, "known": known} if known else told


def not_live(state: State, seq: int) -> InvalidParams:
    """Return the error for a seq that no entry of the conversation has."""
    name, entries = state.profile.name, state.conversation.entries
    has = f"the newest message or prompt there is {entries[-1].seq}" if entries else "it is empty"
    return InvalidParams(
        f"from: {seq} is not in the current conversation of agent {name}; {has}", field="from", head=state.profile.head
    )


def add_packed(stage: Stage, rows: list[CheckedRow], altered: Altered) -> Reply | bytes:
    """Do what :func:`add` does; return the reply as MessagePack if it has only the usual fields."""
    stage.require_alive()
    first = stage.head + 1
    orphans = stage.put_rows(first, rows)
    if orphans or altered is not UNALTERED or stage.open_calls:
        return _added(stage, first, first, orphans, altered)
    return stage.packed_added(first)


def add_texts(stage: Stage, texts: Sequence[PlainText]) -> Sequence[Reply | bytes]:
    """Add plain texts, as nearly all commands do; return the reply of each command.

    It does what :func:`add_packed` does with each of them by itself.
    """
    stage.require_alive()
    first = stage.head + 1
    replies = stage.put_texts(texts)
    if not stage.open_calls:
        return replies
    calls = [call.as_map() for call in stage.open_calls]
    return [
        {"agent": stage.base.uid, "head": seq, "command": seq, "time": stage.now}
        | {"first": seq, "orphans": [], "open_calls": calls}
        for seq in range(first, stage.head + 1)
    ]


def _added(stage: Stage, command: int, first: int, orphans: list[dict[str, Any]], altered: Altered) -> Reply:
    calls = [call.as_map() for call in stage.open_calls]
    return stage.reply(command, first=first, orphans=orphans, open_calls=calls, **altered.as_map())


def mark(stage: Stage, label: str | None) -> Reply:
    """Put a mark; labels may repeat, and the newest wins."""
    stage.require_alive()
    seq = stage.put_mark(stage.next_seq, label)
    return stage.reply(seq, seq=seq, label=label)


def clear(stage: Stage, state: State) -> Reply:
    """Empty the conversation, and repeat its system prompt."""
    stage.require_alive()
    was, command, prompt = stage.head, stage.next_seq, state.conversation.prompt
    stage.put("clear", command)
    if prompt is not None and state.conversation.system is not None:
        stage.put_row(command, Row("system", prompt.content, prompt.data_json))
    return stage.reply(command, was=was)


def rewind_target(stage: Stage, state: State, label: str | None) -> Mark:
    """Return the mark that a rewind goes to.

    Raises:
        NoSuchMark: there is no such mark; the error lists those that there are.
    """
    stage.require_alive()
    target = state.conversation.mark_for(label)
    if target is None:
        raise no_such_mark(state, label)
    return target


def rewind(stage: Stage, state: State, label: str | None, kept: Extent | None = None) -> Reply:
    """Go back to a mark; ``kept`` is the length of the conversation there, if the mark is not in memory."""
    target = rewind_target(stage, state, label)
    if kept is None:
        kept = state.conversation.extent_at(target.id)
    was, dropped = stage.head, state.conversation.extent.records - kept.records
    data = {"target": target.seq} if label is None else {"label": label, "target": target.seq}
    command = stage.put("rewind", stage.next_seq, data=data, parent=target.id)
    return stage.reply(command, target=target.seq, dropped=dropped, was=was)


def used_at(event: Event, before: State) -> int:
    """Return when an agent was used last, after an event.

    A message with an original time does not make an old conversation recent; nor does an event after it that leaves the
    conversation unchanged: a title, a tag, a note.

    Args:
        event: the event.
        before: the state before it.
    """
    if event.kind in UNDOABLE_KINDS:
        return event.time if event.origin is None or event.origin.sent is None else event.origin.sent
    return event.time if before.conversation.sent is None else before.profile.updated


def no_such_mark(state: State, label: str | None) -> NoSuchMark:
    """Return the error for a mark that does not exist; it lists those that do."""
    name = state.profile.name
    labels = list(dict.fromkeys(mark.label for mark in state.conversation.marks if mark.label is not None))
    if label is None:
        nothing = "nothing was added since the last mark" if state.conversation.marks else f"agent {name} has no marks"
        return NoSuchMark(nothing, labels=labels)
    known = f"it has: {', '.join(labels)}" if labels else "it has no labelled marks"
    return NoSuchMark(f"agent {name} has no mark {label}; {known}", label=label, labels=labels)


def restore(stage: Stage, to: int, tip: int | None, **why: int) -> Reply:
    """Make the state what it was at ``to``, whose tip is given; ``why`` has ``undoes``, or ``redoes`` and ``undo``."""
    stage.require_alive()
    was = stage.head
    command = stage.put("restore", stage.next_seq, data={"to": to, **why}, parent=tip)
    return stage.reply(command, was=was)


def change(stage: Stage, name: str | None, title: str | None, tags: dict[str, str] | None) -> Reply:
    """Change an agent's name, title or tags; an empty title removes it."""
    stage.require_alive()
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = name
    if title is not None:
        changes["title"] = title or None
    if tags is not None:
        changes["tags"] = tags
    if not changes:
        raise InvalidParams("change needs a name, a title or tags")
    command = stage.put_inert("changed", stage.next_seq, changes)
    stage.base = stage.base._replace(**changes)
    return stage.info(command)


def kill(stage: Stage, by: str | None, reason: str | None, *, cascade: bool) -> Reply:
    """Kill an agent."""
    data: dict[str, Any] = {key: value for key, value in (("by", by), ("reason", reason)) if value is not None}
    if cascade:
        data["cascade"] = True
    command = stage.put_inert("agent_killed", stage.next_seq, data or None)
    stage.base = stage.base._replace(killed=stage.now)
    return stage.reply(command)


def revive(stage: Stage) -> Reply:
    """Revive a killed agent; for a live one, nothing is written."""
    if stage.base.alive:
        return stage.info()
    command = stage.put_inert("revived", stage.next_seq)
    stage.base = stage.base._replace(killed=None)
    return stage.info(command)


def create(stage: Stage, system: str | None) -> Reply:
    """Begin a new agent's log; a system prompt is part of its first state."""
    profile = stage.base
    command = stage.put_inert("created", stage.next_seq, _named(profile))
    if system:
        stage.put_row(command, Row("system", system, None))
    return stage.reply(command)


def _named(profile: Profile) -> dict[str, Any]:
    shown = {"name": profile.name, "title": profile.title, "tags": profile.tags or None}
    return {key: value for key, value in shown.items() if value is not None}


def clone_from(stage: Stage, source: str, at: int, tip: int | None) -> int:
    """Put the event that takes over another agent's state; return its seq."""
    return stage.put("clone", stage.next_seq, data={"from": source, "at": at}, parent=tip)


def require_position(at: int, head: int, name: str) -> None:
    """Refuse a position that an agent has not reached."""
    if not 0 <= at <= head:
        raise InvalidParams(f"at: agent {name} has positions 0 to {head}, not {at}", field="at", head=head)


def redacted(stage: Stage, events: int, by: str) -> int:
    """Log that something was redacted, but not what; return the seq.

    Args:
        stage: the events.
        events: how many events have changed.
        by: how they were selected: ``seqs`` or ``text``.
    """
    return stage.put_inert("redacted", stage.next_seq, {"events": events, "by": by})


def gone() -> NotFound:
    """Return the error for an agent that was purged meanwhile."""
    return NotFound("the agent was purged")


def not_found(address: str) -> NotFound:
    """Return the error for an address that no agent has."""
    return NotFound(f"no agent {address}; make one with create, or add with create", agent=address)
