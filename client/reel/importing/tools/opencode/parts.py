"""Parts of opencode's messages, of all versions, as blocks."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block, with_exit_status
from reel.importing.values import as_map, list_in, map_in, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.metadata import opaque_block
from reel.providers.openai import PROVIDER as OPENAI
from reel.said.blocks import check_name

PROVIDER = "opencode"
# The providers whose reasoning is not that of Chat Completions, as opencode calls them.
_OWN_FORMATS = ("anthropic", "amazon-bedrock", "google", "google-vertex", "google-vertex-anthropic")
# The fields of which something is made, or that say where a part belongs.
_PLACE = frozenset({"id", "sessionID", "messageID", "type"})
_PART_FIELDS = {
    "text": _PLACE | {"text"},
    "file": _PLACE | {"url", "uri", "data", "mime", "filename", "name"},
    "reasoning": _PLACE | {"text", "metadata", "providerMetadata", "native", "state"},
    "tool": _PLACE
    | {"callID", "tool", "name", "state", "metadata", "providerMetadata", "provider", "native", "providerState"},
}
# Those of reasoning that its provider signed or encrypted.
_METADATA_FIELDS = {
    "anthropic": frozenset({"redactedData", "signature"}),
    "openai": frozenset({"reasoningEncryptedContent", "itemId"}),
}
_STATE_FIELDS = frozenset(
    {"status", "input", "output", "error", "content", "attachments", "structured", "result", "metadata"}
)


def given_block(part: Json) -> Json:
    """Convert a part of a prompt to a block."""
    if part.get("type") == "text" and type(part.get("text")) is str and part.get("ignored") is not True:
        return text_block(part["text"])
    return _media(part) if part.get("type") == "file" else opaque_block(PROVIDER, part)


def _media(part: Json) -> Json:
    """Convert a file to a block; one that is only named, without content, is kept unchanged."""
    url, mime = text_in(part, "url") or text_in(part, "uri"), text_in(part, "mime") or "application/octet-stream"
    name = text_in(part, "filename") or text_in(part, "name")
    named = {"name": name} if name else {}
    head, _, data = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64")):
        data = text_in(part, "data")
    if data:
        return {"type": "media", "mime_type": mime, "data_base64": data, **named}
    if url.startswith(("https://", "http://")):
        return {"type": "media", "mime_type": mime, "url": url, **named}
    return opaque_block(PROVIDER, part)


def made_block(part: Json, provider: str, model: str) -> Json:
    """Convert a part of an answer to a block."""
    kind = part.get("type")
    if kind == "tool":
        return _call(part)
    if kind == "reasoning" and type(part.get("text")) is str:
        return _thinking(part, provider, model)
    return given_block(part)


def _call(part: Json) -> Json:
    call_id, name = _names(part)
    if check_name(call_id) is not None or check_name(name) is not None:
        return opaque_block(PROVIDER, part)
    given = map_in(part, "state").get("input")
    metadata = _metadata(part) or map_in(map_in(part, "provider"), "metadata")
    kept = {"provider_metadata": {"provider": PROVIDER, "metadata_json": encode(metadata)}} if metadata else {}
    return {**call_block(call_id, name, given), **kept}


def _names(part: Json) -> tuple[str, str]:
    return text_in(part, "callID") or text_in(part, "id"), text_in(part, "tool") or text_in(part, "name")


def _metadata(part: Json) -> Json:
    """Return what the provider wants to get back with a part, by providers."""
    own = "providerState" if part.get("type") == "tool" else "state"
    native = map_in(part, "native") or map_in(part, own)
    of = next((provider for provider, fields in _METADATA_FIELDS.items() if fields & native.keys()), "")
    return map_in(part, "providerMetadata") or map_in(part, "metadata") or ({of: native} if of else native)


def result_block(part: Json) -> Json | None:
    """Return the tool result in a part, or ``None`` if the part has no valid one."""
    state = map_in(part, "state")
    if part.get("type") != "tool" or state.get("status") not in ("completed", "error"):
        return None
    call_id, name = _names(part)
    if check_name(call_id) is not None or check_name(name) is not None:
        return None
    # Of a call that was ended, the model gets what it had told by then.
    told = map_in(state, "metadata")
    ended = told.get("output") if told.get("interrupted") is True else None
    failed = state["status"] == "error" and type(ended) is not str
    error = state.get("error")
    output = state.get("output") if state["status"] == "completed" else ended
    content: Any = (text_in(error, "message") or error) if failed else output
    if type(content) is not str:
        content = "" if content is None else encode(content)
    blocks = [given_block(as_map(found)) for found in list_in(state, "content")]
    blocks += [_media(as_map(found)) for found in list_in(state, "attachments")]
    if blocks:
        content = [*([text_block(content)] if content else []), *blocks]
    elif not content and not failed and (given := state.get("structured") or state.get("result")):
        content = given if type(given) is str else encode(given)
    result = {
        "type": "tool_result",
        "tool_call_id": call_id,
        "content": content,
        "is_error": failed or name == "invalid",
    }
    return with_exit_status(result, PROVIDER, map_in(state, "metadata").get("exit"))


def _thinking(part: Json, provider: str, model: str) -> Json:
    """Return reasoning in the form in which its provider accepts it."""
    metadata, of_model = _metadata(part), ({"model": model} if model else {})
    anthropic, openai = map_in(metadata, "anthropic"), map_in(metadata, "openai")
    if redacted := text_in(anthropic, "redactedData"):
        return {"type": "redacted_thinking", "data": redacted, "provider": "anthropic", **of_model}
    if signature := text_in(anthropic, "signature"):
        signed = {"text": part["text"], "signature": signature, "provider": "anthropic"}
        return {"type": "thinking", **signed, **of_model}
    if encrypted := text_in(openai, "reasoningEncryptedContent"):
        summary = [{"type": "summary_text", "text": part["text"]}] if part["text"] else []
        item = {"type": "reasoning", "id": text_in(openai, "itemId"), "summary": summary}
        data = encode({**item, "encrypted_content": encrypted})
        return {"type": "opaque", "provider": "openai", "data_json": data, **of_model}
    kept = {"provider_metadata": {"provider": PROVIDER, "metadata_json": encode(metadata)}} if metadata else {}
    by = provider if provider in (PROVIDER, *_OWN_FORMATS) else OPENAI
    return {"type": "thinking", "text": part["text"], "provider": by, **of_model, **kept}


def is_empty(part: Json) -> bool:
    """Return whether it is a part whose first words are to come."""
    kind, text = part.get("type"), part.get("text")
    return text == "" and (kind == "text" or (kind == "reasoning" and not _metadata(part)))


def left_out_of(part: Json) -> Iterator[str]:
    """Yield the fields of a part that its block does not have; a part that is kept whole has all of them."""
    kind = text_in(part, "type")
    state = map_in(part, "state") if kind == "tool" else {}
    if (known := _PART_FIELDS.get(kind)) is not None and made_block(part, "", "")["type"] != "opaque":
        yield from other_fields(part, known, f"{kind}.")
        yield from other_fields(state, _STATE_FIELDS, f"{kind}.state.")
        yield from other_fields(map_in(state, "metadata"), {"exit"}, f"{kind}.state.metadata.")
        if kind == "reasoning" and "provider_metadata" not in _thinking(part, "", ""):
            metadata = _metadata(part)
            yield from other_fields(metadata, _METADATA_FIELDS.keys(), "reasoning.metadata.")
            for provider, fields in _METADATA_FIELDS.items():
                yield from other_fields(map_in(metadata, provider), fields, f"reasoning.metadata.{provider}.")
