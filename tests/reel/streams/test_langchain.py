"""Chunks of LangChain's, in every serialized form."""

from typing import Any

import pytest

from reel.streams.langchain import LangChain


def fold(*chunks: dict[str, Any]) -> LangChain:
    """Fold some chunks."""
    assembler = LangChain()
    for each in chunks:
        assembler.feed("", each)
    return assembler


def chunk(content: Any = "", **more: Any) -> dict[str, Any]:
    """Make a chunk."""
    return {"type": "AIMessageChunk", "content": content, **more}


@pytest.mark.parametrize("wrap", [lambda found: found, lambda found: {"type": "AIMessageChunk", "data": found},
                                  lambda found: {"lc": 1, "id": ["AIMessageChunk"], "kwargs": found}])  # fmt: skip
def test_texts_grow(wrap: Any) -> None:
    """In any form; the id is the first one."""
    assembler = LangChain()

    assert ["a", "b"] == [assembler.feed("", wrap(chunk(words, id=words))) for words in "ab"]
    assert {"type": "ai", "id": "a", "content": "ab"} == assembler.body()
    assert not assembler.complete


@pytest.mark.parametrize(
    "last",
    [
        chunk(chunk_position="last"),
        chunk(response_metadata={"finish_reason": "stop"}),
        chunk(response_metadata={"stop_reason": "end_turn"}),
        {"type": "ai", "content": "b"},
    ],
)
def test_the_last_chunk_says_so(last: dict[str, Any]) -> None:
    """Or it says why the answer ended; a whole message is the last one."""
    assert fold(chunk("a"), last).complete


def test_a_stream_that_ends_with_done() -> None:
    """It is complete, if anything came."""
    assembler = fold(chunk("a"))
    assembler.done()
    nothing = LangChain()
    nothing.done()

    assert (True, False, {}) == (assembler.complete, nothing.complete, nothing.body())


def test_calls_grow_by_their_index() -> None:
    """One without an index has its id; what is no call counts as empty."""
    pieces = [
        [{"name": "look", "args": '{"a"', "id": "c1", "index": 0}],
        [{"name": None, "args": ":1}", "id": None, "index": 0}, {"name": "now", "args": "{}", "id": "c2"}, 5],
    ]

    assert [("look", '{"a":1}', "c1"), ("now", "{}", "c2"), (None, "", None)] == [
        (call.get("name"), call["args"], call["id"])
        for call in fold(*(chunk(tool_call_chunks=each) for each in pieces)).body()["tool_calls"]
    ]


def test_whole_calls_are_kept() -> None:
    """A message that was not streamed has no pieces."""
    calls = [{"name": "now", "args": {}, "id": "c"}]

    assert (
        calls == fold({"type": "ai", "content": "", "tool_calls": calls, "invalid_tool_calls": []}).body()["tool_calls"]
    )


def test_blocks_without_an_index_stand_alone() -> None:
    """A text before the first block is a block, too."""
    body = fold(chunk("a"), chunk([{"type": "text", "text": "b"}, {"type": "x", "y": None}]), chunk([5])).body()

    assert [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "x"}, {}] == body["content"]


def test_what_is_beside_the_content() -> None:
    """Texts grow, counts add up, and of other values the last one counts."""
    body = fold(
        chunk(additional_kwargs={"reasoning_content": "a", "x": 1}, usage_metadata={"n": 1, "d": {"m": 1}, "s": None}),
        chunk(
            additional_kwargs={"reasoning_content": "b", "x": None}, usage_metadata={"n": 2, "d": {"m": 1}, "s": "x"}
        ),
        chunk(name="ada", response_metadata={"model_name": "m"}),
    ).body()

    assert {"reasoning_content": "ab", "x": 1} == body["additional_kwargs"]
    assert {"n": 3, "d": {"m": 2}, "s": "x"} == body["usage_metadata"]
    assert ("ada", {"model_name": "m"}) == (body["name"], body["response_metadata"])
