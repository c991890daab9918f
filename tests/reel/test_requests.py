"""Each request has the protocol's name and parameters."""

import inspect
import json
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from reel import replies, requests
from reel.base.errors import InvalidMessage, InvalidParams
from reel.requests import Call

# PROTOCOL, section 5: the parameters in order; with ``*`` the two that every command has besides.
SIGNATURES = {
    "hello": "client? protocol? notify? errors?",
    "ping": "",
    "methods": "",
    "create": "agent? system? title? tags? *",
    "add": "agent messages create? from? tags? if_stands? *",
    "add_items": "agent items format create? from? tags? model? messages? refs? sent? if_stands? *",
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
    "messages": "agent since? limit? last? at? max_bytes?",
    "items": "agent format since? limit? last? at? max_bytes?",
    "conversation": "agent since? limit? last? at? max_bytes?",
    "history": "agent since? limit? kinds? inherited? max_bytes? refs? last? before? live? tokens?",
    "histories": "agents since? limit? kinds? max_bytes? tokens?",
    "state": "agent keys? at? after? limit? max_bytes?",
    "replay": "agent at? view? strict? since? limit? max_bytes?",
    "render": "agent format at? model? extra? budget? open? pin? after? cache? dialect? tools? then? upto?",
    "ingest": "agent format body model? create? names? interrupted? prefix? if_stands? *",
    "parse": "format body model? names? interrupted?",
    "load": "agent format body model? create? *",
    "edits": "path? agent? deed? command? dirs? without_tag? limit? after? texts? wait?",
    "search": "query agent? tags? roles? kinds? live? since? until? order? limit? after? dirs? snippet? wait?"
    " without_tag? thinking? candidates?",
    "wait": "agent since kinds? timeout?",
    "subscribe": "agent? since? view? kinds?",
    "draft": "agent text",
    "verify": "agent?",
    "backup": "path",
    "stats": "details?",
    "shutdown": "",
}
VALUES: dict[str, Any] = {
    "deed": "ran",
    "texts": False,
    "command": "make",
    "query": "words",
    "events": [{"role": "user", "content": "hi"}],
    "roles": [],
    "live": False,
    "until": 0,
    "before": 1,
    "keep": [],
    "records": [(2, "{}")],
    "gone": [(1, 2)],
    "agent": "demo",
    "agents": [],
    "source": "a1",
    "short": False,
    "dirs": [],
    "thinking": False,
    "tokens": False,
    "candidates": False,
    "system": "be brief",
    "title": "",
    "tags": {},
    "messages": [],
    "items": "[]",
    "sent": [],
    "keys": [],
    "parts": [{"method": "create"}],
    "create": False,
    "from": 1,
    "name": "n",
    "at": 0,
    "into": "other",
    "label": "x",
    "reason": "done",
    "seqs": [1],
    "force": False,
    "dry_run": False,
    "backups": [],
    "also": [],
    "cascade": False,
    "prefix": "",
    "alive": False,
    "limit": 0,
    "after": "a1",
    "cache": "5m",
    "dialect": "kimi",
    "tools": ["look"],
    "then": ["And?"],
    "upto": 0,
    "without_tag": "private",
    "since": 0,
    "last": 0,
    "max_bytes": 0,
    "order": "updated",
    "details": False,
    "state": False,
    "kinds": [],
    "inherited": False,
    "refs": [],
    "view": "messages",
    "strict": False,
    "if_stands": 0,
    "if_seq": 0,
    "key": "k",
    "client": {},
    "protocol": {},
    "notify": [],
    "errors": "text",
    "format": "anthropic",
    "model": "m",
    "extra": {},
    "budget": 0,
    "open": "close",
    "pin": "x",
    "body": "{}",
    "names": {},
    "interrupted": False,
    "timeout": 0,
    "text": "",
    "path": "/copy.db",
    "snippet": 0,
    "wait": 0,
    "ids": ["a1"],
    "now": False,
}
# Parameters that the clients have and the protocol has not.
OURS = {"create": {"exist_ok"}, "redact": {"pattern"}}
# Parameters that are called otherwise in Python.
PYTHON = {"from": "from_"}
# Methods with the same parameters under another name.
FIXED = {"conversation": {"view": "conversation"}}
# Requests that are another form of a method.
FORMS = {"conversation": "messages", "items": "messages", "add_items": "add"}

# Functions that work on calls or begin a connection, and the type of a call.
HELPERS = {"Call", "greeting", "next_page", "with_idempotency_key"}
# What takes several requests, each depending on the replies before it.
DERIVED = {"difference", "tree", "undo_turn", "usage"}

every_request = pytest.mark.parametrize("name", list(SIGNATURES))


def named(signature: str) -> list[str]:
    """Return the names of all parameters, also those of every command."""
    return signature.replace("*", "if_seq? key?").replace("?", "").split()


def required(signature: str) -> list[str]:
    """Return the names of the required parameters."""
    return [word for word in signature.split() if word.isalpha()]


def request(name: str) -> Callable[..., Call[Any]]:
    """Return the function of a request."""
    found: Callable[..., Call[Any]] = getattr(requests, name)
    return found


def test_every_request_is_tried() -> None:
    """A new request needs a row in the table above."""
    assert {*requests.__all__} - HELPERS - DERIVED == set(SIGNATURES)


@every_request
def test_what_a_request_sends(name: str) -> None:
    """Its parameters are the protocol's, in its order; an omitted or null one is not sent."""
    ours = OURS.get(name, set())
    given_values = {parameter: VALUES[parameter] for parameter in required(SIGNATURES[name])}
    nulls = dict.fromkeys(PYTHON.get(word, word) for word in named(SIGNATURES[name]))
    expected = {**given_values, **FIXED.get(name, {})}

    assert [PYTHON.get(word, word) for word in named(SIGNATURES[name])] == [
        parameter for parameter in inspect.signature(request(name)).parameters if parameter not in ours
    ]
    assert expected == request(name)(**given_values).params
    assert expected == request(name)(**{**nulls, **given_values}).params


@every_request
def test_what_is_given_is_sent(name: str) -> None:
    """A given parameter is sent, even if it is zero, false or empty."""
    given_values = {parameter: VALUES[parameter] for parameter in named(SIGNATURES[name])}
    in_python = {PYTHON.get(word, word): value for word, value in given_values.items()}

    assert {**given_values, **FIXED.get(name, {})} == request(name)(**in_python).params


@every_request
def test_a_request_names_its_method(name: str) -> None:
    """A request has the name of its method, unless it is another form of one; a client adds a key to commands only."""
    given_values = {parameter: VALUES[parameter] for parameter in required(SIGNATURES[name])}
    call = request(name)(**given_values)

    assert FORMS.get(name, name) == call.method
    assert ("key" in named(SIGNATURES[name])) is call.writes


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("hi", "hi"),
        (["hi"], ["hi"]),
        (("hi", {"role": "user", "content": "x"}), ["hi", {"role": "user", "content": "x"}]),
        ((word for word in ("a", "b")), ["a", "b"]),
        ({"role": "user", "content": "x"}, [{"role": "user", "content": "x"}]),
        (MappingProxyType({"kind": "note"}), [{"kind": "note"}]),
        ([MappingProxyType({"kind": "note"})], [{"kind": "note"}]),
    ],
)
def test_messages_to_add(messages: Any, expected: Any) -> None:
    """A string stays a string, a single message goes as a list of it, any other iterable as a list."""
    assert expected == requests.add("demo", messages).params["messages"]


class Sdk:
    """An object of a provider's SDK."""

    def model_dump_json(self, *, by_alias: bool) -> str:
        return '{"role":"user"}' if by_alias else ""


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("[1]", "[1]"),
        ([], "[]"),
        ([{"a": 2**70}, '{"b": 1e400}', Sdk()], '[{"a":1180591620717411303424},{"b": 1e400},{"role":"user"}]'),
        (iter([MappingProxyType({"a": 1})]), '[{"a":1}]'),
    ],
)
def test_items_to_add(items: Any, expected: str) -> None:
    """Items are sent as JSON, in which every number of theirs is what it was."""
    assert expected == requests.add_items("demo", items, "anthropic").params["items"]


def test_items_of_ones_own_format() -> None:
    """They are sent with the messages of each."""
    said: Any = iter([({"role": "user", "content": "hi"},)])
    made = requests.add_items("demo", [{"a": 1}], "x-mine", messages=said)

    assert [[{"role": "user", "content": "hi"}]] == made.params["messages"]


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ({"role": "user"}, "items: expected an iterable of items, got a dict"),
        (b"[]", "got a bytes"),
        (7, "got a int"),
        ([{}, 7], r"items\[1\]: expected text, a map, or an object"),
        ([{"a": math.nan}], r"items\[0\]: "),
    ],
)
def test_what_is_no_item_is_not_sent(items: Any, why: str) -> None:
    """The error has the place of the item."""
    with pytest.raises((InvalidParams, InvalidMessage), match=why):
        requests.add_items("demo", items, "anthropic")


@pytest.mark.parametrize("messages", [5, 5.0, True, b"hi", bytearray(b"hi"), object()])
def test_what_is_not_messages(messages: Any) -> None:
    """A value that cannot be messages is refused before it is sent, and the error shows it."""
    with pytest.raises(InvalidParams) as caught:
        requests.add("demo", messages)

    assert (
        f"messages: expected a string, a message or an iterable of messages, got {messages!r}"
    ) == caught.value.message
    assert {"field": "messages"} == caught.value.data


@pytest.mark.parametrize("element", [5, None, b"hi", ["hi"], object()])
def test_an_element_that_is_not_a_message(element: Any) -> None:
    """The error shows the element with its index, before anything is sent."""
    with pytest.raises(InvalidMessage) as caught:
        requests.add("demo", ["fine", element])

    assert f"messages[1]: expected a string, a message or a record, got {element!r}" == caught.value.message
    assert {"index": 1, "field": "role"} == caught.value.data


def test_a_long_value_is_cut_in_the_error() -> None:
    """The error is short, however large the value is."""
    with pytest.raises(InvalidParams) as caught:
        requests.add("demo", b"x" * 10_000)  # type: ignore[arg-type]

    assert len(caught.value.message) < 200


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
@pytest.mark.parametrize("more", [{}, {"image": b"x"}])
def test_numbers_of_an_answer_that_json_does_not_have(number: str, more: dict[str, Any]) -> None:
    """No answer is refused for a number: a map is sent as the daemon reads its text. A request is refused."""
    body = {**json.loads(f'{{"usage": [{number}]}}'), **more}
    word = number if number != "1e400" else "Infinity"

    assert [word] == json.loads(requests.ingest("demo", "anthropic", body).params["body"])["usage"]
    with pytest.raises(InvalidParams, match="body: "):
        requests.load("demo", "anthropic", body)


def test_extra_may_be_text() -> None:
    """The top of a body is a map, or JSON text if it is deep."""
    assert '{"a": 1}' == requests.render("demo", "gemini", extra='{"a": 1}').params["extra"]


def test_a_prefix_goes_as_it_came() -> None:
    """The result of an earlier rendering can be passed to the next."""
    assert {"messages": 2, "hash": "ab"} == requests.render("demo", "gemini", after=replies.Prefix(2, "ab")).params[
        "after"
    ]


def test_an_older_daemon_is_not_given_a_prefix_with_an_answer() -> None:
    """It gave none with a hash of the body, and its ``ingest`` refuses the parameter."""
    known = replies.Prefix(2, "ab", "cd")

    assert "prefix" not in requests.ingest("demo", "gemini", "{}", prefix=replies.Prefix(2, "ab")).params
    assert known._asdict() == requests.ingest("demo", "gemini", "{}", prefix=known).params["prefix"]


def test_kinds_go_as_a_list() -> None:
    """Kinds may be given as any sequence."""
    assert ["user", "note"] == requests.history("demo", kinds=("user", "note")).params["kinds"]
