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
