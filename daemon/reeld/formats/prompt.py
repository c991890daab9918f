"""The original messages of a system prompt, for their own provider."""

from typing import Any

from reel.providers.metadata import restore_key
from reeld.formats.format import Prompt
from reeld.formats.model import Piece


def original_prompt_pieces(provider: str, prompt: Prompt) -> list[Piece]:
    """Return the original messages of a prompt, without blank texts, if they are this provider's."""
    metadata = prompt.data.get("provider_metadata")
    messages = restore_key(metadata if type(metadata) is dict else None, provider, "messages")
    if type(messages) is not list or not all(map(_is_message, messages)):
        return []
    return [
        Piece(message, message_index, block_index, block)
        for message_index, message in enumerate(messages)
        for block_index, block in enumerate(message["content"])
        if block["text"].strip()
    ]


def _is_message(value: Any) -> bool:
    """Return whether a value is a message of texts: clients can store anything in the data of a prompt."""
    if type(value) is not dict or type(value.get("content")) is not list:
        return False
    holders = [value, *value["content"]]
    return all(
        type(holder) is dict and type(holder.get("provider_metadata", {})) is dict for holder in holders
    ) and all(type(block.get("text")) is str for block in value["content"])
