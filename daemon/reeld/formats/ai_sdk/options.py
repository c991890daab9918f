"""``providerOptions`` and ``providerMetadata`` of the AI SDK: provider data of a part (rule V4).

Values with a neutral form, such as a signature, are converted. The whole map is kept beside them if it holds more.
"""

from collections.abc import Mapping
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.metadata import preserve_keys, restore_key
from reel.providers.roles import THOUGHTS

PROVIDER = "ai-sdk"
# The key under which a whole map is kept with a block or a message.
KEPT = "providerOptions"
# The providers by their names in the AI SDK, and the names that are written.
_PROVIDERS = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "amazonBedrock": "bedrock",
    "google": "gemini",
    "googleVertex": "gemini",
    "vertex": "gemini",
    "openai": "openai",
    "azure": "openai",
}
_NAMES = {"anthropic": "anthropic", "bedrock": "bedrock", "gemini": "google", "openai": "openai"}
# Their names for a signature.
_SIGNATURE = {"anthropic": "signature", "bedrock": "signature", "gemini": "thoughtSignature"}
_HIDDEN = "redactedData"
_ENCRYPTED = "reasoningEncryptedContent"


class Signed(NamedTuple):
    """A provider, and its signature or redacted data."""

    provider: str
    value: str


class Encrypted(NamedTuple):
    """The id and the encrypted content of a reasoning item of OpenAI's; one of them may be missing."""

    item_id: str | None
    content: str | None


def signature_in(options: Mapping[str, Any]) -> Signed | None:
    """Return the signature that options contain."""
    return _first(options, _SIGNATURE)


def redacted_in(options: Mapping[str, Any]) -> Signed | None:
    """Return the redacted reasoning that options contain."""
    return _first(options, {"anthropic": _HIDDEN, "bedrock": _HIDDEN})


def encrypted_in(options: Mapping[str, Any]) -> Encrypted | None:
    """Return the data of an OpenAI reasoning item in options."""
    item_id, content = (_first(options, {"openai": key}) for key in ("itemId", _ENCRYPTED))
    if item_id is None and content is None:
        return None
    return Encrypted(item_id.value if item_id else None, content.value if content else None)


def _first(options: Mapping[str, Any], keys: Mapping[str, str]) -> Signed | None:
    """Return the text under the key of a provider in options, and the provider."""
    for name, found in options.items():
        provider = _PROVIDERS.get(name, "")
        value = found.get(keys.get(provider)) if type(found) is dict else None
        if type(value) is str and value:
            return Signed(provider, value)
    return None


def keep_options(block: Json, options: Json, model: str | None) -> Json:
    """Return a text, a call or media with its options: a signature as such, the rest as metadata."""
    signed = signature_in(options)
    made_by = {} if model is None else {"model": model}
    if signed is not None:
        kept: Json = {"provider": signed.provider, **made_by, "signature": signed.value}
        block = {**block, "provider_metadata": {**block.get("provider_metadata", {}), **kept}}
    return with_rest(block, options)


def with_rest(block: Json, options: Json) -> Json:
    """Return a block with its options as metadata, unless the block already represents all of them."""
    if not options or derived_options(block) == options:
        return block
    known = block.get("provider_metadata", {})
    provider = known.get("provider", PROVIDER)
    return {**block, **_merged(known, preserve_keys(provider, {KEPT: options}))}


def _merged(known: Json, kept: Json) -> Json:
    return {"provider_metadata": {**known, **kept.get("provider_metadata", {})}}


def written_options(block: Json) -> Json:
    """Return the options of a part as keys: the original ones, else those derived from its block."""
    metadata = block.get("provider_metadata") or {}
    if not metadata and block["type"] not in THOUGHTS:  # nearly always
        return {}
    kept = restore_key(metadata, str(metadata.get("provider")), KEPT)
    options = kept if are_options(kept) else derived_options(block)
    return {KEPT: options} if options else {}


def derived_options(block: Json) -> Json:
    """Return the options derived from a block: its signature, redacted data, or a cache breakpoint."""
    metadata = block.get("provider_metadata") or {}
    if block["type"] == "redacted_thinking":
        return _options(block.get("provider"), _HIDDEN, block["data"])
    if block["type"] == "thinking":
        return _options(block.get("provider"), _SIGNATURE.get(block.get("provider") or ""), block.get("signature"))
    provider = str(metadata.get("provider"))
    signed = _options(provider, _SIGNATURE.get(provider), metadata.get("signature"))
    cached = restore_key(metadata, "anthropic", "cache_control")
    return signed or (_options("anthropic", "cacheControl", cached) if type(cached) is dict else {})


def _options(provider: str | None, key: str | None, value: Any) -> Json:
    name = _NAMES.get(provider or "")
    return {name: {key: value}} if name and key and value else {}


def encrypted_options(content: str) -> Json:
    """Return the options of a reasoning item of OpenAI's, without its id.

    With an id the AI SDK refers to an item on the server, unless ``store`` is false; without one it sends the content.
    """
    return _options("openai", _ENCRYPTED, content)


def are_options(value: Any) -> bool:
    """Whether a value has the form that the AI SDK requires for options: a map of maps."""
    return type(value) is dict and all(type(found) is dict for found in value.values())
