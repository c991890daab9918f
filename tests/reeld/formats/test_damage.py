"""Damaged answers: each prefix and each change of a byte gives an answer, an interrupted one, or one error."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.core.validation import rows_from
from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from tests.formats.checker import check
from tests.reel.streams.samples.google import step
from tests.reel.streams.samples.sample import ndjson, sse
from tests.reeld.formats.histories import Json, entries_of, user
from tests.thoroughness import THOROUGH, sampled

pytestmark = [pytest.mark.slow, sampled]

# What a byte is replaced by, besides itself with its lowest bit flipped: structure, escapes, digits, not UTF-8.
REPLACEMENTS = b'"{}[],:\\0-n \n\x00\xc3\xff'
# `make check` changes each byte in one way, which takes 10 seconds; `make fuzz` changes it in all, which takes 80.
MODELS = {
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro-preview",
    "gemini-interactions": "gemini-3-pro-preview",
    "ollama": "qwen3:8b",
    "langchain": "claude-opus-4-8",
    "bedrock-converse": "anthropic.claude-opus-4-8",
}
USED = {"input_tokens": 1}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"a":"é"}'}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AAAA"}
BODIES: dict[str, Json] = {
    "openai-chat": {
        "id": "1",
        "model": "gpt-5",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {
                    "role": "assistant",
                    "content": "é\n",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
                    ],
                },
            }
        ],
        "usage": {"total_tokens": 1},
    },
    "openai-responses": {"id": "1", "model": "gpt-5", "status": "completed", "output": [THOUGHT, CALL], "usage": USED},
    "anthropic": {
        "id": "1",
        "model": "claude-opus-4-8",
        "content": [
            {"type": "thinking", "thinking": "é", "signature": "AAAA"},
            {"type": "text", "text": "x", "citations": [{"type": "char_location", "file_id": None}]},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": USED,
        "container": {"id": "b", "expires_at": "2030-01-01T00:00:00Z"},
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "é", "thought": True, "thoughtSignature": "AAAA"},
                        {"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": "AAAA"},
                    ],
                },
                "finishReason": "STOP",
            }
        ],
        "modelVersion": "gemini-3-pro-preview",
        "usageMetadata": {"totalTokenCount": 1},
    },
    "gemini-interactions": {
        "id": "1",
        "model": "gemini-3-pro-preview",
        "status": "requires_action",
        "steps": [
            {"type": "thought", "signature": "AAAA", "summary": [{"type": "text", "text": "é"}]},
            {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["x"]}},
            {"type": "google_search_result", "call_id": "s1", "result": []},
            {"type": "model_output", "content": [{"type": "text", "text": "é"}]},
            {"type": "function_call", "id": "c1", "name": "look", "arguments": {"a": 1}},
        ],
        "usage": USED,
    },
    "langchain": {
        "type": "ai",
        "id": "1",
        "content": [{"type": "thinking", "thinking": "é", "signature": "AAAA"}, {"type": "text", "text": "x"}],
        "tool_calls": [{"name": "look", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
        "response_metadata": {"model_provider": "anthropic", "model_name": "claude-opus-4-8"},
        "usage_metadata": USED,
    },
    "ollama": {
        "model": "qwen3:8b",
        "created_at": "2026-11-22T00:00:00Z",
        "message": {
            "role": "assistant",
            "content": "é\n",
            "thinking": "hm",
            "tool_calls": [{"id": "c1", "function": {"index": 0, "name": "look", "arguments": {"a": 1}}}],
        },
        "done": True,
        "done_reason": "stop",
        "eval_count": 1,
    },
    "bedrock-converse": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "é", "signature": "AAAA"}}},
                    {"citationsContent": {"content": [{"text": "x"}], "citations": [{"title": "a"}]}},
                    {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"a": 1}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1},
    },
}
CALLED = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a":1}'}}]}
TOP = {"id": "1", "model": "gpt-5"}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
STREAMS: dict[str, bytes] = {
    "openai-chat": sse(
        [
            {**TOP, "choices": [{"index": 0, "delta": {"content": "é"}}]},
            {**TOP, "choices": [{"index": 0, "delta": CALLED, "finish_reason": "stop"}]},
        ],
        done=True,
    ),
    "openai-responses": sse(
        [
            {"type": "response.output_item.done", "output_index": 0, "item": THOUGHT},
            {"type": "response.output_item.added", "output_index": 1, "item": {**CALL, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"a":1}'},
            {"type": "response.completed", "response": {**TOP, "status": "completed", "usage": USED}},
        ],
        named=True,
    ),
    "anthropic": sse(
        [
            {"type": "message_start", "message": {"id": "1", "model": "claude-opus-4-8", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ],
        named=True,
    ),
    "gemini": sse(
        [
            {"candidates": [{"content": {"parts": [{"text": "é"}]}}]},
            {"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "A"}]}, "finishReason": "STOP"}]},
        ]
    ),
    "gemini-interactions": sse(
        [
            *step(0, {"type": "thought"}, {"type": "thought_signature", "signature": "AAAA"}),
            *step(1, {"type": "model_output"}, {"type": "text", "text": "é"}),
            *step(
                2, {"type": "function_call", "id": "c1", "name": "look"}, {"type": "arguments_delta", "arguments": "{}"}
            ),
            {"event_type": "interaction.completed", "interaction": {"status": "requires_action", "usage": USED}},
        ]
    ),
    "langchain": sse(
        [
            {"type": "AIMessageChunk", "id": "1", "content": [{"type": "text", "text": "é", "index": 0}]},
            {
                "type": "AIMessageChunk",
                "content": [],
                "tool_call_chunks": [{"name": "look", "args": '{"a":1}', "id": "c1", "index": 1}],
                "chunk_position": "last",
            },
        ]
    ),
    "ollama": ndjson(
        [
            {"model": "qwen3:8b", "message": {"role": "assistant", "content": "é", "thinking": "h"}, "done": False},
            {"message": {"tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]}, "done": False},
            {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "eval_count": 1},
        ]
    ),
    "bedrock-converse": ndjson(
        [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "h"}}, "contentBlockIndex": 0}},
            {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": "AAAA"}}, "contentBlockIndex": 0}},
            {"contentBlockDelta": {"delta": {"text": "é"}, "contentBlockIndex": 1}},
            {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "c1", "name": "x"}}, "contentBlockIndex": 2}},
            {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"a":1}'}}, "contentBlockIndex": 2}},
            {"messageStop": {"stopReason": "tool_use"}},
            {"metadata": {"usage": {"inputTokens": 1}, "metrics": {"latencyMs": 1}}},
        ]
    ),
}
# What the servers add that speak Chat Completions; a dialect follows after a slash.
BESIDE: dict[str, Json] = {
    "openai-chat/kimi": {"content": "é", "reasoning_content": "hm", "tool_calls": [CHAT_CALL]},
    "openai-chat/openrouter": {
        "content": "é",
        "reasoning": "hm",
        "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "AA", "index": 0}],
        "tool_calls": [CHAT_CALL],
    },
    "openai-chat/gemini": {"tool_calls": [{**CHAT_CALL, "extra_content": {"google": {"thought_signature": "AA"}}}]},
    "openai-chat/mistral": {
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "é"}], "closed": True}],
        "tool_calls": [CHAT_CALL],
    },
}
BODIES |= {name: {**TOP, "choices": [{"message": message}]} for name, message in BESIDE.items()}
STREAMS |= {name: sse([{**TOP, "choices": [{"delta": delta}]}] * 2, done=True) for name, delta in BESIDE.items()}
MODELS |= dict.fromkeys(BESIDE, "1")
ENCODED = {name: json.dumps(body, ensure_ascii=False).encode() for name, body in BODIES.items()}
SAMPLES = [
    pytest.param(name, data, id=f"{name}-{kind}")
    for kind, samples in (("body", ENCODED), ("stream", STREAMS))
    for name, data in samples.items()
]
# An item or a key that is not known goes back to its maker as it came: it may be newer than this code.
NEWER = ("unknown key", "no block of a fitting type")


def damaged(data: bytes) -> Iterator[bytes]:
    """Return every prefix of an answer, and changes of each byte of it."""
    yield from (data[:end] for end in range(len(data)))
    for place, byte in enumerate(data):
        others = [byte ^ 1, *REPLACEMENTS]
        for other in {*(others if THOROUGH else [others[place % len(others)]])} - {byte}:
            yield data[:place] + bytes([other]) + data[place + 1 :]


@pytest.mark.parametrize(("name", "data"), SAMPLES)
def test_a_damaged_answer_is_read_or_refused_with_its_place(name: str, data: bytes) -> None:
    """What is read is accepted when it is added, and by the provider; it is rendered the same ever after."""
    seen: set[str] = set()
    for given in {found.decode(errors="replace") for found in damaged(data)}:
        read = read_or_refused(name, given)
        key = json.dumps(read[:1], sort_keys=True)
        if key not in seen and read:
            assert rows_from(read)
            stays_the_same(name, read)
        seen.add(key)

    assert len(seen) > 1


def read_or_refused(name: str, given: str) -> list[Any]:
    """Return the messages of an answer; none if it is refused, which must quote the place."""
    try:
        return read_response(name.partition("/")[0], given, MODELS[name])
    except InvalidMessage as error:
        if error.data["field"] not in str(error):
            raise AssertionError(given) from error
        return []


def stays_the_same(name: str, read: list[Any]) -> None:
    """Check that an answer is rendered the same at once and in steps, before and after what follows it."""
    history = [user("Hi"), *read, user("So?"), {"role": "assistant", "content": "OK"}, user("And?")]
    entries = entries_of(history)
    format, _, dialect = name.partition("/")  # noqa: A001 - the protocol's word
    request = RenderRequest(format, MODELS[name], dialect=dialect or None)
    earlier, kept = render(request, entries[:-2])
    later, _ = render(request._replace(after=earlier.prefix), entries, None, kept)

    assert later == render(request._replace(after=earlier.prefix), entries)[0]
    assert later.extends
    problems = check(name.replace("-", "_"), json.loads(later.body), MODELS[name])
    assert [] == [problem for problem in problems if problem.why not in NEWER]
