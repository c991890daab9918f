"""Commands: the requests that change an agent.

The last two parameters of every command are the same. With ``if_seq``, a command is only carried out if the agent's
head is still this seq (optimistic concurrency). With ``key``, a command is safe to repeat: it is carried out once for
each key (idempotency). The clients generate a key for every command without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reel import replies
from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import fit_messagepack
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from typing import Any

    from reel.said.messages import Addables

# Characters of a wrong value that an error shows.
_SHOWN = 100


def create(
    agent: str | None = None,
    system: str | None = None,
    title: str | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    exist_ok: bool = False,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Create an agent.

    Args:
        agent: its name. Default: a short name is made.
        system: the system prompt.
        title: a title for people.
        tags: names and values, both strings.
        exist_ok: if a live agent has this name already, return that one; nothing is changed then.
        if_seq: only 0 is possible: a new agent has no events.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        Exists: a live agent has this name already.
    """
    given = locals()
    del given["exist_ok"]
    made = call("create", reply_reader(replies.AgentInfo), given, writes=True)
    existing = call("agent", reply_reader(replies.AgentInfo), {"agent": agent})
    return made._replace(if_exists=existing) if exist_ok else made


def add(
    agent: str,
    messages: Addables,
    create: bool | None = None,  # noqa: FBT001 - in the protocol's order
    from_: int | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    if_stands: int | None = None,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Added]:
    """Add messages, all or none. When this returns, they are on disk.

    With ``from_``, they replace that message and all later ones; one ``undo`` reverts both. A message whose ``ref`` the
    agent's past already has is left out and listed as ``known``.

    Args:
        agent: a name or an id.
        messages: a string (one user text), a message or a record, or an iterable of strings, messages and records.
        create: create the agent if it does not exist.
        from_: the seq of a message of the current conversation: it and all later ones are replaced. ``messages`` may be
            empty then.
        tags: the tags of the agent if this creates it.
        if_stands: only if the record with this seq, which the messages answer, is still in the conversation, under the
            same system prompt. Whatever came after it is no obstacle. Not together with ``if_seq``.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidParams: ``messages`` is something else, or the conversation has no message ``from_``.
        InvalidMessage: a message is invalid; ``data`` has its index and the field.
        Conflict: the agent's head is not ``if_seq``, or ``if_stands`` is gone; ``data`` has the head.
        NotFound: there is no such agent.
        Killed: the agent was killed.
    """
    return call("add", _read_added, {**locals(), "messages": messages_of(messages)}, writes=True)


def _read_added(result: dict[str, Any]) -> replies.Added:
    """Read a reply; if nothing was written, it has no command and no time."""
    return reply_reader(replies.Added)({"command": 0, "time": 0, **result})


def messages_of(given: Addables) -> str | list[Any]:
    """Return the messages in the form in which they are sent: a single one as a list.

    The values are checked here as well as in the daemon, because a ``list()`` of a mapping or of bytes is a list
    of something else, and because the daemon cannot be sent, and so cannot show, an arbitrary object.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return [_element(given, 0)]
    if isinstance(given, bytes | bytearray | memoryview) or not isinstance(given, Iterable):
        expected = "expected a string, a message or an iterable of messages"
        raise InvalidParams(f"messages: {expected}, got {_shown(given)}", field="messages")
    return [_element(element, index) for index, element in enumerate(given)]


def _element(given: Any, index: int) -> Any:
    if type(given) is str:
        return given
    if isinstance(given, Mapping):
        try:
            return fit_messagepack(given if type(given) is dict else dict(given))[0]
        except ValueError:
            problem = "has an integer of more digits than Python writes; give it as text"
            raise InvalidMessage(f"messages[{index}]: {problem}", index=index) from None
    if isinstance(given, str):
        return str(given)
    expected = "expected a string, a message or a record"
    raise InvalidMessage(f"messages[{index}]: {expected}, got {_shown(given)}", index=index, field="role")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def append(
    agent: str,
    events: Sequence[Mapping[str, Any]],
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Appended]:
    """Append a stretch of a log as it is, all or none: for an import, or a copy of a log.

    Consecutive events with the same ``command`` are one command, which one ``undo`` takes back. A daemon knows this if
    the ``features`` of its ``hello`` name ``append``.

    Args:
        agent: a name or an id.
        events: messages and records as in :func:`add`, and events that go back, set a mark or change the agent; each
            may also have its ``command`` and the seq of its ``parent``.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidMessage: an event cannot be there; ``data`` has its ``index`` and the ``field``.
    """
    given = {**locals(), "events": _fitted(events)}
    return call("append", reply_reader(replies.Appended), given, writes=True)


def _fitted(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return events with numbers that MessagePack can represent; packing them is the fastest way to find others."""
    from reel.wire.msgpack_codec import CANNOT_PACK, packed  # noqa: PLC0415 - it is loaded when something is sent

    try:
        packed(list(events))
    except (*CANNOT_PACK, ValueError):
        return [fit_messagepack(event)[0] for event in events]
    return list(events)


def clear(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Moved]:
    """Empty the conversation, except for its prompt; ``undo`` restores it.

    Args:
        agent: a name or an id.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call("clear", reply_reader(replies.Moved), locals(), writes=True)


def clone(
    agent: str,
    name: str | None = None,
    at: int | None = None,
    into: str | None = None,
    sent: int | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Create an agent that starts from the current or an earlier state of another one; nothing is copied.

    Args:
        agent: the source, a name or an id.
        name: the name of the new agent. Default: a short name is made.
        at: the position in the source, a seq. Default: its head.
        into: a live agent whose state is replaced, in place of a new agent.
        sent: when it was cloned in another system, in milliseconds since the epoch; it does not make an old
            conversation recent. A daemon knows this if its ``features`` name ``clone_sent``.
        if_seq: only if the head of the agent that is written to (``into``, else the source) is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call("clone", reply_reader(replies.AgentInfo), locals(), writes=True)


def mark(
    agent: str, label: str | None = None, *, if_seq: int | None = None, key: str | None = None
) -> Call[replies.Marked]:
    """Set a mark to rewind to.

    Args:
        agent: a name or an id.
        label: a label. If several marks have it, ``rewind`` takes the newest.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call("mark", reply_reader(replies.Marked), locals(), writes=True)


def rewind(
    agent: str, label: str | None = None, *, if_seq: int | None = None, key: str | None = None
) -> Call[replies.Rewound]:
    """Return to a mark.

    Args:
        agent: a name or an id.
        label: the label of the mark. Default: the newest mark that has a message after it.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        NoSuchMark: there is no such mark; ``data`` lists the labels.
    """
    return call("rewind", reply_reader(replies.Rewound), locals(), writes=True)


def restore(agent: str, at: int, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Moved]:
    """Restore the conversation to its state at a seq.

    Args:
        agent: a name or an id.
        at: the seq.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call("restore", reply_reader(replies.Moved), locals(), writes=True)


def undo(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Undone]:
    """Undo the newest command.

    Args:
        agent: a name or an id.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        NothingToUndo: the agent is in its first state.
    """
    return call("undo", reply_reader(replies.Undone), locals(), writes=True)


def redo(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Redone]:
    """Redo the command that was undone last.

    Args:
        agent: a name or an id.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        NothingToUndo: nothing was undone, or another command was carried out since.
    """
    return call("redo", reply_reader(replies.Redone), locals(), writes=True)


def kill(
    agent: str,
    reason: str | None = None,
    cascade: bool | None = None,  # noqa: FBT001 - in the protocol's order
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.KilledAgents]:
    """Kill an agent: it accepts no more commands, but can be read, cloned and revived.

    Args:
        agent: a name or an id.
        reason: a reason, for people.
        cascade: also kill its live clones, recursively.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call("kill", reply_reader(replies.KilledAgents), locals(), writes=True)


def revive(
    agent: str,
    cascade: bool | None = None,  # noqa: FBT001 - in the protocol's order
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Revive a killed agent.

    Args:
        agent: a name or an id.
        cascade: also revive its killed clones, recursively, except those whose name is taken.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        Exists: another live agent has its name now.
    """
    return call("revive", reply_reader(replies.AgentInfo), locals(), writes=True)


def change(
    agent: str,
    name: str | None = None,
    title: str | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Change the name, the title or the tags of an agent.

    Args:
        agent: a name or an id.
        name: the new name.
        title: the new title; an empty one removes it.
        tags: the new tags, which replace all present ones.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        Exists: another live agent has the name.
    """
    return call("change", reply_reader(replies.AgentInfo), locals(), writes=True)


def commit(parts: Iterable[Call[Any] | Mapping[str, Any]], *, key: str | None = None) -> Call[replies.Committed]:
    """Carry out commands on several agents, all or none, in this order.

    Consecutive parts that add to one agent become one command in its log, so one ``undo`` reverts them.

    Args:
        parts: calls of :func:`add`, :func:`add_items`, :func:`create`, :func:`change` and :func:`append`, as
            :mod:`reel.requests` makes them; or maps of a ``method`` and its parameters. Their ``if_seq`` is about the
            head before all of them.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidParams: a part is neither a call nor a map.
        ReelError: a part was refused, as if it were alone, and nothing was written; ``data`` has its number as
            ``part``.
    """
    if isinstance(parts, str | bytes | Mapping | Call):
        raise InvalidParams(f"parts: expected a list of calls, got {_shown(parts)}", field="parts")
    sent = [_part(part, number) for number, part in enumerate(parts)]
    return call("commit", reply_reader(replies.Committed), {"parts": sent, "key": key}, writes=True)


def _part(given: Any, number: int) -> dict[str, Any]:
    if isinstance(given, Call):
        return {"method": given.method, **given.params}
    if isinstance(given, Mapping):
        fitting: dict[str, Any] = fit_messagepack(dict(given))[0]
        return fitting
    raise InvalidParams(f"parts[{number}]: expected a call or a map, got {_shown(given)}", field="parts", part=number)
