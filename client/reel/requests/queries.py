"""Queries: lists agents, searches, and reads conversations and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reel import replies
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from typing import Literal


def agents(  # noqa: PLR0913 - the parameters of the protocol
    prefix: str | None = None,
    alive: bool | None = None,  # noqa: FBT001 - in the protocol's order
    limit: int | None = None,
    after: str | None = None,
    *,
    max_bytes: int | None = None,
    order: Literal["created", "updated"] | None = None,
    details: bool | None = None,
    query: str | None = None,
    tags: Mapping[str, str] | None = None,
    state: bool | None = None,
    source: str | None = None,
    short: str | None = None,
    without_tag: str | None = None,
    ids: Sequence[str] | None = None,
    dirs: Sequence[str] | None = None,
) -> Call[replies.AgentsPage]:
    """List agents in the order of their creation.

    Args:
        prefix: only agents whose name begins with this.
        alive: only live agents, or only killed ones. Default: both.
        limit: the maximum number of agents on a page, 1 to 10,000. Default: 1,000.
        after: the id of the last agent on the previous page.
        max_bytes: the maximum size of a page, which has at least one item. Default: 8 MiB; at most 16.
        order: ``updated`` lists the most recently changed agents first.
        details: also return the number of messages, the subject, whose turn it is, who is writing, and the short form
            of the name.
        query: only agents that have each of these words in their name, title or tags.
        tags: only agents that have all of these tags.
        state: also return the values that are stored beside each conversation.
        source: only clones of the agent with this id. A daemon knows this if its ``features`` name ``sources``.
        short: only agents for whose name this short form stands, such as ``claude-code/6b23c0c6`` or ``6b23c0c6``. A
            daemon knows this if its ``features`` name ``short_names``.
        without_tag: only agents that have neither this tag nor messages of one that has it, as a clone of it does, and
            that do not belong to such an agent, as a sub-agent does by its tag ``parent``. A daemon knows this if its
            ``features`` name ``without_tag``.
        ids: only the agents with these ids, at most 10,000. A daemon knows this if its ``features`` name ``ids``.
        dirs: only agents whose tag ``cwd`` is one of these directories, or below one; at most 100. A daemon knows this
            if its ``features`` name ``listed_dirs``.
    """
    return call("agents", reply_reader(replies.AgentsPage), locals(), items="agents")


def search(  # noqa: PLR0913, PLR0917 - the parameters of the protocol
    query: str,
    agent: str | None = None,
    tags: Mapping[str, str] | None = None,
    roles: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    live: bool | None = None,  # noqa: FBT001 - in the protocol's order
    since: int | None = None,
    until: int | None = None,
    order: Literal["newest", "best", "fresh"] | None = None,
    limit: int | None = None,
    after: str | None = None,
    *,
    dirs: Sequence[str] | None = None,
    snippet: int | None = None,
    wait: int | None = None,
    without_tag: str | None = None,
    thinking: bool | None = None,
    candidates: bool | None = None,
) -> Call[replies.HitsPage]:
    """Search all conversations, including what was cleared, rewound or undone.

    Args:
        query: words, which must all occur unless the best hits are asked for, ``+word``, ``"a phrase"``,
            ``-without``, ``one OR other``, ``prefix*``, and filters such as ``role:tool``, ``agent:NAME``,
            ``tag:key=value``, ``before:2026-11-01``, ``after:yesterday``, ``live:no`` and ``in:/a/directory``. Days are
            those of the daemon's time zone.
        agent: only messages of this agent, a name or an id.
        tags: only messages of agents that have these tags.
        roles: only messages of these roles: user, assistant, tool or system.
        kinds: only events of these kinds.
        live: ``True`` for messages of the current conversations only, ``False`` for all others. Default: both.
        since: the earliest time, in milliseconds since the epoch.
        until: only messages before this time, in milliseconds since the epoch.
        order: ``newest``: by the time at which messages were said. ``best``: ranked, at most 1,000 hits; a hit may lack
            words, which its ``without`` names. ``fresh``: the same, with a mild preference for what was said lately.
            Default: with all words, the last added first. A daemon knows ``fresh``, and ranks the best as it is said
            here, if its ``features`` name ``ranking``.
        limit: the maximum number of hits on a page, 1 to 1,000. Default: 20.
        after: the ``next`` of the previous page.
        dirs: only messages of agents whose tag ``cwd`` is one of these directories, or below one; at most 100. A daemon
            knows this if its ``features`` name ``dirs``.
        snippet: the maximum number of characters of a snippet, 1 to 4,096. Default: 240. A daemon knows this and
            ``wait`` if its ``features`` name ``ranking``.
        wait: how many milliseconds to wait for the index, which lags behind, until it has everything that was committed
            before; at most 10,000. Default: 0.
        without_tag: only messages of such agents as :func:`agents` lists with this.
        thinking: whether a snippet may be what a model thought, which is the default. If not, a hit some of whose words
            are only there says so with its ``thinking``. A daemon knows this if its ``features`` name ``thinking``.
        candidates: whether the daemon leaves the regular expressions to the caller: hits are all messages that may
            match, with their ``text``, and the page names the ``expressions``. A daemon that refuses an expression
            because it has no engine for it has ``candidates`` in the ``data`` of the error if it knows this.

    Raises:
        NotFound: there is no such agent.
        Storage: there is no search index; the message says why.
    """
    return call("search", reply_reader(replies.HitsPage), locals(), items="hits")


def edits(  # noqa: PLR0913 - the parameters of the protocol
    path: str | None = None,
    agent: str | None = None,
    deed: Literal["read", "wrote", "ran"] | None = None,
    command: str | None = None,
    *,
    dirs: Sequence[str] | None = None,
    without_tag: str | None = None,
    limit: int | None = None,
    after: str | None = None,
    texts: bool | None = None,
    wait: int | None = None,
) -> Call[replies.EditsPage]:
    """List what calls read, wrote and ran in all conversations, the newest first.

    A daemon knows this if the ``features`` of its ``hello`` name ``edits``.

    Args:
        path: only what was done to this file: its absolute path, or the last parts of it, as in ``src/app.py``.
        agent: only calls of this agent, a name or an id.
        deed: only this. Default: all.
        command: only commands in which these words follow one another.
        dirs: only calls of agents whose tag ``cwd`` is one of these directories, or below one; at most 100.
        without_tag: only calls of such agents as :func:`agents` lists with this.
        limit: the maximum number of edits on a page, 1 to 1,000. Default: 50.
        after: the ``next`` of the previous page.
        texts: whether to return what was replaced and written, each up to 64 kB, which is the default.
        wait: how many milliseconds to wait until what was committed before is known; at most 10,000. Default: 0.

    Raises:
        NotFound: there is no such agent.
        Storage: there is no search index; the message says why.
    """
    return call("edits", reply_reader(replies.EditsPage), locals(), items="edits")


def agent(agent: str, without_tag: str | None = None) -> Call[replies.AgentInfo]:
    """Describe one agent and its current state.

    Args:
        agent: a name or an id.
        without_tag: refuse an agent that :func:`agents` would not list with this.

    Raises:
        NotFound: there is no such agent.
    """
    return call("agent", reply_reader(replies.AgentInfo), locals())


def messages(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.MessagesPage]:
    """Read the messages of the current conversation.

    Args:
        agent: a name or an id.
        since: only messages later than this seq.
        limit: the maximum number of messages on a page, 1 to 10,000. Default: 1,000.
        last: only this many of the newest messages, oldest first.
        at: the conversation at this seq.
        max_bytes: the maximum size of a page, which has at least one item. Default: 8 MiB; at most 16.
    """
    return call("messages", reply_reader(replies.MessagesPage), locals(), items="messages")


def conversation(
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    last: int | None = None,
    at: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.ConversationPage]:
    """Read the records of the current conversation as they are stored, including the prompt.

    Args:
        agent: a name or an id.
        since: only records later than this seq.
        limit: the maximum number of records on a page, 1 to 10,000. Default: 1,000.
        last: only this many of the newest records, oldest first.
        at: the conversation at this seq.
        max_bytes: the maximum size of a page, which has at least one item. Default: 8 MiB; at most 16.
    """
    given = {**locals(), "view": "conversation"}
    return call("messages", reply_reader(replies.ConversationPage), given, items="conversation")


def history(  # noqa: PLR0913 - the parameters of the protocol
    agent: str,
    since: int | None = None,
    limit: int | None = None,
    kinds: Sequence[str] | None = None,
    inherited: bool | None = None,  # noqa: FBT001 - in the protocol's order
    max_bytes: int | None = None,
    refs: Sequence[str] | None = None,
    last: int | None = None,
    *,
    before: int | None = None,
    live: bool | None = None,
    tokens: bool | None = None,
) -> Call[replies.HistoryPage]:
    """Read the log of an agent, including what was cleared or rewound.

    Args:
        agent: a name or an id.
        since: only events later than this seq.
        limit: the maximum number of events on a page, 1 to 10,000. Default: 1,000.
        kinds: only events of these kinds.
        inherited: begin with the events of the agent that it was cloned from.
        max_bytes: the maximum size of a page, which has at least one item. Default: 8 MiB; at most 16.
        refs: only events that were added with one of these as their ``ref``.
        last: only this many of the newest events, oldest first.
        before: only events earlier than this seq.
        live: only events that no undo, rewind, clear or restore has taken back.
        tokens: beside ``kinds``, also answers that may say how many tokens they took. A daemon knows this if its
            ``features`` name ``tokens``.
    """
    return call("history", reply_reader(replies.HistoryPage), locals(), items="events")


def histories(
    agents: Sequence[str],
    since: int | None = None,
    limit: int | None = None,
    kinds: Sequence[str] | None = None,
    *,
    max_bytes: int | None = None,
    tokens: bool | None = None,
) -> Call[replies.HistoriesPage]:
    """Read the logs of several agents, one after the other.

    A daemon knows this if the ``features`` of its ``hello`` name ``histories``.

    Args:
        agents: their ids. What is not the id of an agent is skipped.
        since: of the first of them, only events later than this seq.
        limit: the maximum number of events on a page, 1 to 10,000. Default: 1,000.
        kinds: only events of these kinds.
        max_bytes: the maximum size of a page, which has at least one item. Default: 8 MiB; at most 16.
        tokens: as in :func:`history`.
    """
    return call("histories", reply_reader(replies.HistoriesPage), locals(), items="events")


def state(
    agent: str,
    keys: Sequence[str] | None = None,
    at: int | None = None,
    after: str | None = None,
    limit: int | None = None,
    *,
    max_bytes: int | None = None,
) -> Call[replies.StatePage]:
    """Read the values that are stored beside a conversation, in the order of their keys.

    :func:`reel.state` makes the records that set them; :func:`add` adds these.

    Args:
        agent: a name or an id.
        keys: only these.
        at: the values at this seq. Default: the newest.
        after: only keys after this one.
        limit: the maximum number of values on a page, 1 to 10,000. Default: 1,000.
        max_bytes: the maximum size of a page, which has at least one value. Default: 8 MiB; at most 16.
    """
    return call("state", reply_reader(replies.StatePage), locals(), items="values")


def replay(
    agent: str,
    at: int | None = None,
    view: Literal["messages", "conversation"] | None = None,
    strict: bool | None = None,  # noqa: FBT001 - in the protocol's order
    since: int | None = None,
    limit: int | None = None,
    max_bytes: int | None = None,
) -> Call[replies.ReplayPage]:
    """Read the state from the log. Without ``at``, the live state is compared with it, and repaired if it differs.

    Args:
        agent: a name or an id.
        at: the state at this seq. Default: the newest.
        view: ``messages`` or ``conversation``, the records. Default: messages.
        strict: refuse a log that has an invalid message. Default: it is skipped, and listed in the reply.
        since: only messages, or records, later than this seq.
        limit: the maximum number of them on a page, 1 to 10,000. Default: 1,000.
        max_bytes: the maximum size of a page, which has at least one item. Default: 8 MiB; at most 16.

    Raises:
        InvalidMessage: with ``strict``, an event of the conversation is not a message.
    """
    return call("replay", reply_reader(replies.ReplayPage), locals(), items=view or "messages")
