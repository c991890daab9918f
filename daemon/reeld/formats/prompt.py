"""The texts that lead a history: together they are the prompt, and each is kept as it stood."""

from collections.abc import Sequence
from typing import Any

from reeld.formats import metadata as native
from reeld.formats.fields import Json, refused
from reeld.formats.format import Prompt
from reeld.formats.model import Piece


def prompt_of(provider: str, leading: Sequence[Json]) -> list[Json]:
    """Make the one system message of the messages that lead a request.

    Args:
        provider: whose request it is.
        leading: messages in neutral form, their own role in ``provider_metadata.role``; none where the request has
            no prompt.

    Returns:
        no message, or one: its text is what every provider reads. Where that is not all that there is to know,
        ``provider_metadata.messages_json`` has the messages for their own provider.

    Raises:
        InvalidMessage: one of them holds something else than text.
    """
    if not leading:
        return []
    texts = [block for message in leading for block in message["content"]]
    if any(block["type"] != "text" for block in texts):
        raise refused("system", "a prompt can hold nothing but text")
    if len(texts) == 1 and is_plain(provider, leading[0]):
        return [{"role": "system", "content": texts[0]["text"]}]
    plain = [{"type": "text", "text": block["text"]} for block in texts]
    kept = {"provider": provider, "messages_json": native.text_of(list(leading))}
    return [{"role": "system", "content": plain, "provider_metadata": kept}]


def is_plain(provider: str, message: Json) -> bool:
    """Tell whether a message says nothing beside its text: it is a system message without a name or a mark."""
    metadata: dict[str, Any] = message.get("provider_metadata", {})
    return metadata == {"provider": provider, "role": "system"} and "provider_metadata" not in message["content"][0]


def kept_pieces(provider: str, prompt: Prompt) -> list[Piece]:
    """Give the messages that a prompt was loaded from to their own provider, less what is blank; to others none."""
    metadata = prompt.data.get("provider_metadata")
    kept = native.given_back(metadata if type(metadata) is dict else None, provider, ("messages",)).get("messages")
    if type(kept) is not list or not all(map(_is_message, kept)):
        return []
    return [
        Piece(message, index, block)
        for message in kept
        for index, block in enumerate(message["content"])
        if block["text"].strip()
    ]


def _is_message(value: Any) -> bool:
    """Tell whether a value is a message of texts: anybody can write a system event's data."""
    if type(value) is not dict or type(value.get("content")) is not list:
        return False
    holders = [value, *value["content"]]
    return all(
        type(holder) is dict and type(holder.get("provider_metadata", {})) is dict for holder in holders
    ) and all(type(block.get("text")) is str for block in value["content"])
