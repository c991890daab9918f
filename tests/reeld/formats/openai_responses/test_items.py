"""Items of Responses that are sent back as they came."""

from typing import Any

import pytest

from reeld.formats.openai_responses.items import SERVER_ITEMS, strip_item


@pytest.mark.parametrize("call_id", ["c" * 65, 7])
def test_server_item_with_an_invalid_call_id_is_not_sent(call_id: Any) -> None:
    """The API refuses an item of a server tool whose call id is longer than 64 characters, or not a string."""
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed"}

    assert strip_item(item, SERVER_ITEMS) is not None
    assert strip_item({**item, "call_id": call_id}, SERVER_ITEMS) is None


@pytest.mark.parametrize(
    ("part", "valid"),
    [
        ({"type": "summary_text", "text": "so"}, True),
        ({"type": "summary_text", "text": 1}, False),
        ({"type": "summary_text", "text": "so", "more": 1}, False),
        ("so", False),
    ],
)
def test_the_summary_of_reasoning(part: object, valid: bool) -> None:
    """Reasoning whose summary has another form than the API accepts is left out (rule R5)."""
    item = {"type": "reasoning", "summary": [part], "encrypted_content": "x"}

    assert valid == (strip_item(item, SERVER_ITEMS) is not None)
