"""Whatever comes in at any door, all that goes out is UTF-8: each reply and each push, in every framing."""

import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import msgpack
import pytest

from reel.said.formats import ANSWERING_FORMATS, FORMATS
from reeld.serving.methods import METHODS
from tests.daemon import Daemon, short_directory, until_indexed
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE

# Encodes a call with its number, method and parameters.
Lay: TypeAlias = Callable[[int, str, Any], bytes]
# Half a character and a byte that is not UTF-8, as they are, and as escapes in JSON.
HALF = "needle \ud83d \udcff"
ESCAPED = r'{"needle \ud83d": "\udfff needle", "\u0000": ["\ud800"]}'
BODY = json.dumps({"choices": [{"message": {"content": HALF, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ESCAPED}},
    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": HALF}},
]}, HALF: HALF}], "model": HALF, "usage": {HALF: 1}, "é": HALF, HALF: HALF})  # fmt: skip
ITEM = {"role": "user", "content": HALF, HALF: ESCAPED}
REQUEST = json.dumps({"model": HALF, "system": HALF, "messages": [{"role": "user", "content": HALF}]})
SAID: list[Any] = [
    HALF,
    {"role": "user", "content": HALF},
    {"role": "assistant", "content": [
        {"type": "text", "text": HALF},
        {"type": "thinking", "text": HALF, "signature": "c2ln"},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": ESCAPED},
    ], "provider_metadata": {"x": HALF}},
    {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c", "content": HALF}]},
    {"role": "user", "content": [{"type": "media", "mime_type": "image/png", "data_base64": "aaaa", "name": HALF}]},
    {"role": "user", "content": [{"type": "opaque", "provider": "p", "data_json": ESCAPED}]},
    {"kind": "note", "content": HALF, "data_json": ESCAPED},
    {"kind": "state", "content": "k", "data_json": f'{{"value": {ESCAPED}}}'},
]  # fmt: skip
# What is stored, one agent for each; then what is read again of each.
STORED: list[tuple[str, dict[str, Any]]] = [
    *(("add", {"messages": said, "create": True}) for said in SAID),
    ("add", {"items": [ITEM], "format": "openai-chat", "create": True, "refs": ["é"], "sent": [1], "tags": {"é": "é"}}),
    ("add", {"items": [{HALF: ESCAPED}], "messages": [[HALF]], "format": "x-mine", "create": True}),
    ("create", {"system": HALF, "title": HALF}),
    ("ingest", {"format": "openai-chat", "body": BODY, "create": True}),
    ("ingest", {"format": "openai-chat", "body": BODY, "create": True, "interrupted": True}),
    ("load", {"format": "anthropic", "body": REQUEST, "create": True}),
    ("load", {"format": "openai-chat", "body": REQUEST, "create": True}),
]
READ: list[tuple[str, dict[str, Any]]] = [
    ("agent", {}),
    ("messages", {}),
    ("messages", {"view": "conversation"}),
    *(("messages", {"format": name}) for name in FORMATS),
    ("history", {}),
    ("history", {"live": True, "inherited": True}),
    ("state", {}),
    ("replay", {"view": "messages"}),
    *(("render", {"format": name, "open": "close", "model": "m", "extra": {"max_tokens": 9}}) for name in FORMATS),
    ("change", {"title": HALF}),
    ("draft", {"text": HALF}),
    ("redact", {"text": ["needle"]}),
    ("kill", {"reason": HALF}),
]
REPLACED = "\ufffd".encode()
VALUES: list[Any] = [HALF, [HALF], {HALF: HALF}, ESCAPED, [{"role": HALF, HALF: HALF}], f"/{HALF}"]
SENSIBLE: dict[str, Any] = {"messages": "hello", "query": "needle", "text": "hello", "body": BODY, "parts": [], "at": 1}


def hostile() -> Iterator[tuple[str, Any]]:
    """Yield calls of each method with each value as each parameter, beside sensible ones; and of no method."""
    for method in METHODS.values():
        given = {param.name: SENSIBLE.get(param.name, "u") for param in method.signature.params if not param.optional}
        given |= {"format": ANSWERING_FORMATS[0]} if "format" in given else {}
        names = [param.name for param in method.signature.params]
        for name in names if method.name not in {"shutdown", "verify"} else ():
            yield from ((method.name, given | {name: value}) for value in VALUES)
        yield method.name if method.name != "shutdown" else HALF, {HALF: HALF}
        yield "call_async", {"token": HALF, "method": method.name, "params": {HALF: HALF}}
    yield HALF, [HALF]
    yield "call_async", {"token": "é", "method": HALF, "params": [HALF]}
    yield "call_async", {"token": "é", "method": "agent", "params": [HALF]}
    yield "stats", {"details": True}
    yield "agents", {"details": True, "state": True}


def call_of(agent: str, call: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return a call about an agent."""
    method, params = call
    return method, {"agent": agent, **params}


def packed(number: int, method: str, params: Any) -> bytes:
    """Encode a call as MessagePack-RPC."""
    return msgpack.packb([0, number, method, [params]], unicode_errors="surrogatepass")


def line(number: int, method: str, params: Any) -> bytes:
    """Encode a call as a line of JSON."""
    return json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n"


def headed(number: int, method: str, params: Any) -> bytes:
    """Encode a call behind its length."""
    body = line(number, method, params)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answers_in(said: bytes) -> int:
    """Return how many answers were said, none of which is internal; fail if a text in them is not UTF-8."""
    if said[:1] in b"{C":
        lines = [each for each in said.decode().replace("Content-Length", "\nContent-Length").splitlines() if each]
        messages = [json.loads(each) for each in lines if each[0] == "{"]
        assert not any("\ud800" <= character <= "\udfff" for each in messages for character in str(each))
        answers = [each.get("error") for each in messages if "id" in each]
    else:
        frames = list(msgpack.Unpacker(BytesIO(said), strict_map_key=False, max_buffer_size=0))
        answers = [frame[2] for frame in frames if frame[0] == 1]
    assert not [error for error in answers if "internal" in str(error)]
    return len(answers)


def rest(stream: socket.socket) -> bytes:
    """Send nothing more, and read what the daemon says until it hangs up."""
    stream.shutdown(socket.SHUT_WR)
    return b"".join(iter(lambda: stream.recv(1 << 20), b""))


@contextmanager
def connected(daemon: Daemon) -> Iterator[socket.socket]:
    """Connect to a daemon."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(PATIENCE)
        stream.connect(daemon.socket)
        yield stream


def said_to(daemon: Daemon, lay: Lay, calls: Iterable[tuple[str, Any]]) -> bytes:
    """Make calls on a connection of their own, and return everything that the daemon says, which is UTF-8."""
    made = [lay(number, *call) for number, call in enumerate(calls)]
    with connected(daemon) as stream:
        stream.sendall(b"".join(made))
        said = rest(stream)
    assert len(made) == answers_in(said)
    return said


@pytest.fixture(scope="module")
def oddly_placed() -> Iterator[Daemon]:
    """A daemon whose database has a name that is not UTF-8."""
    with short_directory() as directory:
        daemon = ForkedDaemon(directory)
        place = os.fsencode(directory) + b"/\xff\xc3"
        Path(os.fsdecode(place)).mkdir()
        daemon.database = os.fsdecode(place + b"/r.db")
        yield daemon.start()
        daemon.close()


@pytest.mark.parametrize("lay", [packed, line, headed])
def test_all_that_goes_out_is_utf_8(oddly_placed: Daemon, lay: Lay) -> None:
    """Each call with a text that UTF-8 cannot encode gets an answer that is UTF-8, and so is what is pushed of it."""
    names = [f"{lay.__name__}-{at}" for at in range(len(STORED))]
    with oddly_placed.client() as witness, connected(oddly_placed) as ear:
        witness.add("u", "hello", create=True)
        ear.sendall(lay(0, "subscribe", {"view": "conversation"}))
        said_to(oddly_placed, lay, (call_of(name, call) for name, call in zip(names, STORED, strict=True)))
        assert set(names) <= {each.name for each in witness.iter_agents()}
        until_indexed(witness)
        for query in ({"query": "needle"}, {"query": "needle", "order": "best"}):
            assert REPLACED in said_to(oddly_placed, lay, [("search", query)])
        said_to(oddly_placed, lay, (call_of(name, call) for call in READ for name in names))
        said_to(oddly_placed, lay, hostile())
        pushed = rest(ear)

    assert 1 == answers_in(pushed)
    assert REPLACED in pushed
