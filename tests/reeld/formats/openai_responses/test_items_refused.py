"""Items of Responses that are not sent back, because the API would refuse them."""

from typing import Any

import pytest

from reeld.formats.openai_responses.items import SERVER_ITEMS, strip_item


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "call_id": "c", "name": "a b", "arguments": "{}"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{"},
        {"type": "custom_tool_call", "call_id": "c", "name": "look", "input": 7},
        {"type": "additional_tools", "role": "user", "tools": []},
        {"type": "function_call", "call_id": 7, "name": "look", "arguments": "{}"},
        {"type": "custom_tool_call_output", "call_id": {}, "output": "done"},
    ],
)
def test_an_item_that_the_api_would_refuse(item: dict[str, Any]) -> None:
    """A call whose name, arguments, input or id are not accepted is not sent, nor are tools that a user adds."""
    assert strip_item(item, SERVER_ITEMS) is None
