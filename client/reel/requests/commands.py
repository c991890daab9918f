"""What changes an agent.

Every command takes the same two at its end. ``if_seq``: it is carried out only if the agent's head is still this seq.
``key``: it stands for this command, which is then safe to repeat; the clients make one themselves.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reel import replies
from reel.errors import InvalidMessage, InvalidParams
from reel.messages import Addable
from reel.requests.calls import Call, call, reply_reader

_INFO = reply_reader(replies.AgentInfo)
_MOVED = reply_reader(replies.Moved)

# Characters of a wrong value that an error shows.
_SHOWN = 100


def create(
    agent: str | None = None,
    system: str | None = None,
    title: str | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Make an agent.

    Args:
        agent: its name; left out, a short one is made.
        system: its prompt.
        title: what people read.
        tags: a map of strings.
        if_seq: only 0 makes sense here: a new agent has no events.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        Exists: a living agent has this name.
    """
    return call(
        "create", _INFO, writes=True, agent=agent, system=system, title=title, tags=tags, if_seq=if_seq, key=key
    )


def add(
    agent: str,
    messages: Addable | Iterable[Addable],
    create: bool | None = None,  # noqa: FBT001 - the third of three, as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Added]:
    """Add messages, all or none; when this returns, they are on disk.

    Args:
        agent: a name or an id.
        messages: a string (one user text), a message or a record, or an iterable of strings, messages and records.
        create: make the agent where there is none.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        InvalidParams: ``messages`` is none of these.
        InvalidMessage: one of them is no message; ``data`` has its index and the field.
        Conflict: the head is another; ``data`` has it.
        NotFound: there is no such agent.
        Killed: it is dead.
    """
    return call(
        "add",
        reply_reader(replies.Added),
        writes=True,
        agent=agent,
        messages=_messages(messages),
        create=create,
        if_seq=if_seq,
        key=key,
    )


def _messages(given: Addable | Iterable[Addable]) -> str | list[Any]:
    """Return what is added as it is sent: a single message as a list of one.

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
    if type(given) is str or type(given) is dict:
        return given
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, str):
        return str(given)
    expected = "expected a string, a message or a record"
    raise InvalidMessage(f"messages[{index}]: {expected}, got {_shown(given)}", index=index, field="role")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def clear(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Moved]:
    """Empty the conversation but for its prompt; ``undo`` brings it back."""
    return call("clear", _MOVED, writes=True, agent=agent, if_seq=if_seq, key=key)


def clone(
    agent: str,
    name: str | None = None,
    at: int | None = None,
    into: str | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Start a new conversation from where this one is, or was; nothing is copied.

    Args:
        agent: the source, a name or an id.
        name: the new agent's; left out, a short one is made.
        at: the position in the source, a seq; left out, its head.
        into: an existing living agent whose state is replaced, in place of a new one.
        if_seq: only if the head of the agent that is written (``into``, else the source) is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.
    """
    return call("clone", _INFO, writes=True, agent=agent, name=name, at=at, into=into, if_seq=if_seq, key=key)


def mark(
    agent: str, label: str | None = None, *, if_seq: int | None = None, key: str | None = None
) -> Call[replies.Marked]:
    """Set a mark to rewind to; labels may repeat, the newest wins."""
    return call("mark", reply_reader(replies.Marked), writes=True, agent=agent, label=label, if_seq=if_seq, key=key)


def rewind(
    agent: str, label: str | None = None, *, if_seq: int | None = None, key: str | None = None
) -> Call[replies.Rewound]:
    """Go back to a mark; without a label to the newest that something was said after.

    Raises:
        NoSuchMark: ``data`` lists the labels that there are.
    """
    return call("rewind", reply_reader(replies.Rewound), writes=True, agent=agent, label=label, if_seq=if_seq, key=key)


def restore(agent: str, at: int, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Moved]:
    """Make the conversation what it was at a seq."""
    return call("restore", _MOVED, writes=True, agent=agent, at=at, if_seq=if_seq, key=key)


def undo(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Undone]:
    """Take back the newest command.

    Raises:
        NothingToUndo: the agent is in its first state.
    """
    return call("undo", reply_reader(replies.Undone), writes=True, agent=agent, if_seq=if_seq, key=key)


def redo(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Redone]:
    """Bring back what the newest undo took.

    Raises:
        NothingToUndo: nothing was undone, or something was done since.
    """
    return call("redo", reply_reader(replies.Redone), writes=True, agent=agent, if_seq=if_seq, key=key)


def kill(
    agent: str,
    reason: str | None = None,
    cascade: bool | None = None,  # noqa: FBT001 - the third of three, as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.KilledAgents]:
    """End an agent; it can still be read, cloned and revived.

    Args:
        agent: a name or an id.
        reason: what people read about it.
        cascade: its living clones too, and theirs.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.
    """
    return call(
        "kill",
        reply_reader(replies.KilledAgents),
        writes=True,
        agent=agent,
        reason=reason,
        cascade=cascade,
        if_seq=if_seq,
        key=key,
    )


def revive(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.AgentInfo]:
    """Bring a killed agent back to life.

    Raises:
        Exists: a living agent has taken its name.
    """
    return call("revive", _INFO, writes=True, agent=agent, if_seq=if_seq, key=key)


def change(
    agent: str,
    name: str | None = None,
    title: str | None = None,
    tags: Mapping[str, str] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.AgentInfo]:
    """Change what an agent is called; an empty title removes it, ``tags`` replaces them all."""
    return call("change", _INFO, writes=True, agent=agent, name=name, title=title, tags=tags, if_seq=if_seq, key=key)
