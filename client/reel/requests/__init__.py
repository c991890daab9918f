"""Every request of the protocol, defined once: its name, its parameters and the type of its reply.

A client is one generic ``call()`` over these functions. Both clients take them from here, and so may a program that
speaks the protocol over another transport. The modules do no I/O, and import replies, :mod:`reel.reading` and what is
below. Begin with :mod:`reel.requests.calls`.
"""

from reel.requests.calls import Call, next_page, with_idempotency_key
from reel.requests.commands import (
    add,
    append,
    change,
    clear,
    clone,
    commit,
    create,
    kill,
    mark,
    redo,
    restore,
    revive,
    rewind,
    undo,
)
from reel.requests.daemon import backup, greeting, hello, methods, ping, shutdown, stats, verify
from reel.requests.derived import difference, tree, usage
from reel.requests.erasing import prune, purge, purged, redact, retention
from reel.requests.items import add_items, items
from reel.requests.providers import ingest, load, parse, render
from reel.requests.queries import (
    agent,
    agents,
    conversation,
    edits,
    histories,
    history,
    messages,
    replay,
    search,
    state,
)
from reel.requests.subscriptions import draft, subscribe, wait
from reel.requests.turns import undo_turn

__all__ = [
    "Call",
    "add",
    "add_items",
    "agent",
    "agents",
    "append",
    "backup",
    "change",
    "clear",
    "clone",
    "commit",
    "conversation",
    "create",
    "difference",
    "draft",
    "edits",
    "greeting",
    "hello",
    "histories",
    "history",
    "ingest",
    "items",
    "kill",
    "load",
    "mark",
    "messages",
    "methods",
    "next_page",
    "parse",
    "ping",
    "prune",
    "purge",
    "purged",
    "redact",
    "redo",
    "render",
    "replay",
    "restore",
    "retention",
    "revive",
    "rewind",
    "search",
    "shutdown",
    "state",
    "stats",
    "subscribe",
    "tree",
    "undo",
    "undo_turn",
    "usage",
    "verify",
    "wait",
    "with_idempotency_key",
]
