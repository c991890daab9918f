"""The system prompt of a request: one text for every provider, and the original messages for its own provider."""

from collections.abc import Sequence
from typing import Any

from reel.base.strict_json import Json
from reel.providers.elements import invalid_at
from reel.providers.json_values import dump


def system_message(provider: str, leading: Sequence[Json]) -> list[Json]:
    """Return one system message for the instructions at the beginning of a request (rule X13).

    Args:
        provider: the provider of the request.
        leading: messages in neutral form, with the original role in ``provider_metadata.role``; empty if the request
            has no prompt.

    Returns:
        a list of no message or one. Its text is for every provider. If the original messages are more than their texts,
        ``provider_metadata.messages_json`` has them for their own provider.

    Raises:
        InvalidMessage: one of them contains something other than text.
    """
    if not leading:
        return []
    texts = [block for message in leading for block in message["content"]]
    if any(block["type"] != "text" for block in texts):
        raise invalid_at("system", "a system prompt can contain only text")
    if len(texts) == 1 and is_plain(provider, leading[0]):
        return [{"role": "system", "content": texts[0]["text"]}]
    plain = [{"type": "text", "text": block["text"]} for block in texts]
    kept = {"provider": provider, "messages_json": dump(list(leading))}
    return [{"role": "system", "content": plain, "provider_metadata": kept}]


def is_plain(provider: str, message: Json) -> bool:
    """Return whether a message is only its text: a system message without a name or a cache breakpoint."""
    metadata: dict[str, Any] = message.get("provider_metadata", {})
    return metadata == {"provider": provider, "role": "system"} and "provider_metadata" not in message["content"][0]
