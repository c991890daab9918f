"""The prompt of a loaded request."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.providers.prompt import system_message
from reel.said.records import parse_data
from reeld.core.validation import rows_from
from reeld.formats.format import Prompt
from reeld.formats.prompt import original_prompt_pieces


def _words(role: str, *texts: str, **metadata: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in texts]
    return {"role": "user", "content": blocks, "provider_metadata": {"provider": "openai", "role": role, **metadata}}


def _stored(leading: list[dict[str, Any]]) -> Prompt:
    """Add a prompt, and read it as rendering does."""
    ((row, _),), _ = rows_from(system_message("openai", leading))
    assert row.content is not None
    return Prompt(row.content, 1, parse_data(row.data_json) if row.data_json else {})


def test_a_request_that_begins_with_the_user_has_no_prompt() -> None:
    """There is no system message."""
    assert [] == system_message("openai", [])


def test_a_plain_system_message_is_only_its_text() -> None:
    """Nothing else is kept of it."""
    prompt = _stored([_words("system", "be brief")])

    assert ("be brief", {}) == (prompt.text, prompt.data)
    assert [] == original_prompt_pieces("openai", prompt)


@pytest.mark.parametrize(
    "leading",
    [
        [_words("developer", "be brief")],
        [_words("system", "be", "brief")],
        [_words("system", "be"), _words("developer", "brief")],
        [_words("system", "be brief", name="boss")],
    ],
)
def test_original_prompt_messages_are_kept_for_their_provider(leading: list[dict[str, Any]]) -> None:
    """Roles, parts and names go back to it; all others get the text."""
    prompt = _stored(leading)
    pieces = original_prompt_pieces("openai", prompt)

    assert "be brief" == prompt.text.replace("\n", " ")
    assert [block for message in leading for block in message["content"]] == [piece.block for piece in pieces]
    assert next(piece.metadata["role"] for piece in pieces) == leading[0]["provider_metadata"]["role"]
    assert [] == original_prompt_pieces("anthropic", prompt)


def test_blank_texts_of_a_prompt_are_left_out() -> None:
    """No provider gets them."""
    assert ["a"] == [
        piece.block["text"] for piece in original_prompt_pieces("openai", _stored([_words("developer", " ", "a")]))
    ]


def test_a_prompt_with_media_is_refused() -> None:
    """No provider accepts pictures in a prompt."""
    message = {"role": "user", "content": [{"type": "media", "mime_type": "image/png", "url": "x"}]}

    with pytest.raises(InvalidMessage, match="only text"):
        system_message("openai", [message])


@pytest.mark.parametrize("text", ["[1]", '[{"content":"x"}]', '[{"content":[{}]}]', "{}", "{"])
def test_prompt_data_that_are_no_messages_are_ignored(text: str) -> None:
    """Anybody may write the data of a system event."""
    data = {"provider_metadata": {"provider": "openai", "messages_json": text}}

    assert [] == original_prompt_pieces("openai", Prompt("be brief", 1, data))
    assert [] == original_prompt_pieces("openai", Prompt("be brief", 1, {"provider_metadata": text}))
