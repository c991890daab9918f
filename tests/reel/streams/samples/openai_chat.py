"""Streams of Chat Completions, and of other servers that speak it."""

from typing import Any

from tests.reel.streams.samples.sample import Sample, sse


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
