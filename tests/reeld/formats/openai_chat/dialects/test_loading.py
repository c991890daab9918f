"""Requests in a dialect, loaded: they need no dialect to be understood."""

from typing import Any

import pytest
from hypothesis import example, given, settings

from reeld.formats.table import FORMATS
from tests.formats.checker.chat_dialects import SERVERS
from tests.reeld.formats.histories import HISTORIES
from tests.reeld.formats.openai_chat.dialects.chatting import chat
from tests.thoroughness import FUZZ

pytestmark = pytest.mark.slow

# As of a model that keeps its reasoning for itself.
_NO_THOUGHT = {
    "type": "thinking",
    "text": "",
    "provider": "openai",
    "provider_metadata": {"provider": "openai", "reasoning_details_json": '[{"type":"reasoning.encrypted"}]'},
}
# Its text is blank, and what else was kept is another server's.
_BLANK_THOUGHT = {**_NO_THOUGHT, "text": " "}
_CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}


@pytest.mark.parametrize("dialect", list(SERVERS))
@settings(max_examples=FUZZ // 50 or 15)
@given(messages=HISTORIES)
@example(messages=["Hello", {"role": "assistant", "content": [_BLANK_THOUGHT, _CALL]}])
@example(messages=["Hello", {"role": "assistant", "content": [_NO_THOUGHT, {"type": "text", "text": "Hi"}]}])
def test_a_rendered_request_is_rendered_to_itself(dialect: str, messages: list[Any]) -> None:
    """It loads, and nothing of it is lost, whichever server it was for."""
    before, _ = chat(dialect, [*messages, "Go on"])
    after, _ = chat(dialect, FORMATS["openai-chat"].read_request({"messages": before}, None).messages)

    assert before == after
