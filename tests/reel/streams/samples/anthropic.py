"""A stream of the Messages API."""

from typing import Any

from tests.reel.streams.samples.sample import Sample, sse


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the events of a content block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def partial(text: str) -> dict[str, Any]:
    """Make a piece of a call's input."""
    return {"type": "input_json_delta", "partial_json": text}


_RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}

_CITATION = {"type": "web_search_result_location", "url": "https://a.example", "cited_text": "wet"}

ANTHROPIC = Sample(
    "anthropic",
    sse(
        [
            {
                "type": "message_start",
                "message": {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-opus-5",
                    "content": [],
                    "stop_reason": None,
                    "usage": {"input_tokens": 25, "output_tokens": 1},
                },
            },
            {"type": "ping"},
            *block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "Search "},
                {"type": "thinking_delta", "thinking": "first."},
                {"type": "signature_delta", "signature": "EqQB"},
            ),
            *block(1, {"type": "redacted_thinking", "data": "Ep8"}),
            *block(
                2,
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                partial('{"query":'),
                partial('"rain"}'),
            ),
            *block(3, _RESULT),
            *block(
                4,
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "It is "},
                {"type": "text_delta", "text": "wet."},
                {"type": "citations_delta", "citation": _CITATION},
            ),
            *block(5, {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}, partial("")),
            *block(
                6, {"type": "tool_use", "id": "toolu_2", "name": "at", "input": {}}, partial('{"x": '), partial("1}")
            ),
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": {"output_tokens": 89, "input_tokens": None},
            },
            {"type": "message_stop"},
        ],
        named=True,
    ),
    "It is wet.",
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 25, "output_tokens": 89},
        "content": [
            {"type": "thinking", "thinking": "Search first.", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "Ep8"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}},
            _RESULT,
            {"type": "text", "text": "It is wet.", "citations": [_CITATION]},
            {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "at", "input": {"x": 1}},
        ],
    },
)
