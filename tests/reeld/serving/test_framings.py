"""Connections that speak JSON: the same calls, results and errors as in MessagePack, and their own ways to end.

The store is real, the streams are in memory.
"""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import anyio
import pytest
from anyio.streams.stapled import StapledObjectStream

from reel.base.errors import InvalidParams, InvalidRequest, MethodNotFound, ParseError, ReelError, TooLarge
from reel.wire.frames import Id
from reeld.serving.flow import Limits
from reeld.wire.framing import Framing
from reeld.wire.json_framing import ContentLength, Lines
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect, Peer

LARGE = 64 << 20
Make: TypeAlias = Callable[[int], Framing]
in_json = pytest.mark.parametrize("make", [ContentLength, Lines])
in_all = pytest.mark.parametrize("make", [ServerMessagePack, ContentLength, Lines])

TOOL = {"type": "tool_call", "id": "c1", "name": "ls", "arguments": '{"a": [1, 2.50, "\\u0000"]}'}
RICH = [
    {"role": "system", "content": "Be brief."},
    "hi é\U0001f600\u2028\x7f",
    {"role": "assistant", "content": [{"type": "text", "text": ""}, TOOL], "provider_metadata": {"x": [1.5, None]}},
    {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "ok", "is_error": False}]},
    {"kind": "usage", "data_json": '{"deep":[[[[1]]]]}'},
]
# Each is about an agent {}, which the first of them makes.
CALLS: list[tuple[Any, ...]] = [
    ("ping",),
    ("methods",),
    (
        "hello",
        {"client": {"name": "t", "version": "1"}, "protocol": {"min": 1, "max": 1}, "notify": [], "errors": "map"},
    ),
    ("hello", {"protocol": {"min": 2}}),
    ("hello", {"client": {"version": 7}}),
    ("create", "{}", "Be kind.", "A title", {"tags": {"k": "v"}}),
    ("create", "{}"),
    ("create", {"agent": "no name!"}),
    ("add", "{}", "one"),
    ("add", "{}", RICH),
    ("add", "{}", {"messages": ["two"], "if_seq": 99}),
    ("add", {"agent": "{}", "messages": "three", "key": "{}-key"}),
    ("add", {"agent": "{}", "messages": "three", "key": "{}-key"}),
    ("add", {"agent": "{}", "messages": "four", "key": "{}-key"}),
    ("add", "{}", []),
    ("add", "{}"),
    ("add", "{}", {"role": "user"}),
    ("add", "{}", "x", None, None, None, None),
    ("add", "{}", [{"role": "nobody"}]),
    ("add", "{}", [{"role": "user", "content": "x", "provider_metadata": {"n": 2**60}}]),
    ("add", "{}", "bad \x00 text"),
    ("add", "zed", "x"),
    ("mark", "{}", "here"),
    ("mark", "{}", "a\x00"),
    ("add", "{}", "after", {"if_seq": None}),
    ("rewind", "{}", "nowhere"),
    ("rewind", "{}", "here"),
    ("undo", "{}"),
    ("redo", "{}"),
    ("redo", "{}"),
    ("restore", "{}", 2),
    ("restore", "{}", 2.0),
    ("restore", "{}", True),
    ("restore", "{}", 2**53),
    ("undo", "{}"),
    ("agent", "{}"),
    ("messages", "{}"),
    ("messages", "{}", {"view": "conversation", "limit": 2}),
    ("messages", "{}", 1, 2, None),
    ("messages", "{}", {"views": "none"}),
    ("history", "{}"),
    ("replay", "{}"),
    ("replay", "{}", {"at": 3, "view": "conversation"}),
    ("clear", "{}"),
    ("clone", "{}", {"name": "{}-copy", "at": 3}),
    ("kill", "{}-copy", "tired"),
    ("add", "{}-copy", "x"),
    ("agents", "{}-"),
    ("change", "{}", {"tags": []}),
    ("nonsense", [], {}),
    ("call_async", 7, "ping"),
    ("agents", [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]),
]
# Values that differ each time: only their types are compared.
OTHER = frozenset(
    {"id", "agent", "time", "created", "updated", "pid", "connection", "framing", "name", "client", "killed"}
)


def masked(value: Any, agent: str, key: str = "") -> Any:
    """Replace values that differ each time by their types, and the agent's name in texts."""
    if isinstance(value, dict):
        return {name: masked(item, agent, name) for name, item in value.items()}
    if isinstance(value, list):
        return [masked(item, agent, key) for item in value]
    if key in OTHER:
        return type(value)
    return (type(value), value.replace(agent, "{}")) if isinstance(value, str) else (type(value), value)


def about(value: Any, agent: str) -> Any:
    """Put the agent's name into a call."""
    if isinstance(value, dict):
        return {name: about(item, agent) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [about(item, agent) for item in value]
    return value.replace("{}", agent) if isinstance(value, str) and value.startswith("{}") else value


async def outcomes_of(peer: Peer, agent: str) -> list[Any]:
    """Make every call, and return the outcomes in a form that can be compared."""
    outcomes: list[Any] = []
    for method, *params in CALLS:
        (outcome,) = await peer.ask((method, *about(params, agent)))
        if isinstance(outcome, ReelError):
            outcomes.append((method, type(outcome), outcome.message.replace(agent, "{}"), masked(outcome.data, agent)))
        else:
            outcomes.append((method, masked(outcome, agent)))
    return outcomes


@in_json
async def test_json_is_answered_as_messagepack_is(connect: Connect, make: Make) -> None:
    """Each call has the same result or error in both framings, types included."""
    with anyio.fail_after(PATIENCE):
        packed = connect()
        await packed.call("hello", {"errors": "map"})
        expected = await outcomes_of(packed, "agent-one")
        found = await outcomes_of(connect(framing=make(LARGE)), "agent-two")

    assert len(CALLS) == len(expected)
    for one, other in zip(expected, found, strict=True):
        assert one == other


@in_all
async def test_hello_says_the_framing(connect: Connect, make: Make) -> None:
    """Hello reports the framing."""
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        said = await connect(framing=framing).call("hello")

    assert said["framing"] == framing.name


@in_all
async def test_a_page_of_many_messages(connect: Connect, make: Make) -> None:
    """A page of many messages comes complete and in order."""
    texts = [f"{number} é {'x' * 500}" for number in range(2000)]
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make(LARGE))
        await peer.call("add", "demo", texts, True)
        page = await peer.call("messages", "demo", {"limit": 2000})

    assert texts == [message["content"][0]["text"] for message in page["messages"]]


# --- values


@in_json
@pytest.mark.parametrize(
    ("text", "expected", "replaced"),
    [
        ('"a\\u0000b"', "a\ufffdb", 1),
        ('"\\ud800"', "\ufffd", 1),
        ('"\\ud83d\\ude00"', "\U0001f600", 0),
        ('"\udcff\udc80"', "\ufffd\ufffd", 2),
    ],
)
async def test_invalid_characters_in_json(
    connect: Connect, make: Make, text: str, expected: str, replaced: int
) -> None:
    """Invalid characters are replaced and counted in free text, and refused in a name."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make(LARGE))
        added, made = await both(peer, f'"add","params":["demo",{text},true]', f'"create","params":[{text}]')
        page = await peer.call("messages", "demo")

    assert (replaced, "invalid_params") == (added["result"].get("replaced", 0), made["error"]["data"]["name"])
    assert [{"type": "text", "text": expected}] == page["messages"][0]["content"]


async def both(peer: Peer, *calls: str) -> list[dict[str, Any]]:
    """Send hand-written JSON, and return the decoded answers."""
    answers = []
    framing = peer._framing
    assert isinstance(framing, ContentLength | Lines)
    for call in calls:
        body = f'{{"jsonrpc":"2.0","id":"x","method":{call}}}'.encode(errors="surrogateescape")
        await peer.send(framing._lay(body))
        answer = await peer.answer("x")
        if isinstance(answer, ReelError):
            answers.append({"error": {"message": str(answer), "data": {**answer.data, "name": answer.name}}})
        else:
            answers.append({"result": answer})
    return answers


@in_json
@pytest.mark.parametrize("number", ["9007199254740992", "-9007199254740992", "1" + "0" * 5000, "1e999", "-1e999"])
async def test_a_number_too_large_for_messagepack(connect: Connect, make: Make, number: str) -> None:
    """A too large number in metadata is sent as text, which the reply reports; as a parameter it is refused."""
    message = f'{{"role":"user","content":"x","provider_metadata":{{"n":{number}}}}}'
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make(LARGE))
        at, plain, keyed, read, log = await both(
            peer,
            f'"restore","params":["demo",{number}]',
            f'"add","params":["demo",[{message}],true]',
            f'"add","params":{{"agent":"demo","messages":[{message}],"create":true,"key":"k"}}',
            '"messages","params":["demo"]',
            '"history","params":["demo"]',
        )

    assert at["error"]["message"].startswith("invalid_params: at: ")
    assert [1, 1] == [added["result"]["numbers_as_text"] for added in (plain, keyed)]
    assert [{"n": number}] * 2 == [said["provider_metadata"] for said in read["result"]["messages"]]
    assert f'"provider_metadata":{{"n":{number}}}' in log["result"]["events"][1]["data_json"]


@in_json
async def test_json_deeper_than_the_limit(connect: Connect, make: Make) -> None:
    """A call deeper than 16 levels is refused on its own, however deep it is."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=make(LARGE))
        deep, deeper = await both(
            peer,
            f'"agents","params":[{"[" * 16}{"]" * 16}]',
            f'"agents","params":[{"[" * 800}{"]" * 800}]',
        )

    for refused in (deep, deeper):
        assert "invalid_params: prefix: nested deeper than 16 levels" == refused["error"]["message"]


@in_json
async def test_ids_come_back_as_they_came(connect: Connect, make: Make) -> None:
    """An id is returned as it came: a string stays a string, a large number keeps its digits."""
    ids: list[Id] = ["7", 7, "", "é\n", -1, 2**70]
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(b"".join(framing.request(each, "ping", None) for each in ids))

        for each in ids:
            assert {"pong": True} == await peer.answer(each)


# --- what is wrong


@in_json
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", ParseError),
        (b'{"id":NaN}', ParseError),
        (b"[]", InvalidRequest),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', InvalidRequest),
        (b'{"id":null,"method":"ping"}', InvalidRequest),
        (b'{"id":1,"method":7}', InvalidRequest),
    ],
)
async def test_one_bad_message(
    connect: Connect, make: type[ContentLength | Lines], body: bytes, error: type[ReelError]
) -> None:
    """An invalid message gets one error without an id, and the connection goes on."""
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.call("ping")
        await peer.send(framing._lay(body))

        assert {"pong": True} == await peer.call("ping")
        assert error is type(await peer.answer(None))
        assert {} == peer._answers


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"Content-Length: x\r\n\r\n", ParseError),
        (b"Content-Length: 17000000\r\n\r\n", TooLarge),
        (b"C" * 5000, ParseError),
        (b"{" + b" " * (16 << 20), TooLarge),
    ],
    ids=["no length", "too long", "no header", "a long line"],
)
async def test_a_lost_stream(connect: Connect, data: bytes, error: type[ReelError]) -> None:
    """A lost stream gets one error and ends; earlier calls are answered."""
    framing: Framing = ContentLength() if data.startswith(b"C") else Lines()
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(framing.request(1, "ping", []))
        await peer.send(data)

        assert {"pong": True} == await peer.answer(1)
        assert error is type(await peer.answer(None))
        assert b"" == await peer.rest()
        await peer.ended.wait()


# --- the end


@in_json
@pytest.mark.parametrize("cut", [1, 3, 10_000])
async def test_half_close_in_every_framing(connect: Connect, make: Make, cut: int) -> None:
    """A half-closed peer gets every answer before our end is closed, in every framing."""
    framing = make(LARGE)
    stream = b"".join(framing.request(number, "add", ["demo", f"{number}", True]) for number in range(20))
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(stream[start : start + cut] for start in range(0, len(stream), cut))
        await peer.stream.send_eof()

        heads = [(await peer.answer(number)) for number in range(20)]
        assert b"" == await peer.rest()
    assert [1 + number for number in range(1, 21)] == [head["head"] for head in heads if isinstance(head, dict)]


async def test_a_last_line_without_its_end(connect: Connect) -> None:
    """A last line without a newline, as ``printf`` sends it, counts when the stream ends."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=Lines())
        await peer.send(b'{"id": 1, "method": "ping"}')
        await peer.stream.send_eof()

        assert b'{"jsonrpc":"2.0","id":1,"result":{"pong":true}}\n' == await peer.rest()


async def test_a_stream_that_ends_in_a_message(connect: Connect) -> None:
    """A stream that ends inside a message gets an error."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=ContentLength())
        await peer.send(b'Content-Length: 99\r\n\r\n{"id": 1, "method": "ping"}')
        await peer.stream.send_eof()

        assert "parse_error: the stream ended inside a message" == str(await peer.answer(None))
        assert b"" == await peer.rest()


# --- what is never answered


@in_all
async def test_an_editors_own_affairs(connect: Connect, make: Make, errors: Callable[[], list[str]]) -> None:
    """A notification whose method begins with ``$/`` is neither answered nor logged."""
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(framing.notify("$/cancelRequest", [{"id": 7}]))
        await peer.stream.send_eof()

        assert b"" == await peer.rest()
    assert [] == errors()


@in_all
async def test_a_request_of_an_editors_own(connect: Connect, make: Make) -> None:
    """A request whose method begins with ``$/`` is answered, as is one that is made with ``call_async``."""
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(framing.notify("call_async", ["t", "$/progress", []]))
        (outcome,) = await peer.ask(("$/progress",))
        ((name, said),) = peer.unread_pushes

    assert isinstance(outcome, MethodNotFound)
    assert "reply" == name
    assert "method_not_found" in str(said)


@in_json
async def test_notifications_in_json(connect: Connect, make: Make, errors: Callable[[], list[str]]) -> None:
    """A command without an id is carried out and not answered; its error is logged."""
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(framing.notify("add", {"agent": "demo", "messages": "hi", "create": True}))
        await peer.send(framing.notify("add", ["zed", "hi"]))

        assert 1 == (await peer.call("agent", "demo"))["messages"]
        assert ({}, []) == (peer._answers, peer.unread_pushes)
    (logged,) = errors()
    assert "notification=add failed: not_found" in logged


# --- sending


@in_json
async def test_messages_are_sent_whole(connect: Connect, make: Make) -> None:
    """Every send ends at the end of a message: Vim would lose a split one."""
    framing = make(LARGE)
    stream = b"".join(framing.request(number, "agent", ["demo"]) for number in range(200))
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.call("add", "demo", ["x" * 3000, {"role": "system", "content": "y" * 3000}], True)
        wire = peer.stream.receive_stream
        assert isinstance(wire, StapledObjectStream)
        await peer.send(stream)
        answers = 0
        while answers < 200:
            piece = await wire.receive()
            frames = make(LARGE).feed(piece)
            assert b"".join(framing.answer(frame.id, frame.result) for frame in frames) == piece  # type: ignore[union-attr,arg-type]
            answers += len(frames)

    assert 200 == answers


async def test_what_goes_out_behind_content_length(connect: Connect) -> None:
    """There is one header with one space, and the length is in bytes."""
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=ContentLength())
        await peer.send(b'content-length:40\r\nX: y\r\n\r\n{"id":"\xc3\xa9","method":"agent","params":')
        await peer.send(b"[]}")
        await peer.stream.send_eof()
        header, _, body = (await peer.rest()).partition(b"\r\n\r\n")

    assert header == f"Content-Length: {len(body)}".encode()
    assert {
        "jsonrpc": "2.0",
        "id": "é",
        "error": {
            "code": -32602,
            "message": "invalid_params: agent is missing; accepted: agent, without_tag?",
            "data": {"field": "agent", "name": "invalid_params"},
        },
    } == json.loads(body)


@in_json
async def test_busy_in_json(connect: Connect, make: Make) -> None:
    """Too many requests in flight are refused in JSON too, and the rest is answered."""
    framing = make(LARGE)
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=2), framing=framing)
        outcomes = await peer.ask(*[("stats",)] * 5)

    assert [False, False, True, True, True] == [isinstance(outcome, ReelError) for outcome in outcomes]


@in_json
async def test_too_deep_is_no_trouble_for_others(connect: Connect, make: Make) -> None:
    """Nesting that no parser can follow is one error."""
    framing = make(LARGE)
    assert isinstance(framing, ContentLength | Lines)
    with anyio.fail_after(PATIENCE):
        peer = connect(framing=framing)
        await peer.send(framing._lay(b"[" * 1_000_000))

        assert isinstance(await peer.answer(None), ParseError)
        with pytest.raises(InvalidParams):
            await peer.call("agent")
