"""The method table, the protocol's document and the client's requests say the same."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from reel import requests
from reel.base.errors import InvalidRequest
from reel.requests import Call
from reeld.agents.idempotency import CommandOptions
from reeld.protocol.signature import given
from reeld.serving.methods import METHODS

# PROTOCOL, section 5: the parameters in order; ``*`` means the two that every command has as well.
PROTOCOL = {
    "hello": "client? protocol? notify? errors?",
    "ping": "",
    "methods": "",
    "create": "agent? system? title? tags? *",
    "add": "agent messages? create? from? tags? items? format? model? refs? sent? if_stands? *",
    "append": "agent events *",
    "clear": "agent *",
    "clone": "agent name? at? into? sent? *",
    "mark": "agent label? *",
    "rewind": "agent label? *",
    "restore": "agent at *",
    "undo": "agent *",
    "redo": "agent *",
    "kill": "agent reason? cascade? *",
    "revive": "agent cascade? *",
    "change": "agent name? title? tags? *",
    "commit": "parts key?",
    "redact": "agent seqs? text? dry_run? backups? *",
    "prune": "agent before? until? dry_run? keep? records? gone? *",
    "purge": "agent cascade? force? dry_run? backups? also? *",
    "retention": "dry_run? now?",
    "purged": "ids",
    "agents": "prefix? alive? limit? after? max_bytes? order? details? query? tags? state? source? short? without_tag?"
    " ids? dirs?",
    "agent": "agent without_tag?",
    "facts": "agent",
    "messages": "agent since? limit? last? at? view? max_bytes? format?",
    "answer": "agent code?",
    "history": "agent since? limit? kinds? inherited? max_bytes? refs? last? before? live? tokens?",
    "histories": "agents since? limit? kinds? max_bytes? tokens?",
    "state": "agent keys? at? after? limit? max_bytes?",
    "replay": "agent at? view? strict? since? limit? max_bytes?",
    "search": "query agent? tags? roles? kinds? live? since? until? order? limit? after? dirs? snippet? wait?"
    " without_tag? thinking? candidates?",
    "edits": "path? agent? deed? command? dirs? without_tag? limit? after? texts? wait?",
    "hits": "query limit? after? above? order? wait?",
    "render": "agent format at? model? extra? budget? open? pin? after? cache? dialect? tools? then? upto?",
    "ingest": "agent format body model? create? names? interrupted? prefix? if_stands? *",
    "parse": "format body model? names? interrupted?",
    "load": "agent format body model? create? *",
    "call_async": "token method params?",
    "wait": "agent since kinds? timeout?",
    "subscribe": "agent? since? view? kinds? time? at?",
    "unsubscribe": "sub",
    "draft": "agent text",
    "verify": "agent?",
    "backup": "path",
    "stats": "details?",
    "shutdown": "",
}
# The client has a request of its own for each form of these methods; together they have all parameters.
FORMS = {"messages": ("messages", "conversation", "items"), "add": ("add", "add_items")}
VIEWS = {form: name for name, forms in FORMS.items() for form in forms}
# A subscription of the client has its own connection, and ends with it; the client waits and drafts in its own way.
# Editors copy answers, and show facts and hits.
UNSENT = {"unsubscribe", "call_async", "answer", "facts", "hits"}
# What the client computes from the replies to several requests, and what is no request.
DERIVED = {"difference", "tree", "undo_turn", "usage"}
HELPERS = {"Call", "greeting", "next_page", "with_idempotency_key"}
# A value of each parameter that a method requires.
VALUES = {
    "agent": "demo",
    "agents": ["a1"],
    "messages": "hi",
    "events": [{"role": "user", "content": "hi"}],
    "at": 1,
    "since": 3,
    "text": "so far",
    "format": "gemini",
    "body": "{}",
    "path": "/copy.db",
    "ids": ["1"],
    "query": "words",
    "parts": [{"method": "create"}],
}
# Parameters of the client, which decides by them what to send.
OURS = {"exist_ok", "pattern"}
# What a subscription adds when it connects again, and what only editors give: no caller does.
ADDED = {"subscribe": ["time?", "at?"]}


def sent() -> Iterator[tuple[str, list[str], bool]]:
    """Return each request of the client: the method, its parameters as in the table, whether it writes."""
    for name in sorted({*requests.__all__} - DERIVED - HELPERS):
        parameters = inspect.signature(getattr(requests, name)).parameters.values()
        own = [(p.name.rstrip("_"), p.default is None) for p in parameters if p.name not in OURS]
        shown = [f"{name}?" if optional else name for name, optional in own]
        shown += ADDED.get(name, [])
        yield VIEWS.get(name, name), shown, "key?" in shown


def test_the_table_is_the_protocol() -> None:
    """The table has exactly the methods of the protocol's document, with their parameters in order."""
    expected = {name: shown.replace("*", "if_seq? key?").split() for name, shown in PROTOCOL.items()}

    assert expected == {name: method.signature.shown() for name, method in METHODS.items()}


def test_the_client_sends_what_the_table_has() -> None:
    """Client and daemon agree on every method and parameter."""
    for name, shown, writes in sent():
        method = METHODS[name]
        if name not in FORMS:
            assert method.signature.shown() == shown, name
        assert method.is_command == writes, name
    for name, forms in FORMS.items():
        parameters = {
            word.rstrip("_") for form in forms for word in inspect.signature(getattr(requests, form)).parameters
        }
        assert parameters == {param.name for param in METHODS[name].signature.params} - {"view"}, name
    assert set(METHODS) - UNSENT == {name for name, _, _ in sent()}


@pytest.mark.parametrize("name", sorted(set(METHODS) - UNSENT))
def test_requests_are_bound(name: str) -> None:
    """The daemon accepts what a request with its required parameters sends."""
    # An `add` has messages or items, and so requires neither.
    signature = METHODS[name].signature.params
    required = [param.name for param in signature if not param.optional or param.name == "messages"]
    call: Call[object] = getattr(requests, name)(*(VALUES[name] for name in required))

    assert [VALUES[name] for name in required] == METHODS[name].signature.bind([call.params])[0][: len(required)]
    assert call.writes == METHODS[name].is_command


def test_every_method_has_a_summary() -> None:
    """Each method has a summary of one line."""
    for method in METHODS.values():
        assert method.summary[0].isupper(), method.name
        assert not method.summary.endswith("."), method.name
        assert "\n" not in method.summary, method.name


class Untouched:
    """A part of what a handler is given: it may be looked at and passed on, but nothing of it may be called."""

    size = 10

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> "Untouched":
        return Untouched(f"{self._name}.{name}")

    def __call__(self, *_: object, **__: object) -> None:
        raise AssertionError(f"{self._name} was called before the turn of the call had come")


@pytest.mark.parametrize("name", sorted(name for name, method in METHODS.items() if not method.is_about_the_daemon))
def test_a_handler_changes_nothing_before_its_turn(name: str) -> None:
    """A handler may run several times for one call, so only what it returns changes anything."""
    method = METHODS[name]
    given_here = {**VALUES, "token": 1, "method": "ping", "seqs": [1]}
    required = [
        param.name for param in method.signature.params if not param.optional or param.name in ("messages", "seqs")
    ]
    values, _ = method.signature.bind({each: given_here[each] for each in required})
    own = values[method.needs_agent : len(values) - 2 * method.is_command + method.has_parts]
    arguments: list[Any] = [Untouched("services"), Untouched("call")]
    arguments += [Untouched("agent")] * method.needs_agent + [CommandOptions()] * method.is_command

    try:
        work = method.handler(*arguments, given(method.params, own))
    except InvalidRequest:
        assert "call_async" == name
    else:
        assert not isinstance(work, dict)
