"""What a message without metadata is in each format.

Such an item is stored as its message alone, so this is part of what is promised: an item that was added yesterday comes
back as it was. If a writer has to change one of these, what was stored before must be read as it was.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.items.reading import ItemReader
from reeld.formats.items.rows import ItemRows
from reeld.formats.items.writing import text_message
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


def likely_texts() -> st.SearchStrategy[str]:
    return st.sampled_from(["", " ", "Hi", "a text", "\x00", "\ud800 there", '{"type": "x"}', "é" * 70]) | st.text()


def changed(item: Any, data: st.DataObject) -> Any:
    """Return an item with another value at some place, or with one more key."""
    if type(item) is dict and (keys := data.draw(st.sampled_from(["", "id", *item]))):
        return {**item, keys: changed(item[keys], data) if keys in item else data.draw(likely_texts())}
    if type(item) is list and item and data.draw(st.booleans()):
        return [*item[:-1], changed(item[-1], data)]
    return data.draw(st.sampled_from([item, None, [], 5, "model", [item, item]]) | likely_texts())


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_text_is_read_as_with_all_conversions(name: str, data: st.DataObject) -> None:
    """What is read quickly because it is nothing but a text is stored as if the format's reader had read it."""
    item = data.draw(st.sampled_from(PLAIN[name][:2]))
    text = data.draw(likely_texts())
    item = json.loads(json.dumps(item).replace('"Hi"', json.dumps(text)).replace('"Yes"', json.dumps(text)))
    if data.draw(st.booleans()):
        item = changed(item, data)
    if type(item) is not dict:
        return
    model = data.draw(st.sampled_from([None, "a-model"]))

    rows, altered = ItemReader(FORMATS[name], model, lambda: "made")._converted(item)

    assert ItemRows(rows, [0] * len(rows), altered) == ItemReader(FORMATS[name], model, lambda: "made").rows([item])


@pytest.mark.parametrize("name", FORMATS)
def test_a_text_is_read_quickly(name: str) -> None:
    """What the format's writer makes of a text is."""
    assert MESSAGES[:2] == [text_message(FORMATS[name], item) for item in PLAIN[name][:2]]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_plain_item_is_stored_as_its_message_alone(name: str, number: int) -> None:
    """A text, a call or a result in the words of the format's writer needs nothing beside its message."""
    (message,) = stored(name, [PLAIN[name][number]])
    assert (said(message), message["provider_metadata"]) == (MESSAGES[number], {})
    assert written(name, [message]) == [PLAIN[name][number]]
