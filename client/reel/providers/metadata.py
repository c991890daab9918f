"""A provider's own keys and blocks that have no neutral form: kept as metadata, and sent back to that provider."""

from collections.abc import Iterable, Mapping
from typing import Any

from reel.base.strict_json import Json
from reel.base.values import clean, has_large_number, why_not_plain
from reel.providers.json_values import dump, load_sendable

# The suffix of a key whose value is kept as JSON text, because metadata holds only plain values.
_AS_TEXT = "_json"


def preserve_keys(provider: str, values: Mapping[str, Any], without: Iterable[str] = ()) -> Json:
    """Return a provider's own keys as metadata: plain values unchanged, nested ones as JSON text.

    What cannot be stored in the name of a key is replaced by U+FFFD, as it is in a value.

    Args:
        provider: the provider.
        values: the keys; null and empty values carry no information and are left out.
        without: the keys among them that have a neutral form.

    Returns:
        ``{"provider_metadata": …}``, or an empty map if no key is left.
    """
    own = [key for key in values if key not in without and key != "provider"]
    if not own:  # as in most blocks
        return {}
    simple: Json = {}
    nested: Json = {}
    for key in own:
        value = values[key]
        if value in (None, [], {}, ""):
            continue
        if why_not_plain(value, 1) is None and not has_large_number(value):
            simple[clean(key)[0]] = value
        else:
            nested[clean(key)[0] + _AS_TEXT] = dump(value)
    kept = {**simple, **nested}
    return {"provider_metadata": {"provider": provider, **kept}} if kept else {}


def restore_keys(metadata: Mapping[str, Any] | None, provider: str, keys: Iterable[str]) -> Json:
    """Return the keys that :func:`preserve_keys` kept for a provider.

    Args:
        metadata: the ``provider_metadata`` of a block or a message.
        provider: the provider that is to receive them; another provider's keys are not returned.
        keys: the requested keys, in the order of the result.
    """
    if not metadata or metadata.get("provider") != provider:
        return {}
    restored: Json = {}
    for key in keys:
        if metadata.get(key) is not None:
            restored[key] = metadata[key]
        elif (value := load_sendable(metadata.get(key + _AS_TEXT))) is not None:
            restored[key] = value
    return restored


def restore_key(metadata: Mapping[str, Any] | None, provider: str, key: str) -> Any:
    """Return the value that :func:`preserve_keys` kept under a key of a provider, or ``None``."""
    return restore_keys(metadata, provider, (key,)).get(key) if metadata else None


def is_own(block: Json, provider: str) -> bool:
    """Whether a block came from a provider."""
    return (block.get("provider_metadata") or {}).get("provider") == provider


def opaque_block(provider: str, value: Mapping[str, Any], model: str | None = None, **metadata: Any) -> Json:
    """Return the block that keeps a provider's own object unchanged."""
    block: Json = {"type": "opaque", "provider": provider, "data_json": dump(value)}
    if model is not None:
        block["model"] = model
    if metadata:
        block["provider_metadata"] = {"provider": provider, **metadata}
    return block


def opaque_object(block: Mapping[str, Any]) -> Json | None:
    """Return the object that an opaque block holds; ``None`` if it is not an object that can be sent."""
    value = load_sendable(block["data_json"])
    return value if type(value) is dict else None
