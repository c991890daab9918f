"""Responses of four providers: signed thinking, a text, and calls with given ids."""

from typing import Any

Json = dict[str, Any]
# The name on the wire: not every provider accepts the dot in look.up.
NAME = "look_up_c2199496"
ARGUMENTS = '{"tape": 1}'
SIGNED_BY_ANTHROPIC = "QW50aHJvcGljIHNpZ25lZA=="
SIGNED_BY_GEMINI = "R2VtaW5pIHNpZ25lZCB0aGlz"
ENCRYPTED = "gAAAAencrypted"


def anthropic(*calls: str) -> Json:
    thought = {"type": "thinking", "thinking": "Which tape?", "signature": SIGNED_BY_ANTHROPIC}
    used = [{"type": "tool_use", "id": call, "name": NAME, "input": {"tape": 1}} for call in calls]
    return {
        **_anthropic_top("tool_use"),
        "content": [thought, {"type": "text", "text": "Let me look"}, *used],
    }


def _anthropic_top(reason: str | None) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def anthropic_stream(call: str) -> list[Json]:
    return [
        {"type": "message_start", "message": _anthropic_top(None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "And once more"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": call, "name": NAME, "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]


def chat() -> Json:
    message = {"role": "assistant", "content": "the last word"}
    return {**_chat_top("chat.completion"), "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def _chat_top(kind: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "gpt-5"}


def chat_words(*pieces: str) -> list[Json]:
    ends = [None] * (len(pieces) - 1) + ["stop"]
    return [
        {
            **_chat_top("chat.completion.chunk"),
            "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": end}],
        }
        for piece, end in zip(pieces, ends, strict=True)
    ]


def chat_calls(*calls: tuple[str, str, str]) -> list[Json]:
    """Make a stream of calls, each given by its id, its name and its arguments."""
    pieces = [
        {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (call_id, name, arguments) in enumerate(calls)
    ]
    choice = {"index": 0, "delta": {"role": "assistant", "tool_calls": pieces}, "finish_reason": "tool_calls"}
    return [{**_chat_top("chat.completion.chunk"), "choices": [choice]}]


def chat_stream(call: str) -> list[Json]:
    begun = {"index": 0, "id": call, "type": "function", "function": {"name": NAME, "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in (ARGUMENTS[:4], ARGUMENTS[4:])]
    deltas: list[Json] = [
        {"role": "assistant", "content": ""},
        {"content": "One more "},
        {"content": "tape"},
        *({"tool_calls": [piece]} for piece in (begun, *pieces)),
    ]
    ends = [None] * len(deltas) + ["tool_calls"]
    return [
        {
            **_chat_top("chat.completion.chunk"),
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
        }
        for delta, end in zip([*deltas, {}], ends, strict=True)
    ]


def responses(call: str) -> Json:
    reasoning = {"type": "reasoning", "id": f"rs_{call}", "summary": [], "encrypted_content": "gAAAAsecond"}
    return {**_responses_top("completed"), "output": [reasoning, _function_call(call)]}


def _function_call(call: str) -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{call}",
        "call_id": call,
        "name": NAME,
        "arguments": ARGUMENTS,
        "status": "completed",
    }


def _responses_top(status: str) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "gpt-5",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def responses_stream(call: str) -> list[Json]:
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": ENCRYPTED},
        _function_call(call),
    ]
    events: list[Json] = [{"type": "response.created", "response": _responses_top("in_progress")}]
    for index, item in enumerate(items):
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    events.append({"type": "response.completed", "response": {**_responses_top("completed"), "output": items}})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def gemini(call: str) -> Json:
    said = {"functionCall": {"name": NAME, "args": {"tape": 1}, "id": call}, "thoughtSignature": SIGNED_BY_GEMINI}
    return _gemini({"text": "Which tape?", "thought": True}, said, reason="STOP")


def _gemini(*parts: Json, reason: str | None = None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "gemini-3-pro-preview",
        "responseId": "r1",
    }


def gemini_stream(call: str) -> list[Json]:
    said = {"functionCall": {"name": NAME, "args": {"tape": 1}, "id": call}, "thoughtSignature": SIGNED_BY_GEMINI}
    return [_gemini({"text": "On "}), _gemini({"text": "it"}), _gemini(said, reason="STOP")]


def _interaction(status: str, **more: Any) -> Json:
    usage = {"total_input_tokens": 1, "total_tokens": 2}
    top = {"id": "", "object": "interaction", "model": "gemini-3-pro-preview", "status": status}
    return {**top, **({"usage": usage} if status != "in_progress" else {}), **more}


def interactions(call: str) -> Json:
    thought = {"type": "thought", "signature": SIGNED_BY_GEMINI, "summary": [{"type": "text", "text": "Which tape?"}]}
    said = {"type": "function_call", "id": call, "name": NAME, "arguments": {"tape": 1}}
    return _interaction("requires_action", steps=[thought, said])


def interactions_stream(call: str) -> list[Json]:
    steps: list[tuple[Json, Json]] = [
        ({"type": "thought"}, {"type": "thought_signature", "signature": SIGNED_BY_GEMINI}),
        ({"type": "model_output"}, {"type": "text", "text": "On it"}),
        (
            {"type": "function_call", "id": call, "name": NAME, "arguments": {}},
            {"type": "arguments_delta", "arguments": '{"tape": 1}'},
        ),
    ]
    events: list[Json] = [{"event_type": "interaction.created", "interaction": _interaction("in_progress")}]
    for index, (step, delta) in enumerate(steps):
        events += [
            {"event_type": "step.start", "index": index, "step": step},
            {"event_type": "step.delta", "index": index, "delta": delta},
            {"event_type": "step.stop", "index": index},
        ]
    return [*events, {"event_type": "interaction.completed", "interaction": _interaction("requires_action")}]


def responses_words(*pieces: str) -> list[Json]:
    """Make a stream of a text in pieces."""
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    at = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
    events: list[Json] = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **at, "part": {**text, "text": ""}},
        *({"type": "response.output_text.delta", **at, "delta": piece} for piece in pieces),
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [text]}},
    ]
    return [*events, _responses_end({**item, "content": [text]})]


def responses_calls(*calls: tuple[str, str, str]) -> list[Json]:
    """Make a stream of calls, each given by its id, its name and its arguments."""
    items = [{**_function_call(call_id), "name": name, "arguments": arguments} for call_id, name, arguments in calls]
    done = [
        {"type": "response.output_item.done", "output_index": index, "item": item} for index, item in enumerate(items)
    ]
    return [*done, _responses_end(*items)]


def responses_text(words: str) -> Json:
    """Make a whole response with a text."""
    end: Json = responses_words(words)[-1]["response"]
    return end


def _responses_end(*items: Json) -> Json:
    return {"type": "response.completed", "response": {**_responses_top("completed"), "output": list(items)}}
