"""Reading the content of LangChain's messages: its own blocks, and those of the providers (rules L3 and L4)."""

from collections.abc import Callable, Iterator
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import ANY_PICTURE, media_from
from reeld.formats.fields import arguments_of, require_elements, require_map, require_str
from reeld.formats.langchain.envelope import Maker
from reeld.formats.langchain.rules import PROVIDER
from reeld.formats.metadata import opaque_block, preserve_keys

# The default type of media.
_TYPES = {"image": ANY_PICTURE, "audio": "audio/wav", "video": "video/mp4"}
_ANY_FILE = "application/octet-stream"
_SIGNED_TEXT = {"type", "text", "extras", "index"}


def content_blocks(content: Any, where: str, maker: Maker) -> Iterator[Json]:
    """Read content that is a text or a list of blocks.

    Args:
        content: the content.
        where: its place, for errors.
        maker: its maker.
    """
    if type(content) is str:
        if content:
            yield {"type": "text", "text": content}
        return
    for index, part in enumerate(require_elements(content, where)):
        yield _block(part, f"{where}[{index}]", maker)


def _block(part: Any, where: str, maker: Maker) -> Json:
    if type(part) is str:
        return {"type": "text", "text": part}
    kind = require_map(part, where).get("type")
    read = _READERS.get(kind) if type(kind) is str else None
    found = None if read is None else read(part, where, maker)
    return found or opaque_block(maker.provider or PROVIDER, part, maker.model)


def _text(part: Json, where: str, maker: Maker) -> Json:
    block = {"type": "text", "text": require_str(part.get("text"), f"{where}.text")}
    extras = part.get("extras")
    signature = extras.get("signature") if type(extras) is dict else None
    if type(signature) is str and signature and part.keys() <= _SIGNED_TEXT:
        return {**block, **signed(signature, maker)}
    return {**block, **preserve_keys(PROVIDER, part, ("type", "text", "index"))}


def signed(signature: str, maker: Maker) -> Json:
    """Return the metadata of a text or a call that a provider signed; Google is the one that does (rule L4)."""
    return {"provider_metadata": {**_made_by(maker.provider or "gemini", maker), "signature": signature}}


def _made_by(provider: str | None, maker: Maker) -> Json:
    return {
        **({"provider": provider} if provider else {}),
        **({"model": maker.model} if maker.model else {}),
    }


def _thinking(part: Json, where: str, maker: Maker) -> Json:
    """Read thinking in the form of Anthropic's integration, and of Google's older one."""
    text = require_str(part.get("thinking"), f"{where}.thinking")
    return {"type": "thinking", "text": text, **_signed(part.get("signature")), **_made_by(_of(part, maker), maker)}


def _of(part: Json, maker: Maker) -> str | None:
    return maker.provider or ("anthropic" if part.get("signature") else None)


def _signed(signature: Any) -> Json:
    return {"signature": signature} if type(signature) is str and signature else {}


def _redacted(part: Json, where: str, maker: Maker) -> Json:
    data = require_str(part.get("data"), f"{where}.data")
    return {"type": "redacted_thinking", "data": data, **_made_by("anthropic", maker)}


def _reasoning(part: Json, _where: str, maker: Maker) -> Json | None:
    """Read reasoning in LangChain's form; an OpenAI item is kept unchanged."""
    text = part.get("reasoning")
    if type(text) is not str:
        return opaque_block("openai", part, maker.model) if "summary" in part else None
    extras = part.get("extras")
    signature = extras.get("signature") if type(extras) is dict else part.get("signature")
    return {"type": "thinking", "text": text, **_signed(signature), **_made_by(maker.provider, maker)}


def _call(part: Json, where: str, _maker: Maker) -> Json:
    """Read a call in the content: Anthropic's, OpenAI's, or LangChain's own."""
    given = next((part[key] for key in ("args", "input", "arguments") if key in part), None)
    return {
        "type": "tool_call",
        "id": require_str(part.get("call_id") or part.get("id"), f"{where}.id"),
        "name": require_str(part.get("name"), f"{where}.name"),
        "arguments": arguments_of(given),
    }


def _media(part: Json, _where: str, maker: Maker) -> Json | None:
    """Read media in LangChain's newer and older form, and in Anthropic's; a file that is only named is kept whole."""
    source, beside = part.get("source"), part.get("extras")
    inside: Json = source if type(source) is dict else part
    extras: Json = beside if type(beside) is dict else {}
    data = next((value for key in ("base64", "data") if type(value := inside.get(key)) is str), None)
    known = next((kind for key in ("mime_type", "media_type") if type(kind := inside.get(key)) is str), None)
    mime = known or _TYPES.get(part["type"], _ANY_FILE)
    if data is not None:
        block = {"type": "media", "mime_type": mime, "data_base64": data}
    elif type(inside.get("url")) is str:
        block = media_from(inside["url"], mime)
    else:
        return None
    name = next((name for holder in (part, extras) if type(name := holder.get("filename")) is str and name), None)
    named = {"name": name} if name else {}
    signature = extras.get("signature")
    beside = signed(signature, maker) if type(signature) is str and signature else {}
    return {**block, **named, **beside}


def _image_url(part: Json, where: str, _maker: Maker) -> Json:
    given = part.get("image_url")
    url = given if type(given) is str else require_map(given, f"{where}.image_url").get("url")
    return media_from(require_str(url, f"{where}.image_url.url"), ANY_PICTURE)


def _non_standard(part: Json, _where: str, maker: Maker) -> Json | None:
    value = part.get("value")
    return opaque_block(maker.provider, value, maker.model) if maker.provider and type(value) is dict else None


_READERS: dict[str, Callable[[Json, str, Maker], Json | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "reasoning": _reasoning,
    **dict.fromkeys(("tool_use", "tool_call", "function_call"), _call),
    **dict.fromkeys(("image", "audio", "video", "file", "document", "text-plain"), _media),
    "image_url": _image_url,
    "non_standard": _non_standard,
}
