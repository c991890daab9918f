"""Items of every format, as their own clients write them: words, a call, its result, and what is special."""

from tests.reeld.formats.histories import Json

PICTURE = "iVBORw0KGgo" + "A" * 80 + "=="
GIVEN = {"city": "Paris", "days": [1, 2.5]}
RESULT = "Sunny, 22 degrees"

SAMPLES: dict[str, list[Json]] = {
    "openai-chat": [
        {"role": "user", "name": "alice", "content": [{"type": "text", "text": "Weather in Paris?"}]},
        {"role": "developer", "content": "Be brief in everything."},
        {
            "role": "assistant",
            "content": "",
            "refusal": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "index": 0,
                    "function": {"name": "weather", "arguments": '{ "city": "Paris" }'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": [{"type": "text", "text": RESULT}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{PICTURE}", "detail": "low"},
                }
            ],
        },
    ],
    "openai-responses": [
        {"role": "user", "content": "Weather in Paris?", "type": "message"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "To look it up"}],
            "encrypted_content": "gAAAA",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "One moment, please.", "annotations": [], "logprobs": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "weather",
            "arguments": '{"city": "Paris"}',
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "c1", "output": RESULT},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "weather in Paris"},
        },
        {"type": "item_reference", "id": "msg_0123456789"},
    ],
    "anthropic": [
        {"role": "user", "content": "Weather in Paris?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "To look it up", "signature": "c2lnbmF0dXJl"},
                {"type": "text", "text": "One moment, please.", "citations": None},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": GIVEN, "caller": {"type": "direct"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": RESULT, "is_error": False},
                {"type": "text", "text": "And tomorrow?", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Weather in Paris?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "To look it up", "thought": True},
                {
                    "functionCall": {"id": "c1", "name": "weather", "args": GIVEN},
                    "thoughtSignature": "c2lnbmF0dXJl",
                },
            ],
        },
        {
            "parts": [
                {"function_response": {"id": "c1", "name": "weather", "response": {"weather": RESULT, "code": 200}}},
                {"inline_data": {"mime_type": "image/png", "data": PICTURE}},
            ],
        },
    ],
    "gemini-interactions": [
        {"type": "user_input", "content": [{"type": "text", "text": "Weather in Paris?"}]},
        {"type": "function_call", "id": "c1", "name": "weather", "arguments": GIVEN, "signature": "c2lnbmF0dXJl"},
        {"type": "function_result", "call_id": "c1", "name": "weather", "result": {"weather": RESULT}},
    ],
    "ollama": [
        {"role": "user", "content": "Weather in Paris?", "images": [PICTURE]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "To look it up",
            "tool_calls": [{"function": {"name": "weather", "arguments": GIVEN}}],
        },
        {"role": "tool", "tool_name": "weather", "content": RESULT},
    ],
    "bedrock-converse": [
        {"role": "user", "content": [{"text": "Weather in Paris?"}, {"cachePoint": {"type": "default"}}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "To look it up", "signature": "c2lnbmF0dXJl"}}},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": GIVEN}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"json": {"weather": RESULT}}], "status": "success"}},
                {"text": "And tomorrow?"},
            ],
        },
    ],
    "ai-sdk": [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Weather in Paris?"}]},
        {
            "id": "m2",
            "role": "assistant",
            "metadata": {"took": 1.5},
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "To look it up", "state": "done"},
                {
                    "type": "tool-weather",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": GIVEN,
                    "output": {"weather": RESULT},
                },
                {"type": "text", "text": "It is sunny in Paris.", "state": "done"},
            ],
        },
    ],
    "langchain": [
        {"type": "human", "id": "m1", "content": "Weather in Paris?", "additional_kwargs": {}, "example": False},
        {
            "type": "ai",
            "content": "",
            "id": "run-1",
            "tool_calls": [{"name": "weather", "args": GIVEN, "id": "c1", "type": "tool_call"}],
            "invalid_tool_calls": [],
            "usage_metadata": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
            "response_metadata": {"model_name": "gpt-5"},
        },
        {"type": "tool", "content": RESULT, "tool_call_id": "c1", "status": "success", "artifact": None},
    ],
}
# What no format knows.
FOREIGN: list[Json] = [
    {},
    {"type": "hologram_call", "prompt": "a cat in three dimensions", "depth": {"levels": [1, 2]}},
    {"role": "critic", "content": "That is wrong"},
    {"content": [{"type": "mystery"}]},
]
