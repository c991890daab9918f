"""What a message without metadata is in each format.

Such an item is stored as its message alone, so this is part of what is promised: an item that was added yesterday comes
back as it was. If a writer has to change one of these, what was stored before must be read as it was.
"""

from typing import Any

import pytest

from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import Json, call, model, result, tool, user
from tests.reeld.formats.items_sending import stored, written

ARGUMENTS = '{"a":1}'
MESSAGES = [user("Hi"), model("Yes"), model(call(arguments=ARGUMENTS)), tool(result())]
USER, ASSISTANT = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}
GIVEN = {"a": 1}
# A text of the user's and of the assistant's, a call, and a result if what it becomes does not depend on its call.
PLAIN: dict[str, list[Json]] = {
    "openai-chat": [
        USER,
        ASSISTANT,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": ARGUMENTS}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ],
    "openai-responses": [
        USER,
        ASSISTANT,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": ARGUMENTS},
    ],
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": GIVEN}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"text": "Yes"}]},
    ],
    "gemini-interactions": [
        {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Yes"}]},
    ],
    "ollama": [
        USER,
        ASSISTANT,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": GIVEN}}],
        },
    ],
    "bedrock-converse": [
        {"role": "user", "content": [{"text": "Hi"}]},
        {"role": "assistant", "content": [{"text": "Yes"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": GIVEN}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "done"}]}}]},
    ],
    "ai-sdk": [
        USER,
        ASSISTANT,
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": GIVEN}],
        },
    ],
    "langchain": [
        {"type": "human", "content": "Hi"},
        {"type": "ai", "content": "Yes"},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"name": "look", "args": GIVEN, "id": "c1", "type": "tool_call"}],
        },
    ],
}
CASES = [(name, number) for name in FORMATS for number in range(len(PLAIN[name]))]


def said(message: Any) -> Json:
    """Return what a message says, in the form that is added."""
    blocks = [
        {key: value for key, value in block.items() if value is not False} | {"type": block["type"]}
        for block in message["content"]
    ]
    return {"role": message["role"], "content": blocks}


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_plain_item_is_stored_as_its_message_alone(name: str, number: int) -> None:
    """A text, a call or a result in the words of the format's writer needs nothing beside its message."""
    (message,) = stored(name, [PLAIN[name][number]])
    assert (said(message), message["provider_metadata"]) == (MESSAGES[number], {})
    assert written(name, [message]) == [PLAIN[name][number]]
