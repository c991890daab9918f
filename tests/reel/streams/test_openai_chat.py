"""Chunks of chat completions, from OpenAI and from other servers."""

from typing import Any

import pytest

from reel.streams.openai_chat import OpenAIChat
from tests.reel.streams.samples.openai_chat import call_piece, chunk


def fold(*chunks: dict[str, Any]) -> OpenAIChat:
    assembler = OpenAIChat()
    for each in chunks:
        assembler.feed("", each)
    return assembler


def message(*deltas: dict[str, Any]) -> dict[str, Any]:
    (choice,) = fold(*map(chunk, deltas)).body()["choices"]
    found: dict[str, Any] = choice["message"]
    return found


@pytest.mark.parametrize(
    "pieces",
    [
        [(0, "a", '{"x":'), (0, None, "1}"), (0, "b", "{}")],
        [(None, "a", '{"x":'), (None, None, "1}"), (None, "b", "{}")],
        [(0, "a", '{"x":'), (0, "a", "1}"), (0, "b", "{}")],
        [(0, "a", '{"x":'), (1, "b", "{}"), (0, None, "1}")],
        [(0, "a", '{"x":'), (1, "b", "{}"), (0, "", "1}")],
    ],
)
def test_pieces_find_their_call(pieces: list[tuple[int | None, str | None, str]]) -> None:
    """Calls are told apart by their index, or by their id if the index is missing or always the same."""
    deltas = [
        {
            "tool_calls": [
                {k: v for k, v in (("index", i), ("id", name)) if v is not None} | {"function": {"arguments": a}}
            ]
        }
        for i, name, a in pieces
    ]

    assert [("a", '{"x":1}'), ("b", "{}")] == [
        (call["id"], call["function"]["arguments"]) for call in message(*deltas)["tool_calls"]
    ]


@pytest.mark.parametrize("names", [["look_up"], ["look", "_up"], ["look_up", "look_up", "", "look_up"]])
def test_the_name_of_a_tool_in_pieces(names: list[str]) -> None:
    """It comes at once, in pieces, or whole with every piece of the arguments."""
    pieces = [{"tool_calls": [{"index": 0, "id": "a", "function": {"name": name, "arguments": "1"}}]} for name in names]
    (call,) = message(*pieces)["tool_calls"]

    assert {"name": "look_up", "arguments": "1" * len(names)} == call["function"]


def test_arguments_that_break_off() -> None:
    """Incomplete arguments are kept as they arrived."""
    (call,) = message(call_piece(0, '{"ci', id="a", type="function", name="f"))["tool_calls"]

    assert {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"ci'}} == call


def test_a_custom_tool() -> None:
    """The input of a custom tool grows like arguments."""
    head = {"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]}
    (call,) = message(head, {"tool_calls": [{"index": 0, "custom": {"input": " -l"}}]})["tool_calls"]

    assert {"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}} == call


def test_a_refusal_is_text() -> None:
    """A refusal grows like text, and is shown."""
    assembler = OpenAIChat()

    assert ["I ", "cannot."] == [assembler.feed("", chunk({"refusal": text})) for text in ("I ", "cannot.")]
    assert "I cannot." == assembler.body()["choices"][0]["message"]["refusal"]


def test_other_fields_grow_too() -> None:
    """Texts of other servers grow, lists are joined, audio too, and ids stay."""
    first = {"reasoning_content": "a", "annotations": [1], "role": "assistant", "audio": {"id": "x", "data": "AA"}}
    second = {"reasoning_content": "b", "annotations": [2], "role": "assistant", "audio": {"id": "x", "data": "BB"}}
    last = {"audio": {"expires_at": 5, "data": None}, "content": None, "n": 1}

    assert {
        "role": "assistant",
        "content": None,
        "reasoning_content": "ab",
        "annotations": [1, 2],
        "n": 1,
        "audio": {"id": "x", "data": "AABB", "expires_at": 5},
    } == message(first, second, last)


def test_content_that_becomes_a_list() -> None:
    """A text before the first part is a part, too."""
    found = message({"content": "a"}, {"content": [{"type": "thinking", "thinking": "b"}]}, {"content": "c"})

    assert ["text", "thinking", "text"] == [part["type"] for part in found["content"]]


def test_logprobs_are_put_together() -> None:
    """Lists of other servers continue, and null counts as absent."""
    chunks = [
        chunk({}, choices=[{"index": 0, "delta": {}, "logprobs": each}])
        for each in ({"content": [1], "refusal": None}, None, {"content": [2]})
    ]

    assert {"content": [1, 2], "refusal": []} == fold(*chunks).body()["choices"][0]["logprobs"]


def test_several_choices() -> None:
    """All choices are kept; the first is shown and decides whether the answer is complete."""
    assembler = OpenAIChat()
    second = {"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}
    shown = assembler.feed("", chunk({}, choices=[second, {"index": 0, "delta": {"content": "a"}}]))

    assert ("a", False) == (shown, assembler.complete)
    assert ["a", "b"] == [choice["message"]["content"] for choice in assembler.body()["choices"]]


def test_when_a_completion_is_complete() -> None:
    """A reason is one, and so is [DONE] after something came."""
    unfinished, empty = fold(chunk({"content": "a"})), fold()
    unfinished.done()
    empty.done()

    assert (True, True, False) == (fold(chunk({}, "stop")).complete, unfinished.complete, empty.complete)


@pytest.mark.parametrize("reason", ["", "null"])
def test_what_servers_send_in_place_of_no_reason(reason: str) -> None:
    """It ends nothing, and does not replace the reason that came before."""
    begun = fold(chunk({"content": "a"}, reason))
    ended = fold(chunk({"content": "a"}, reason), chunk({}, "stop"), chunk({}, reason))

    assert (False, True) == (begun.complete, ended.complete)
    assert [None, "stop"] == [found.body()["choices"][0]["finish_reason"] for found in (begun, ended)]


def test_other_fields_of_a_choice() -> None:
    """The newest value of a field that only some servers send is kept; ``null`` does not replace it."""
    choices = [{"index": 0, "delta": {"content": "a"}, "stop_reason": value} for value in (None, 7, None)]
    folded = fold(*({"choices": [choice]} for choice in choices))

    assert 7 == folded.body()["choices"][0]["stop_reason"]


def test_a_whole_completion_is_one_chunk() -> None:
    """Its message counts, unless there is a delta beside it, which some servers send with the message so far."""
    called = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": "Hi", "tool_calls": [called]}
    whole = {"choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]}
    beside = {"choices": [{"index": 0, "message": {"content": "Hi"}, "delta": {"content": "i"}}]}

    assert whole["choices"] == fold(whole).body()["choices"]
    assert "Hi" == fold(chunk({"content": "H"}), beside).body()["choices"][0]["message"]["content"]


def test_null_is_no_piece() -> None:
    """A call announced without arguments has none until they arrive."""
    head = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": None}}]}
    (call,) = message(head, call_piece(0, "{}"))["tool_calls"]

    assert {"name": "f", "arguments": "{}"} == call["function"]
