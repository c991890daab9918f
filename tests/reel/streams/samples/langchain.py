"""A stream of LangChain's chunks."""

from typing import Any

from tests.reel.streams.samples.sample import Sample, sse


def ai_chunk(content: Any, **more: Any) -> dict[str, Any]:
    """Make a chunk of LangChain's."""
    return {"type": "AIMessageChunk", "content": content, "id": "run-1", "usage_metadata": None, **more}


def part(index: int, **block: Any) -> list[dict[str, Any]]:
    """Make content with a fragment of one block."""
    return [{**block, "index": index}]


_BY = {"model_provider": "anthropic", "model_name": "claude-opus-5"}

LANGCHAIN = Sample(
    "langchain",
    sse(
        [
            ai_chunk([], response_metadata=_BY, usage_metadata={"input_tokens": 9, "total_tokens": 9}),
            ai_chunk(part(0, type="thinking", thinking="Rain? ")),
            ai_chunk(part(0, type="thinking", thinking="\U0001f327")),
            ai_chunk(part(0, type="thinking", signature="Et8")),
            ai_chunk(part(1, type="text", text="It ")),
            ai_chunk(part(1, type="text", text="is wet.")),
            ai_chunk(
                part(2, type="input_json_delta", partial_json=""),
                tool_call_chunks=[{"name": "now", "args": "", "id": "c1", "index": 2}],
            ),
            ai_chunk(part(2, type="input_json_delta"), tool_call_chunks=[{"args": "{}", "index": 2}]),
            ai_chunk(
                [],
                response_metadata={"stop_reason": "tool_use"},
                usage_metadata={"output_tokens": 3, "total_tokens": 3},
                chunk_position="last",
            ),
        ]
    ),
    "It is wet.",
    {
        "type": "ai",
        "id": "run-1",
        "response_metadata": {**_BY, "stop_reason": "tool_use"},
        "usage_metadata": {"input_tokens": 9, "total_tokens": 12, "output_tokens": 3},
        "content": [
            {"type": "thinking", "thinking": "Rain? \U0001f327", "index": 0, "signature": "Et8"},
            {"type": "text", "text": "It is wet.", "index": 1},
        ],
        "tool_calls": [{"name": "now", "args": "{}", "id": "c1", "type": "tool_call"}],
    },
)
