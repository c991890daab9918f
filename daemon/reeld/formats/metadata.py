"""What a provider's own keys and blocks become where there is no neutral word for them, and the way back."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from reel.strict_json import encode_lenient, parse
from reel.values import clean_deep, is_clean, why_not_plain
from reeld.formats.arguments import is_sendable

# A key whose value is kept as JSON text ends in this.
_AS_TEXT = "_json"


def text_of(value: Any) -> str:
    """Give a value as JSON text, as short as it is; a lone surrogate stays the escape that it was."""
    text = encode_lenient(value)
    return text if is_clean(text) else json.dumps(value, separators=(",", ":"))


def value_of(text: str) -> Any:
    """Read a JSON text that was kept; what could not go over the wire is U+FFFD.

    Raises:
        ValueError: it is none.
    """
    value = parse(text)
    return clean_deep(value)[0] if "\\u" in text or not is_clean(text) else value


def readable(text: Any) -> Any:
    """Read a JSON text that anybody may have written; ``None`` where it is none that can be sent again."""
    try:
        value = value_of(text) if type(text) is str else None
    except (ValueError, RecursionError):
        return None
    return value if is_sendable(value) else None


def object_of(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read what an opaque block holds; ``None`` where it is no object that can be sent."""
    value = readable(block["data_json"])
    return value if type(value) is dict else None


def keep(provider: str, values: Mapping[str, Any], without: Iterable[str] = ()) -> dict[str, Any]:
    """Keep a provider's own keys as metadata: plain ones under their own names, nested ones as JSON text.

    Args:
        provider: whose keys they are.
        values: the keys; null ones and empty ones say nothing and are left out.
        without: the keys among them that have a neutral word.

    Returns:
        ``{"provider_metadata": …}``, or nothing where nothing is left.
    """
    kept = {
        **{key: value for key, value in _said(values, without) if why_not_plain(value, 1) is None},
        **{
            key + _AS_TEXT: text_of(value)
            for key, value in _said(values, without)
            if why_not_plain(value, 1) is not None
        },
    }
    return {"provider_metadata": {"provider": provider, **kept}} if kept else {}


def _said(values: Mapping[str, Any], without: Iterable[str]) -> list[tuple[str, Any]]:
    left_out = {"provider", *without}
    return [(key, value) for key, value in values.items() if key not in left_out and value not in (None, [], {}, "")]


def given_back(metadata: Mapping[str, Any] | None, provider: str, keys: Iterable[str]) -> dict[str, Any]:
    """Give a provider the keys back that were kept of it.

    Args:
        metadata: the ``provider_metadata`` of a block or a message.
        provider: who asks; another provider's keys are not given.
        keys: the keys that are wanted, in the order in which they are given.
    """
    if not metadata or metadata.get("provider") != provider:
        return {}
    found: dict[str, Any] = {}
    for key in keys:
        if metadata.get(key) is not None:
            found[key] = metadata[key]
        elif (value := readable(metadata.get(key + _AS_TEXT))) is not None:
            found[key] = value
    return found


def opaque(provider: str, value: Mapping[str, Any], model: str | None = None, **metadata: Any) -> dict[str, Any]:
    """Keep a whole block of a provider's as it is."""
    block: dict[str, Any] = {"type": "opaque", "provider": provider, "data_json": text_of(value)}
    if model is not None:
        block["model"] = model
    if metadata:
        block["provider_metadata"] = {"provider": provider, **metadata}
    return block
