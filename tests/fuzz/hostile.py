"""Inputs from a hostile peer: calls that make sense, calls that do not, and bytes that are no message.

Hypothesis makes everything, so that a finding is shrunk, and tried first the next time.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgpack
from hypothesis import strategies as st

from reel.said.kinds import KNOWN
from reel.streams.stream import ASSEMBLERS
from reeld.serving.methods import METHODS

# It is in every text, so that tests can search for it where it must not be.
CANARY = "canary-5d1f"
AGENTS = ["a", "b", "c/d"]

texts = st.one_of(
    st.just(CANARY),
    st.text(max_size=20).map(lambda text: CANARY + text),
    st.sampled_from(
        [
            CANARY + "\x00",
            CANARY + "\udfff",
            f'{{"{CANARY}\\ud83d": 1}}',
            CANARY * 200,
            "",
            *AGENTS,
            *ASSEMBLERS,
            *sorted(KNOWN),
        ]
    ),
)
numbers = st.one_of(
    st.integers(-2, 12),
    st.sampled_from([2**31, 2**53 - 1, 2**53, 2**63 - 1, 2**64 - 1, -(2**63)]),
    st.sampled_from([0.5, float("nan"), float("inf"), -0.0, 1e308]),
)
leaves = st.none() | st.booleans() | numbers | texts | st.binary(max_size=5)


def _nest(value: Any, levels: int, *, maps: bool) -> Any:
    for _ in range(levels):
        value = {"content": value} if maps else [value]
    return value


deep = st.builds(_nest, leaves, st.sampled_from([14, 15, 16, 17, 40, 400]), maps=st.booleans())
anything = st.recursive(
    leaves | deep,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts | st.integers(0, 3), inner, max_size=4),
    max_leaves=8,
)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_call", "tool_result", "thinking", "media", "opaque", "none"])},
    optional=dict.fromkeys(
        ("text", "id", "name", "arguments", "tool_call_id", "content", "is_error", "data_json", "mime_type"),
        texts | anything,
    ),
)
messages = st.lists(
    texts
    | st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
        optional={"content": texts | st.lists(blocks, max_size=3), "provider_metadata": anything},
    )
    | st.fixed_dictionaries(
        {"kind": st.sampled_from(sorted(KNOWN))}, optional={"content": texts, "data_json": texts | anything}
    )
    | anything,
    max_size=4,
)
bodies = st.one_of(
    texts,
    st.dictionaries(
        st.sampled_from(
            ["model", "messages", "contents", "input", "choices", "content", "candidates", "output", "tools"]
        ),
        messages | anything,
        max_size=4,
    ).map(lambda body: json.dumps(body, default=repr)),
)
# What a person may type to find something, and what nobody would.
_SYNTAX = (
    """" ( ) * - : OR AND NOT NEAR( ^ + { } a* -"a role:tool agent:a tag:a= live:no before:2026 words:a 修 é ;--"""
)
queries = st.tuples(
    st.sampled_from(["", " ", "\n"]),
    st.lists(texts | st.text(max_size=5) | st.sampled_from([*_SYNTAX.split(), "\x80kuser", "a" * 5000]), max_size=40),
).map(lambda drawn: drawn[0].join(drawn[1]))
# Plausible values of the parameters with these names.
SENSIBLE: dict[str, st.SearchStrategy[Any]] = {
    "agent": st.sampled_from(AGENTS),
    "name": st.sampled_from(["d", "e"]) | texts,
    "into": st.sampled_from(AGENTS),
    "messages": messages,
    "format": st.sampled_from(sorted(ASSEMBLERS)),
    "body": bodies,
    "extra": bodies | st.dictionaries(texts, anything, max_size=3),
    "view": st.sampled_from(["messages", "conversation", "none"]),
    "kinds": st.lists(st.sampled_from(sorted(KNOWN)), max_size=3),
    "timeout": st.integers(0, 5),
    "at": st.integers(0, 9),
    "since": st.integers(0, 9),
    "sub": st.integers(0, 3),
    "label": texts,
    "text": texts,
    "create": st.booleans(),
    "tags": st.dictionaries(texts, texts, max_size=2),
    "client": st.fixed_dictionaries(
        {}, optional={"name": st.just("nvim") | texts, "version": st.just("0.9.5") | texts}
    ),
    "protocol": st.dictionaries(st.sampled_from(["min", "max"]), numbers, max_size=2),
    "notify": st.lists(texts, max_size=3),
    "after": st.fixed_dictionaries({"messages": numbers, "hash": texts}),
    "names": st.dictionaries(texts, texts, max_size=2),
    "query": queries,
    "keys": st.lists(texts, max_size=3),
}


SENSIBLE["parts"] = st.lists(
    st.fixed_dictionaries(
        {"method": st.sampled_from(["add", "add", "create", "change", "undo"]) | anything},
        optional={name: SENSIBLE[name] for name in ("agent", "messages", "create", "tags", "name")}
        | {"if_seq": numbers, "key": texts, "from": numbers, "items": anything, "format": SENSIBLE["format"]},
    )
    | anything,
    max_size=4,
)


class Call(NamedTuple):
    """A method, and the value that is sent as its parameters."""

    method: str
    params: Any


# Adds that are accepted: they take the canary to the log, the subscribers and the renderer.
adds = st.builds(
    lambda agent, said: Call("add", [agent, said]),
    st.sampled_from(AGENTS),
    st.sampled_from([CANARY, [{"role": "user", "content": CANARY}], [{"kind": "note", "data_json": f'"{CANARY}"'}]]),
)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Make a call of a method that there is, of whose parameters some make sense; none that writes files or ends."""
    if not draw(st.integers(0, 9)):
        return draw(adds)
    method = METHODS[draw(st.sampled_from(sorted(METHODS.keys() - {"shutdown", "backup"})))]
    names = [param.name for param in method.signature.params]
    given = {
        name: draw(SENSIBLE.get(name, anything) if draw(st.integers(0, 5)) else anything)
        for name in names
        if name == "agent" or draw(st.integers(0, 2))
    }
    if "timeout" in names:  # a wait holds up the end of the connection
        given["timeout"] = draw(st.integers(0, 5))
    match draw(st.integers(0, 6)):
        case 0:
            return Call(method.name, [given.get(name) for name in names])
        case 1:
            return Call(method.name, [*list(given.values())[:1], {**given, draw(texts): 1}])
        case 2 if method.name != "wait":
            return Call(method.name, draw(anything))
    return Call(method.name, draw(st.sampled_from([given, [given]])))


def packed(number: int | None, call: Call) -> bytes:
    """Encode a call as MessagePack-RPC."""
    message = [2, call.method, call.params] if number is None else [0, number, call.method, call.params]
    return _pack(message)


_pack: Callable[[Any], bytes] = msgpack.Packer(default=repr, unicode_errors="surrogatepass").pack


def as_json(number: int | None, call: Call) -> bytes:
    """Encode a call as JSON-RPC."""
    message = {"jsonrpc": "2.0", "method": call.method, "params": call.params} | (
        {} if number is None else {"id": number}
    )
    try:
        return json.dumps(message, default=repr, ensure_ascii=number is None).encode("utf-8", "surrogateescape")
    except (UnicodeEncodeError, RecursionError):
        return json.dumps({**message, "params": None}).encode()


def as_line(number: int | None, call: Call) -> bytes:
    """Encode a call as a line."""
    return as_json(number, call) + b"\n"


def headed(number: int | None, call: Call) -> bytes:
    """Encode a call after a Content-Length header."""
    body = as_json(number, call)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


LAYOUTS = [packed, as_line, headed]
# Bytes that a decoder of each framing could fail on.
JUNK = [
    b"\xc1",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xdb\x7f\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01",
    b"\xdc\xff\xff" * 50,
    b"\x91" * 600,
    b"\x81" * 600,
    b"\x94\x00\x01\xa3add\x92\xa1a",
    b"\x94\x00\x01\xa4ping\xdc\xff\xff" + b"\x90" * 65535,
    b"\x94\x01\x01\xc0\xc0",
    b"\x93\x02\xa1x\xc0",
    b"\x90",
    b"\x94\x00\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xa4ping\x90",
    b"\xd6\xff\x00\x00\x00\x00",
    b"Content-Length: 99999999999999\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: -1\r\n\r\n",
    b"content-length:2\n\n{}",
    b"C" * 5000,
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"\r\n\r\n",
    b"[" * 5000 + b"\n",
    b'{"a":' * 2000 + b"\n",
    b"[" * 300 + b'"' + b'\\"' * 300_000 + b"\n",
    b'{"id":' + b"9" * 6000 + b"}\n",
    b'{"method":"ping","id":1e999}\n',
    b'{"method":"ping","id":null}\n',
    b'{"method":"ping","id":NaN}\n',
    b"[]\n",
    b"null\n",
    b'{"method":"$/cancelRequest","params":{"id":1}}\n',
    b'{"jsonrpc":"1.0","method":"ping"}\n',
    b"\n" * 2000,
    b"\xff\xfe\n",
    b"\x00",
]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Make the bytes of one connection: messages of one framing, complete or mutated, and junk."""
    lay = draw(st.sampled_from(LAYOUTS))
    parts = []
    for number in range(draw(st.integers(1, 5))):
        message = lay(number if draw(st.integers(0, 3)) else None, draw(calls()))
        if not draw(st.integers(0, 5)):
            message = draw(mutations(message))
        parts.append(message)
        if not draw(st.integers(0, 7)):
            parts.append(draw(st.sampled_from(JUNK) | st.binary(max_size=40)))
    return b"".join(parts)


@st.composite
def mutations(draw: st.DrawFn, data: bytes) -> bytes:
    """Cut a message, replace a byte of it, or insert bytes."""
    place = draw(st.integers(0, len(data)))
    more = draw(st.binary(max_size=4) | st.sampled_from(JUNK))
    return draw(
        st.sampled_from([data[:place], data[:place] + more + data[place + 1 :], data[:place] + more + data[place:]])
    )
