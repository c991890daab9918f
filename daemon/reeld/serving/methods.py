"""The method table: every method with its parameters in order and its handler."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from reel.formats import ANSWERING_FORMATS, DIALECTS, FORMATS
from reeld.serving import params
from reeld.serving.call import Call, Result, Services, Work
from reeld.serving.handlers import (
    async_call,
    commands,
    erasing,
    late,
    queries,
    searching,
    subscriptions,
    together,
)
from reeld.serving.params import Param, Signature


class Method(NamedTuple):
    """A method of the protocol, and its handler.

    The handler takes the services, the call, the agent if the method ``needs_agent``, the command's options if it
    ``is_command``, and the method's own parameters. If it ``may_create`` an agent, or the agent ``may_be_gone``, it
    takes the address of a missing one in its place. A command that ``has_parts`` has no head of its own. A method that
    ``is_about_the_daemon`` needs no conversation. A job that ``may_write_ahead`` is staged before it is known what
    other daemons have written: its commit detects conflicts.
    """

    name: str
    signature: Signature
    summary: str
    handler: Callable[..., Work]
    needs_agent: bool = False
    is_command: bool = False
    may_create: bool = False
    may_be_gone: bool = False
    has_parts: bool = False
    is_about_the_daemon: bool = False
    may_write_ahead: bool = False


def asks_to_create(method: Method, values: Sequence[Any]) -> bool:
    """Return whether a call with these parameters (those after the agent) creates the agent if it is missing."""
    names = [param.name for param in method.signature.params[1:]] if method.may_create else []
    return "create" in names and bool(values[names.index("create")])


def _needs(name: str, convert: params.Convert) -> Param:
    return Param(name, convert, optional=False)


_AGENT = _needs("agent", params.string)
_KEY = Param("key", params.label)
_OPTIONS = (Param("if_seq", params.integer()), _KEY)
_LIMIT = Param("limit", params.integer(1, params.MAX_ITEMS))
_SINCE = Param("since", params.integer())
_LAST = Param("last", params.integer(1, params.MAX_ITEMS))
_AT = Param("at", params.integer())
_MAX_BYTES = Param("max_bytes", params.page_bytes)
_VIEW = Param("view", params.one_of("messages", "conversation"))
_KINDS = Param("kinds", params.kinds)
_LABEL = Param("label", params.label)
_TITLE = Param("title", params.title)
_TAGS = Param("tags", params.tags)
_FORMAT = _needs("format", params.one_of(*FORMATS))
_IN_FORMAT = Param("format", params.item_format)
# One in which a provider answers.
_ANSWERING_FORMAT = _needs("format", params.one_of(*ANSWERING_FORMATS))
_BODY = _needs("body", params.body)
_MODEL = Param("model", params.label)
_CREATE = Param("create", params.boolean)


def _plain(handler: Callable[..., Work], summary: str, *own: Param) -> Method:
    return Method(handler.__name__, Signature(own), summary, handler)


def _about_the_daemon(handler: Callable[..., Work], summary: str, *own: Param) -> Method:
    return _plain(handler, summary, *own)._replace(is_about_the_daemon=True)


def _read(handler: Callable[..., Work], summary: str, *own: Param) -> Method:
    return Method(handler.__name__, Signature((_AGENT, *own)), summary, handler, needs_agent=True)


def _command(
    handler: Callable[..., Work],
    summary: str,
    *own: Param,
    may_create: bool = False,
    may_be_gone: bool = False,
) -> Method:
    signature = Signature((_AGENT, *own, *_OPTIONS))
    return Method(
        handler.__name__,
        signature,
        summary,
        handler,
        needs_agent=True,
        is_command=True,
        may_create=may_create,
        may_be_gone=may_be_gone,
    )


def methods(_services: Services, _call: Call) -> Result:
    """Return the method table as data."""
    return {
        "methods": [
            {"name": method.name, "params": method.signature.shown(), "summary": method.summary}
            for method in METHODS.values()
        ]
    }


_CREATING = Method(
    "create",
    Signature((Param("agent", params.name), Param("system", params.free_text), _TITLE, _TAGS, *_OPTIONS)),
    "Create an agent",
    commands.create,
    is_command=True,
)
_ADDING = _command(
    commands.add,
    "Add messages, or a provider's items, all or none",
    Param("messages", params.messages),
    _CREATE,
    Param("from", params.integer(1)),
    _TAGS,
    Param("items", params.anything),
    _IN_FORMAT,
    _MODEL,
    Param("refs", params.anything),
    Param("sent", params.anything),
    may_create=True,
)._replace(may_write_ahead=True)
_CHANGING = _command(
    commands.change, "Change the name, title or tags of an agent", Param("name", params.name), _TITLE, _TAGS
)
_ALL = (
    _about_the_daemon(
        queries.hello,
        "Introduce the client and agree on a protocol version",
        Param("client", params.client),
        Param("protocol", params.any_map),
        Param("notify", params.target),
        Param("errors", params.one_of("text", "map")),
    ),
    _about_the_daemon(queries.ping, "Check that the daemon answers"),
    _about_the_daemon(methods, "List the methods"),
    _CREATING,
    _ADDING,
    _command(commands.clear, "Remove all messages; the system prompt stays"),
    _command(
        commands.clone,
        "Start a new agent from the current state, or from an earlier one",
        Param("name", params.name),
        _AT,
        Param("into", params.string),
    ),
    _command(commands.mark, "Set a mark to rewind to", _LABEL)._replace(may_write_ahead=True),
    _command(commands.rewind, "Go back to a mark", _LABEL),
    _command(commands.restore, "Go back to the state at a seq", _needs("at", params.integer())),
    _command(commands.undo, "Undo the newest command"),
    _command(commands.redo, "Redo what the newest undo undid"),
    _command(
        commands.kill,
        "Kill an agent; it can be revived",
        Param("reason", params.title),
        Param("cascade", params.boolean),
    ),
    _command(commands.revive, "Revive a killed agent", Param("cascade", params.boolean)),
    _CHANGING,
    Method(
        "commit",
        Signature((_needs("parts", params.parts), _KEY)),
        "Carry out commands on several agents, all or none",
        partial(together.commit, {method.name: method.signature for method in (_ADDING, _CREATING, _CHANGING)}),
        is_command=True,
        has_parts=True,
    ),
    _command(
        erasing.redact,
        "Replace what was said with a marker, for good",
        Param("seqs", params.seqs),
        Param("text", params.texts),
        Param("dry_run", params.boolean),
        Param("backups", params.absolute_paths),
    ),
    _command(
        erasing.purge,
        "Remove agents and their events, for good",
        Param("cascade", params.boolean),
        Param("force", params.boolean),
        Param("dry_run", params.boolean),
        Param("backups", params.absolute_paths),
        Param("also", params.addresses),
        may_be_gone=True,
    ),
    _plain(
        erasing.retention,
        "Purge the agents that are older than the settings allow",
        Param("dry_run", params.boolean),
        Param("now", params.boolean),
    ),
    _plain(
        queries.agents,
        "List agents, the oldest or the most recently changed first",
        Param("prefix", params.string),
        Param("alive", params.boolean),
        _LIMIT,
        Param("after", params.string),
        _MAX_BYTES,
        Param("order", params.one_of("created", "updated")),
        Param("details", params.boolean),
        Param("query", params.free_text),
        _TAGS,
        Param("state", params.boolean),
    ),
    _read(queries.agent, "Describe an agent and its current state"),
    _read(
        queries.messages,
        "Read the current conversation, or an earlier state",
        _SINCE,
        _LIMIT,
        _LAST,
        _AT,
        _VIEW,
        _MAX_BYTES,
        _IN_FORMAT,
    ),
    _read(
        queries.history,
        "Read the log, including what was cleared, rewound or undone",
        _SINCE,
        _LIMIT,
        _KINDS,
        Param("inherited", params.boolean),
        _MAX_BYTES,
        Param("refs", params.strings),
        _LAST,
        Param("before", params.integer(1)),
        Param("live", params.boolean),
    ),
    _read(
        queries.state,
        "Read the values that are kept beside the conversation",
        Param("keys", params.strings),
        _AT,
        Param("after", params.label),
        _LIMIT,
        _MAX_BYTES,
    ),
    _read(
        queries.replay,
        "Rebuild the state from the log, and compare it with the live one",
        _AT,
        _VIEW,
        Param("strict", params.boolean),
        _SINCE,
        _LIMIT,
        _MAX_BYTES,
    ),
    _plain(
        searching.search,
        "Find what was said in all conversations, including what was cleared or rewound",
        _needs("query", params.free_text),
        Param("agent", params.string),
        _TAGS,
        Param("roles", params.roles),
        _KINDS,
        Param("live", params.boolean),
        _SINCE,
        Param("until", params.integer()),
        Param("order", params.one_of("newest", "best")),
        Param("limit", params.integer(1, searching.MAX_HITS)),
        Param("after", params.cursor),
    ),
    _read(
        late.render,
        "Render the conversation as the body of a provider's request",
        _FORMAT,
        _AT,
        _MODEL,
        Param("extra", params.extra),
        Param("budget", params.integer(1)),
        Param("open", params.one_of("close", "refuse")),
        Param("pin", params.label),
        Param("after", params.prefix),
        Param("cache", params.one_of("5m", "1h")),
        Param("dialect", params.one_of(*DIALECTS)),
        Param("tools", params.strings),
    ),
    _command(
        late.ingest,
        "Add a provider's response and its token usage",
        _ANSWERING_FORMAT,
        _BODY,
        _MODEL,
        _CREATE,
        Param("names", params.tool_names),
        Param("interrupted", params.boolean),
        may_create=True,
    ),
    _command(
        late.load,
        "Add the history of a whole provider request",
        _FORMAT,
        _BODY,
        _MODEL,
        _CREATE,
        may_create=True,
    ),
    _read(
        subscriptions.wait,
        "Wait for events after a seq",
        _needs("since", params.integer()),
        _KINDS,
        Param("timeout", params.integer(0, subscriptions.MAX_WAIT)),
    ),
    Method(
        "subscribe",
        Signature(
            (
                Param("agent", params.string),
                _SINCE,
                Param("view", params.one_of("messages", "conversation", "none")),
                _KINDS,
                Param("time", params.integer()),
            )
        ),
        "Push the events of one agent, or of all, as they happen",
        subscriptions.subscribe,
        needs_agent=True,
    ),
    _about_the_daemon(subscriptions.unsubscribe, "End a subscription", _needs("sub", params.integer())),
    _read(subscriptions.draft, "Show subscribers a text that is being typed", _needs("text", params.free_text)),
    Method("call_async", async_call.SIGNATURE, "Call a method; the reply comes as a push", async_call.call_async),
    _plain(
        late.verify,
        "Check the database file, the logs and the live states",
        Param("agent", params.string),
    ),
    _about_the_daemon(queries.stats, "Return counters, sizes and latencies", Param("details", params.boolean)),
    _plain(late.backup, "Write a copy of the database to a new file", _needs("path", params.absolute_path)),
    _about_the_daemon(queries.shutdown, "Finish what is in flight, commit and stop"),
)
METHODS = {method.name: method for method in _ALL}
