"""A stream of the Responses API."""

from typing import Any

from tests.reel.streams.samples.sample import Sample, sse


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
