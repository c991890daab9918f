"""The prompt of a loaded request."""

from typing import Any

import pytest

from reel.errors import InvalidMessage
from reel.records import parse_data
from reeld.core.validation import rows_from
from reeld.formats.format import Prompt
from reeld.formats.prompt import original_prompt_pieces, system_message


def _words(role: str, *texts: str, **metadata: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in texts]
    return {"role": "user", "content": blocks, "provider_metadata": {"provider": "openai", "role": role, **metadata}}


def _stored(leading: list[dict[str, Any]]) -> Prompt:
    """Add a prompt, and read it as a rendering does."""
    ((row, _),), _ = rows_from(system_message("openai", leading))
    assert row.content is not None
    return Prompt(row.content, 1, parse_data(row.data_json) if row.data_json else {})


def test_no_leading_text_is_no_prompt() -> None:
    """A request that begins with the user has no prompt."""
    assert [] == system_message("openai", [])


def test_a_plain_system_message_is_its_text() -> None:
    """One system message with one text has nothing else to keep."""
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
def test_what_is_more_than_a_text_is_kept(leading: list[dict[str, Any]]) -> None:
    """Roles, parts and names go back to their own provider; others read the text."""
    prompt = _stored(leading)
    pieces = original_prompt_pieces("openai", prompt)

    assert "be brief" == prompt.text.replace("\n", " ")
    assert [block for message in leading for block in message["content"]] == [piece.block for piece in pieces]
    assert next(piece.metadata["role"] for piece in pieces) == leading[0]["provider_metadata"]["role"]
    assert [] == original_prompt_pieces("anthropic", prompt)


def test_blank_texts_are_not_given_back() -> None:
    """A blank text is no text for any provider."""
    assert ["a"] == [
        piece.block["text"] for piece in original_prompt_pieces("openai", _stored([_words("developer", " ", "a")]))
    ]


def test_a_prompt_is_text() -> None:
    """No provider takes pictures in its prompt."""
    message = {"role": "user", "content": [{"type": "media", "mime_type": "image/png", "url": "x"}]}

    with pytest.raises(InvalidMessage, match="only text"):
        system_message("openai", [message])


@pytest.mark.parametrize("text", ["[1]", '[{"content":"x"}]', '[{"content":[{}]}]', "{}", "{"])
def test_what_anybody_wrote_is_not_believed(text: str) -> None:
    """A system event's data may be anything; what is no message is left alone."""
    data = {"provider_metadata": {"provider": "openai", "messages_json": text}}

    assert [] == original_prompt_pieces("openai", Prompt("be brief", 1, data))
    assert [] == original_prompt_pieces("openai", Prompt("be brief", 1, {"provider_metadata": text}))
