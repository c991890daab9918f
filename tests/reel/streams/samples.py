"""Streams in the shapes of the APIs, and the response that each forms."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """A stream: its API, its bytes, its text and the body that it forms."""

    format: str
    data: bytes
    text: str
    body: dict[str, Any]


def sse(events: Sequence[Any], *, named: bool = False, done: bool = False) -> bytes:
    """Encode events as an API sends them, with the event's name in front if ``named``."""
    lines = [
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" if named else f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def ndjson(events: Sequence[Any]) -> bytes:
    """Encode events one a line."""
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **top: Any) -> dict[str, Any]:
    """Make a chunk of a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 5,
        "model": "gpt-5.2-2026-01-01",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "usage": None,
        "obfuscation": "x7",
        **top,
    }


def call_piece(index: int, arguments: str, **head: Any) -> dict[str, Any]:
    """Make a piece of a call: the first has its id and its name."""
    name = {"name": head.pop("name")} if "name" in head else {}
    return {"tool_calls": [{"index": index, **head, "function": {**name, "arguments": arguments}}]}


CHAT = Sample(
    "openai-chat",
    sse(
        [
            chunk({"role": "assistant", "content": None, "refusal": None}),
            chunk({"content": "Let me "}),
            chunk({"content": "look \U0001f50e."}),
            chunk(call_piece(0, "", id="call_1", type="function", name="weather")),
            chunk(call_piece(0, '{"city":')),
            chunk(call_piece(1, "", id="call_2", type="function", name="time")),
            chunk(call_piece(1, "{}")),
            chunk(call_piece(0, '"Oslo"}')),
            chunk({}, "tool_calls"),
            chunk({}, choices=[], usage={"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}),
        ],
        done=True,
    ),
    "Let me look \U0001f50e.",
    {
        "id": "chatcmpl-1",
        "created": 5,
        "model": "gpt-5.2-2026-01-01",
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "Let me look \U0001f50e.",
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                        },
                        {"id": "call_2", "type": "function", "function": {"name": "time", "arguments": "{}"}},
                    ],
                },
            }
        ],
    },
)


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


def response(status: str, output: list[Any], **more: Any) -> dict[str, Any]:
    """Make a response in the form of its events."""
    return {"id": "resp_1", "object": "response", "model": "gpt-5.2", "status": status, "output": output, **more}


def of_item(kind: str, index: int, **more: Any) -> dict[str, Any]:
    """Make an event about an item of the output."""
    return {"type": f"response.{kind}", "output_index": index, "item_id": "x", **more}


_REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "encrypted_content": "gAAA",
    "summary": [{"type": "summary_text", "text": "Look it up."}],
}
_MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "A moment.", "annotations": []}],
}
_CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "weather",
    "status": "completed",
    "arguments": '{"city":"Oslo"}',
}
_ITEMS = [_REASONING, _MESSAGE, _CALL]
RESPONSES_EVENTS = [
    {"type": "response.created", "response": response("in_progress", [])},
    {"type": "response.in_progress", "response": response("in_progress", [])},
    of_item("output_item.added", 0, item={**_REASONING, "summary": [], "encrypted_content": ""}),
    of_item("reasoning_summary_part.added", 0, summary_index=0, part={"type": "summary_text", "text": ""}),
    of_item("reasoning_summary_text.delta", 0, summary_index=0, delta="Look it "),
    of_item("reasoning_summary_text.delta", 0, summary_index=0, delta="up."),
    of_item("output_item.done", 0, item=_REASONING),
    of_item("output_item.added", 1, item={**_MESSAGE, "content": [], "status": "in_progress"}),
    of_item("content_part.added", 1, content_index=0, part={"type": "output_text", "text": "", "annotations": []}),
    of_item("output_text.delta", 1, content_index=0, delta="A "),
    of_item("output_text.delta", 1, content_index=0, delta="moment."),
    of_item("output_text.done", 1, content_index=0, text="A moment."),
    of_item("output_item.done", 1, item=_MESSAGE),
    of_item("output_item.added", 2, item={**_CALL, "arguments": "", "status": "in_progress"}),
    of_item("function_call_arguments.delta", 2, delta='{"city":'),
    of_item("function_call_arguments.delta", 2, delta='"Oslo"}'),
    of_item("output_item.done", 2, item=_CALL),
    {"type": "response.completed", "response": response("completed", _ITEMS, usage={"total_tokens": 7})},
]
RESPONSES = Sample(
    "openai-responses",
    sse(RESPONSES_EVENTS, named=True),
    "A moment.",
    response("completed", _ITEMS, usage={"total_tokens": 7}),
)


def candidate(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Make a chunk of Gemini's."""
    ended = {} if finish is None else {"finishReason": finish}
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **ended}],
        "usageMetadata": {"promptTokenCount": 4},
        "modelVersion": "gemini-3-pro",
        "responseId": "r1",
        **more,
    }


_GEMINI_CHUNKS = [
    candidate({"text": "Hm, ", "thought": True}),
    candidate({"text": "rain?", "thought": True}),
    candidate({"text": "Let me "}),
    candidate({"text": "look."}, {"text": "", "thoughtSignature": "c2ln"}),
    candidate({"functionCall": {"name": "weather", "args": {"city": "[Oslo]"}}, "thoughtSignature": "Y2Fs"}),
    candidate({"functionCall": {"name": "time", "args": {}}}),
    candidate(finish="STOP", usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": 8}),
]
_GEMINI_BODY = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Hm, rain?", "thought": True},
                    {"text": "Let me look.", "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "weather", "args": {"city": "[Oslo]"}}, "thoughtSignature": "Y2Fs"},
                    {"functionCall": {"name": "time", "args": {}}},
                ],
                "role": "model",
            },
            "index": 0,
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 8},
    "modelVersion": "gemini-3-pro",
    "responseId": "r1",
}
GEMINI = Sample("gemini", sse(_GEMINI_CHUNKS), "Let me look.", _GEMINI_BODY)
GEMINI_ARRAY = Sample(
    "gemini", ("[" + "\n,\r\n".join(json.dumps(c, indent=2) for c in _GEMINI_CHUNKS) + "\n]\n").encode(), *GEMINI[2:]
)


def step(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the events of a step of an interaction."""
    return [
        {"event_type": "step.start", "index": index, "step": start},
        *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": index},
    ]


_SEARCH_RESULT = {"title": "a.example", "url": "https://a.example"}
_CITED = {"type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 4}
_INTERACTION = {"id": "", "object": "interaction", "model": "gemini-3-pro"}
_INTERACTION_USAGE = {"total_input_tokens": 4, "total_output_tokens": 8}
INTERACTIONS = Sample(
    "gemini-interactions",
    sse(
        [
            {"event_type": "interaction.created", "interaction": {**_INTERACTION, "status": "in_progress"}},
            {"event_type": "interaction.status_update", "interaction_id": "", "status": "in_progress"},
            *step(
                0,
                {"type": "thought"},
                {"type": "thought_summary", "content": {"type": "text", "text": "Hm, "}},
                {"type": "thought_summary", "content": {"type": "text", "text": "rain?"}},
                {"type": "thought_signature", "signature": "c2ln"},
            ),
            *step(
                1,
                {"id": "s1", "signature": "", "type": "google_search_call"},
                {"type": "google_search_call", "arguments": {"queries": ["rain"]}},
            ),
            *step(
                2,
                {"call_id": "s1", "signature": "", "type": "google_search_result"},
                {"type": "google_search_result", "result": [_SEARCH_RESULT]},
            ),
            *step(
                3,
                {"type": "model_output"},
                {"type": "text", "text": "Let me "},
                {"type": "text", "text": "look \U0001f50e."},
                {"type": "text_annotation_delta", "annotations": [_CITED]},
            ),
            *step(
                4,
                {"type": "function_call", "id": "c1", "name": "weather", "arguments": {}},
                {"type": "arguments_delta", "arguments": '{"city":'},
                {"type": "arguments_delta", "arguments": '"Oslo"}'},
            ),
            *step(5, {"type": "function_call", "id": "c2", "name": "time", "arguments": {}}),
            {
                "event_type": "interaction.completed",
                "interaction": {**_INTERACTION, "status": "requires_action", "usage": _INTERACTION_USAGE},
            },
        ]
    ),
    "Let me look \U0001f50e.",
    {
        **_INTERACTION,
        "status": "requires_action",
        "usage": _INTERACTION_USAGE,
        "steps": [
            {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm, rain?"}]},
            {"id": "s1", "type": "google_search_call", "arguments": {"queries": ["rain"]}},
            {"call_id": "s1", "type": "google_search_result", "result": [_SEARCH_RESULT]},
            {
                "type": "model_output",
                "content": [{"type": "text", "text": "Let me look \U0001f50e.", "annotations": [_CITED]}],
            },
            {"type": "function_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
            {"type": "function_call", "id": "c2", "name": "time", "arguments": {}},
        ],
    },
)


def said(done: bool = False, **message: Any) -> dict[str, Any]:
    """Make a chunk of Ollama's."""
    ended = {"done_reason": "stop", "eval_count": 8} if done else {}
    head = {"model": "qwen3:8b", "created_at": "2026-11-22T00:00:00Z"}
    return {**head, "message": {"role": "assistant", "content": "", **message}, "done": done, **ended}


_OLLAMA_CALLS = [
    {"id": "call_1", "function": {"index": 0, "name": "weather", "arguments": {"city": "Oslo"}}},
    {"function": {"index": 1, "name": "time", "arguments": {}}},
]
_OLLAMA_BODY = said(done=True, content="Let me look \U0001f50e.", thinking="Hm, rain?", tool_calls=_OLLAMA_CALLS)
OLLAMA = Sample(
    "ollama",
    ndjson(
        [
            said(thinking="Hm, ", images=None),
            said(thinking="rain?"),
            said(content="Let me "),
            said(content="look \U0001f50e."),
            said(tool_calls=_OLLAMA_CALLS[:1]),
            said(tool_calls=_OLLAMA_CALLS[1:]),
            said(done=True),
        ]
    ),
    "Let me look \U0001f50e.",
    _OLLAMA_BODY,
)
OLLAMA_WHOLE = Sample("ollama", json.dumps(_OLLAMA_BODY, indent=2).encode(), *OLLAMA[2:])

_USED = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
_OF_CHAT = {"id": "chatcmpl-1", "created": 5, "model": "gpt-5.2-2026-01-01", "usage": _USED}
_END = chunk({}, choices=[], usage=_USED)


def chat_body(message: dict[str, Any]) -> dict[str, Any]:
    """Make the body of a chat completion."""
    return {
        **_OF_CHAT,
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


def detail(index: int, **more: Any) -> dict[str, Any]:
    """Make a fragment of reasoning details."""
    return {"reasoning_details": [{"type": "reasoning.text", "index": index, **more}]}


CHAT_DETAILS = Sample(
    "openai-chat",
    sse(
        [
            chunk({"role": "assistant", "content": "", "reasoning": "Let me ", **detail(0, text="Let me ")}),
            chunk({"content": "", "reasoning": "see.", **detail(0, text="see.", signature=None)}),
            chunk({"content": "", "reasoning": None, **detail(0, signature="Et8", format="anthropic-claude-v1")}),
            chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "gAAA", "id": "c", "index": 1}]}),
            chunk({"content": "It is wet."}, "stop"),
            _END,
        ],
        done=True,
    ),
    "It is wet.",
    chat_body(
        {
            "role": "assistant",
            "content": "It is wet.",
            "reasoning": "Let me see.",
            "reasoning_details": [
                {
                    "type": "reasoning.text",
                    "index": 0,
                    "text": "Let me see.",
                    "signature": "Et8",
                    "format": "anthropic-claude-v1",
                },
                {"type": "reasoning.encrypted", "data": "gAAA", "id": "c", "index": 1},
            ],
        }
    ),
)


def thinking(text: str, **more: Any) -> dict[str, Any]:
    """Make a part that is reasoning, as Mistral has it."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}


CHAT_THINKING = Sample(
    "openai-chat",
    sse(
        [
            chunk({"role": "assistant", "content": ""}),
            chunk({"content": [thinking("Rain? ")]}),
            chunk({"content": [thinking("\U0001f327", closed=True)]}),
            chunk({"content": [{"type": "text", "text": "It "}]}),
            chunk({"content": "is wet."}, "stop"),
            _END,
        ],
        done=True,
    ),
    "It is wet.",
    chat_body(
        {
            "role": "assistant",
            "content": [thinking("Rain? \U0001f327", closed=True), {"type": "text", "text": "It is wet."}],
        }
    ),
)
_SIGNED = {"google": {"thought_signature": "c2ln"}}
CHAT_SIGNED = Sample(
    "openai-chat",
    sse(
        [
            chunk({"role": "assistant", "content": "Look.", "extra_content": _SIGNED}),
            chunk(call_piece(0, "{}", id="call_1", type="function", name="weather", extra_content=_SIGNED), "stop"),
            _END,
        ],
        done=True,
    ),
    "Look.",
    chat_body(
        {
            "role": "assistant",
            "content": "Look.",
            "extra_content": _SIGNED,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "extra_content": _SIGNED,
                    "function": {"name": "weather", "arguments": "{}"},
                }
            ],
        }
    ),
)


def piece(index: int, **delta: Any) -> dict[str, Any]:
    """Make a piece of a block of Bedrock's."""
    return {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}}


def begun(index: int, **start: Any) -> dict[str, Any]:
    """Make the start of a block of Bedrock's."""
    return {"contentBlockStart": {"start": start, "contentBlockIndex": index}}


_CITED = {"title": "Tapes", "sourceContent": [{"text": "wet"}], "location": {"documentChar": {"documentIndex": 0}}}
BEDROCK_EVENTS: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    piece(0, reasoningContent={"text": "Search "}),
    piece(0, reasoningContent={"text": "first."}),
    piece(0, reasoningContent={"signature": "EqQB"}),
    {"contentBlockStop": {"contentBlockIndex": 0}},
    piece(1, reasoningContent={"redactedContent": "dGE="}),
    piece(1, reasoningContent={"redactedContent": "cGU="}),
    piece(2, text="It is "),
    piece(2, text="wet."),
    piece(2, citation=_CITED),
    piece(3, text=" Look:"),
    begun(4, toolUse={"toolUseId": "tooluse_1", "name": "now"}),
    begun(5, toolUse={"toolUseId": "tooluse_2", "name": "at"}),
    piece(5, toolUse={"input": '{"x": '}),
    piece(5, toolUse={"input": "1}"}),
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 25, "outputTokens": 89}, "metrics": {"latencyMs": 5}}},
]
_BEDROCK_BODY = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Search first.", "signature": "EqQB"}}},
                {"reasoningContent": {"redactedContent": "dGFwZQ=="}},
                {"citationsContent": {"content": [{"text": "It is wet."}], "citations": [_CITED]}},
                {"text": " Look:"},
                {"toolUse": {"toolUseId": "tooluse_1", "name": "now", "input": {}}},
                {"toolUse": {"toolUseId": "tooluse_2", "name": "at", "input": {"x": 1}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 25, "outputTokens": 89},
    "metrics": {"latencyMs": 5},
}
BEDROCK = Sample("bedrock-converse", ndjson(BEDROCK_EVENTS), "It is wet. Look:", _BEDROCK_BODY)
BEDROCK_WHOLE = Sample("bedrock-converse", json.dumps(_BEDROCK_BODY).encode(), *BEDROCK[2:])
# As in the stream itself, with the name beside what is inside of an event.
BEDROCK_SSE = Sample(
    "bedrock-converse",
    "".join(
        f"event: {name}\ndata: {json.dumps(inside)}\n\n" for event in BEDROCK_EVENTS for name, inside in event.items()
    ).encode(),
    *BEDROCK[2:],
)


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

SAMPLES = {
    "chat": CHAT,
    "chat-details": CHAT_DETAILS,
    "chat-thinking": CHAT_THINKING,
    "chat-signed": CHAT_SIGNED,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "gemini-array": GEMINI_ARRAY,
    "interactions": INTERACTIONS,
    "ollama": OLLAMA,
    "ollama-whole": OLLAMA_WHOLE,
    "langchain": LANGCHAIN,
    "bedrock": BEDROCK,
    "bedrock-whole": BEDROCK_WHOLE,
    "bedrock-sse": BEDROCK_SSE,
}
