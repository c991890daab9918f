"""Every request of the protocol, defined once: its name, its parameters and the type of its reply.

A client is one generic ``call()`` over these functions. Both clients, and whoever speaks the protocol over
another transport, take them from here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from reel import replies
from reel.ids import new_id
from reel.messages import Addable
from reel.version import PROTOCOL, __version__

R = TypeVar("R")


class Call(NamedTuple, Generic[R]):
    """A request, and how to read its reply."""

    method: str
    params: dict[str, Any]
    read: Callable[[dict[str, Any]], R]
    # A command: repeating it is safe only under a key.
    writes: bool = False
    # Where the reply is a page: the field that has the items, and the parameter that goes on after the last.
    items: str = ""


def _call(
    method: str, reply: Callable[[dict[str, Any]], R], *, writes: bool = False, items: str = "", **params: Any
) -> Call[R]:
    given = {name: value for name, value in params.items() if value is not None}
    return Call(method, given, reply, writes, items)


_NESTED: dict[str, Callable[[dict[str, Any]], Any]] = {}


def _reader(shape: type[R]) -> Callable[[dict[str, Any]], R]:
    """Make the function that reads a map as a tuple of this shape."""
    fields: tuple[str, ...] = shape._fields  # type: ignore[attr-defined]

    def read(result: dict[str, Any]) -> R:
        given = {field: result[field] for field in fields if field in result}
        for field in given.keys() & _NESTED.keys():
            value = given[field]
            if isinstance(value, list):
                given[field] = [_NESTED[field](item) for item in value]
            elif isinstance(value, dict):
                given[field] = _NESTED[field](value)
        return shape(**given)

    return read


_NESTED.update(
    source=_reader(replies.Source),
    marks=_reader(replies.Mark),
    open_calls=_reader(replies.OpenCall),
    orphans=_reader(replies.Orphan),
    skipped=_reader(replies.Skipped),
    agents=_reader(replies.AgentRow),
    methods=_reader(replies.MethodInfo),
    report=_reader(replies.Change),
    prefix=_reader(replies.Prefix),
    problems=_reader(replies.Problem),
)
_INFO = _reader(replies.AgentInfo)
_MOVED = _reader(replies.Moved)


def following(call: Call[R], reply: R) -> Call[R] | None:
    """Give the call for the page after this one; ``None`` after the last.

    The first page's head is kept as ``at``, so that pages of a state that moves still fit together.
    """
    if not getattr(reply, "more", False):
        return None
    last = getattr(reply, call.items)[-1]
    params = dict(call.params)
    if call.items == "agents":
        params["after"] = last.id
    else:
        params["since"] = last["seq"]
        params.pop("last", None)
        if call.method in ("messages", "replay"):
            params["at"] = getattr(reply, "at", None)
    return call._replace(params=params)


def keyed(call: Call[R]) -> Call[R]:
    """Give a command a key, where it has none: it can then be repeated until it is answered."""
    if not call.writes or "key" in call.params:
        return call
    return call._replace(params={**call.params, "key": new_id()})


def greeting(name: str) -> Call[replies.Hello]:
    """Make the call that our clients begin a connection with."""
    return hello(
        client={"name": name, "version": __version__}, protocol={"min": PROTOCOL, "max": PROTOCOL}, errors="map"
    )


def hello(
    client: Mapping[str, Any] | None = None,
    protocol: Mapping[str, int] | None = None,
    notify: Sequence[str] | None = None,
    errors: Literal["text", "map"] | None = None,
) -> Call[replies.Hello]:
    """Say who calls and agree on a protocol version."""
    return _call("hello", _reader(replies.Hello), client=client, protocol=protocol, notify=notify, errors=errors)


def ping() -> Call[bool]:
    """Ask for a sign of life."""
    return _call("ping", lambda result: bool(result["pong"]))


def methods() -> Call[list[replies.MethodInfo]]:
    """List what the daemon can do."""
    read = _NESTED["methods"]
    return _call("methods", lambda result: [read(item) for item in result["methods"]])


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
    return _call(
        "create", _INFO, writes=True, agent=agent, system=system, title=title, tags=tags, if_seq=if_seq, key=key
    )


def add(
    agent: str,
    messages: str | Sequence[Addable],
    create: bool | None = None,  # noqa: FBT001 - the third of three, as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Added]:
    """Add messages, all or none; when this returns, they are on disk.

    Args:
        agent: a name or an id.
        messages: a string (one user text), or a list of strings, messages and records.
        create: make the agent where there is none.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        InvalidMessage: one of them is no message; ``data`` has its index and the field.
        Conflict: the head is another; ``data`` has it.
        NotFound: there is no such agent.
        Killed: it is dead.
    """
    return _call(
        "add",
        _reader(replies.Added),
        writes=True,
        agent=agent,
        messages=messages if isinstance(messages, str) else list(messages),
        create=create,
        if_seq=if_seq,
        key=key,
    )


def clear(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Moved]:
    """Empty the conversation but for its prompt; ``undo`` brings it back."""
    return _call("clear", _MOVED, writes=True, agent=agent, if_seq=if_seq, key=key)


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
    return _call("clone", _INFO, writes=True, agent=agent, name=name, at=at, into=into, if_seq=if_seq, key=key)


def mark(
    agent: str, label: str | None = None, *, if_seq: int | None = None, key: str | None = None
) -> Call[replies.Marked]:
    """Set a mark to rewind to; labels may repeat, the newest wins."""
    return _call("mark", _reader(replies.Marked), writes=True, agent=agent, label=label, if_seq=if_seq, key=key)


def rewind(
    agent: str, label: str | None = None, *, if_seq: int | None = None, key: str | None = None
) -> Call[replies.Rewound]:
    """Go back to a mark; without a label to the newest that something was said after.

    Raises:
        NoSuchMark: ``data`` lists the labels that there are.
    """
    return _call("rewind", _reader(replies.Rewound), writes=True, agent=agent, label=label, if_seq=if_seq, key=key)


def restore(agent: str, at: int, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Moved]:
    """Make the conversation what it was at a seq."""
    return _call("restore", _MOVED, writes=True, agent=agent, at=at, if_seq=if_seq, key=key)


def undo(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Undone]:
    """Take back the newest command.

    Raises:
        NothingToUndo: the agent is in its first state.
    """
    return _call("undo", _reader(replies.Undone), writes=True, agent=agent, if_seq=if_seq, key=key)


def redo(agent: str, *, if_seq: int | None = None, key: str | None = None) -> Call[replies.Redone]:
    """Bring back what the newest undo took.

    Raises:
        NothingToUndo: nothing was undone, or something was done since.
    """
    return _call("redo", _reader(replies.Redone), writes=True, agent=agent, if_seq=if_seq, key=key)


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
    return _call(
        "kill",
        _reader(replies.KilledAgents),
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
    return _call("revive", _INFO, writes=True, agent=agent, if_seq=if_seq, key=key)


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
    return _call("change", _INFO, writes=True, agent=agent, name=name, title=title, tags=tags, if_seq=if_seq, key=key)


def agents(
    prefix: str | None = None,
    alive: bool | None = None,  # noqa: FBT001 - a filter, as in the protocol's words
    limit: int | None = None,
    after: str | None = None,
) -> Call[replies.AgentsPage]:
    """List agents, in the order in which they were made.

    Args:
        prefix: only names that begin with it.
        alive: only the living, or only the dead.
        limit: 1 to 10,000, 1,000 if left out.
        after: the id of the last one of the page before.
    """
    return _call(
        "agents",
        _reader(replies.AgentsPage),
        items="agents",
        prefix=prefix,
        alive=alive,
        limit=limit,
        after=after,
    )


def agent(agent: str) -> Call[replies.AgentInfo]:
    """Describe one agent and its living state."""
    return _call("agent", _INFO, agent=agent)


def messages(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.MessagesPage]:
    """Read the living messages.

    Args:
        agent: a name or an id.
        since: only later than this seq.
        limit: 1 to 10,000, 1,000 if left out.
        last: only the newest so many, oldest first.
        at: the state as it was at this seq.
        max_bytes: the page's size, 8 MiB if left out; one item comes at least.
    """
    return _call(
        "messages",
        _reader(replies.MessagesPage),
        items="messages",
        agent=agent,
        since=since,
        limit=limit,
        last=last,
        at=at,
        max_bytes=max_bytes,
    )


def conversation(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.ConversationPage]:
    """Read the living records, the prompt included, as they are stored; see :func:`messages`."""
    return _call(
        "messages",
        _reader(replies.ConversationPage),
        items="conversation",
        agent=agent,
        since=since,
        limit=limit,
        last=last,
        at=at,
        view="conversation",
        max_bytes=max_bytes,
    )


def history(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    kinds: Sequence[str] | None = None,
    inherited: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    max_bytes: int | None = None,
) -> Call[replies.HistoryPage]:
    """Read the log as it stands, what was cleared and rewound included.

    Args:
        agent: a name or an id.
        since: only later than this seq.
        limit: 1 to 10,000, 1,000 if left out.
        kinds: only these.
        inherited: with the past of what it was cloned from in front.
        max_bytes: the page's size, 8 MiB if left out; one item comes at least.
    """
    return _call(
        "history",
        _reader(replies.HistoryPage),
        items="events",
        agent=agent,
        since=since,
        limit=limit,
        kinds=None if kinds is None else list(kinds),
        inherited=inherited,
        max_bytes=max_bytes,
    )


def replay(
    agent: str,
    at: int | None = None,
    view: Literal["messages", "conversation"] | None = None,
    strict: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    since: int | None = None,
    limit: int | None = None,
    max_bytes: int | None = None,
) -> Call[replies.ReplayPage]:
    """Read the state anew from the log; without ``at`` the running state is compared with it, and mended.

    Raises:
        InvalidMessage: ``strict``, and an event of the conversation is no message.
    """
    return _call(
        "replay",
        _reader(replies.ReplayPage),
        items=view or "messages",
        agent=agent,
        at=at,
        view=view,
        strict=strict,
        since=since,
        limit=limit,
        max_bytes=max_bytes,
    )


def render(  # noqa: PLR0913, PLR0917 - as many as the protocol has
    agent: str,
    format: str,  # noqa: A002 - the protocol's own word
    at: int | None = None,
    model: str | None = None,
    extra: Mapping[str, Any] | str | None = None,
    budget: int | None = None,
    open: Literal["close", "refuse"] | None = None,  # noqa: A002 - the protocol's own word
    pin: str | None = None,
    after: replies.Prefix | Mapping[str, Any] | None = None,
) -> Call[replies.Rendered]:
    """Give the conversation as the body of a request, in the words of a provider.

    Args:
        agent: a name or an id.
        format: ``openai-chat``, ``openai-responses``, ``anthropic`` or ``gemini``.
        at: the state as it was at this seq.
        model: whose rules count; left out, the one in ``extra``.
        extra: what else the body is to have at its top, such as ``model``, ``tools``, ``max_tokens``: a map, or
            JSON text where it is deep.
        budget: how many tokens the history may have, estimated; the oldest turns go first.
        open: what becomes of calls without a result: a made-up result, or an error.
        pin: the label of a living mark; with a budget, all up to it is kept.
        after: the prefix of an earlier rendering, to learn whether this one extends it.

    Raises:
        Conflict: calls are open, and they should not be; ``data`` has them.
        TooLarge: not even the newest turn fits the budget, or the body is larger than a reply may be.
    """
    return _call(
        "render",
        _reader(replies.Rendered),
        agent=agent,
        format=format,
        at=at,
        model=model,
        extra=extra if extra is None or isinstance(extra, str) else dict(extra),
        budget=budget,
        open=open,
        pin=pin,
        after=after._asdict() if isinstance(after, replies.Prefix) else after,
    )


def ingest(  # noqa: PLR0913 - as many as the protocol has
    agent: str,
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None = None,
    create: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    names: Mapping[str, str] | None = None,
    interrupted: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Added]:
    """Add what a provider answered, and what it used.

    Args:
        agent: a name or an id.
        format: as in :func:`render`.
        body: the body of the response, or its event stream, as it came.
        model: who answered, where the body does not say.
        create: make the agent where there is none.
        names: those that the rendering sent tools under, as it gave them.
        interrupted: the answer broke off; of an event stream the daemon sees that itself.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        InvalidMessage: the body is no response of this API.
    """
    return _call(
        "ingest",
        _reader(replies.Added),
        writes=True,
        agent=agent,
        format=format,
        body=body,
        model=model,
        create=create,
        names=None if names is None else dict(names),
        interrupted=interrupted,
        if_seq=if_seq,
        key=key,
    )


def load(
    agent: str,
    format: str,  # noqa: A002 - the protocol's own word
    body: str,
    model: str | None = None,
    create: bool | None = None,  # noqa: FBT001 - as in the protocol's words
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Loaded]:
    """Add the history of a whole request: its prompt and its messages.

    Args:
        agent: a name or an id.
        format: as in :func:`render`.
        body: the body of the request, as it was sent.
        model: who made what the assistant says, where the body does not say.
        create: make the agent where there is none.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat; the clients make one themselves.

    Raises:
        InvalidMessage: the body is no request of this API, or goes on from something that is not in it.
    """
    return _call(
        "load",
        _reader(replies.Loaded),
        writes=True,
        agent=agent,
        format=format,
        body=body,
        model=model,
        create=create,
        if_seq=if_seq,
        key=key,
    )


def wait(
    agent: str, since: int, kinds: Sequence[str] | None = None, timeout: int | None = None
) -> Call[replies.Waited]:
    """Wait until there is something later than a seq.

    Args:
        agent: a name or an id.
        since: the seq.
        kinds: only these count.
        timeout: how long, in milliseconds; 30,000 if left out, 3,600,000 at most.
    """
    return _call(
        "wait",
        _reader(replies.Waited),
        agent=agent,
        since=since,
        kinds=None if kinds is None else list(kinds),
        timeout=timeout,
    )


def subscribe(
    agent: str | None = None,
    since: int | None = None,
    view: Literal["messages", "conversation", "none"] | None = None,
    kinds: Sequence[str] | None = None,
) -> Call[replies.Subscribed]:
    """Follow what happens, as it happens: a client makes an iterator of it, on a connection of its own.

    Args:
        agent: a name or an id; left out, all agents.
        since: begin after this seq, or event id where all are followed; left out, with what happens from now on.
        view: what events bring along: messages, records (``conversation``) or nothing.
        kinds: only these.
    """
    return _call(
        "subscribe",
        _reader(replies.Subscribed),
        agent=agent,
        since=since,
        view=view,
        kinds=None if kinds is None else list(kinds),
    )


def draft(agent: str, text: str) -> Call[None]:
    """Show the others what is being written; an empty text, the next ``add`` and the connection's end take it away."""
    return _call("draft", lambda _: None, agent=agent, text=text)


def verify(agent: str | None = None) -> Call[replies.Verified]:
    """Check the database, every log and every running state, or those of one agent; nothing is mended.

    Args:
        agent: a name or an id; left out, all agents, and the file as SQLite sees it.
    """
    return _call("verify", _reader(replies.Verified), agent=agent)


def stats() -> Call[dict[str, Any]]:
    """Ask for counters, sizes and latencies."""
    return _call("stats", dict)


def shutdown() -> Call[None]:
    """Stop the daemon: it finishes what is in flight, commits and closes."""
    return _call("shutdown", lambda _: None)
