"""Reading the content of LangChain's messages: its own blocks, and those of the providers (rules L3 and L4)."""

from collections.abc import Callable, Iterator
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import text, text_part, tool_call
from reel.providers.content import ANY_PICTURE, media_from
from reel.providers.elements import Element, require_elements, require_map, require_str
from reel.providers.metadata import opaque_block
from reeld.formats.langchain.envelope import Maker
from reeld.formats.langchain.rules import PROVIDER

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
            yield text(content)
        return
    for index, part in enumerate(require_elements(content, where)):
        yield text(part) if type(part) is str else _block(part, f"{where}[{index}]", maker)


def _block(part: Any, where: str, maker: Maker) -> Json:
    kind = require_map(part, where).get("type")
    read = _READERS.get(kind) if type(kind) is str else None
    found = None if read is None else read(Element(part, where), maker)
    return found or opaque_block(maker.provider or PROVIDER, part, maker.model)


def _text(part: Element, maker: Maker) -> Json:
    signature = _inside(part, "extras").get("signature")
    if type(signature) is str and signature and part.value.keys() <= _SIGNED_TEXT:
        return {**text(part.text("text")), **signed(signature, maker)}
    return text_part(PROVIDER, part, "index")


def _inside(part: Element, key: str) -> Json:
    """Return an object in a part; an empty one for anything else."""
    found = part.get(key)
    return found if type(found) is dict else {}


def signed(signature: str, maker: Maker) -> Json:
    """Return the metadata of a text or a call that a provider signed; Google is the one that does (rule L4)."""
    return {"provider_metadata": {**_made_by(maker.provider or "gemini", maker), "signature": signature}}


def _made_by(provider: str | None, maker: Maker) -> Json:
    return {
        **({"provider": provider} if provider else {}),
        **({"model": maker.model} if maker.model else {}),
    }


def _thinking(part: Element, maker: Maker) -> Json:
    """Read thinking in the form of Anthropic's integration, and of Google's older one."""
    signature = part.get("signature")
    provider = maker.provider or ("anthropic" if signature else None)
    return {"type": "thinking", "text": part.text("thinking"), **_signed(signature), **_made_by(provider, maker)}


def _signed(signature: Any) -> Json:
    return {"signature": signature} if type(signature) is str and signature else {}


def _redacted(part: Element, maker: Maker) -> Json:
    return {"type": "redacted_thinking", "data": part.text("data"), **_made_by("anthropic", maker)}


def _reasoning(part: Element, maker: Maker) -> Json | None:
    """Read reasoning in LangChain's form; an OpenAI item is kept unchanged."""
    said = part.get("reasoning")
    if type(said) is not str:
        return opaque_block("openai", part.value, maker.model) if "summary" in part.value else None
    extras = part.get("extras")
    signature = extras.get("signature") if type(extras) is dict else part.get("signature")
    return {"type": "thinking", "text": said, **_signed(signature), **_made_by(maker.provider, maker)}


def _call(part: Element, _maker: Maker) -> Json:
    """Read a call in the content: Anthropic's, OpenAI's, or LangChain's own."""
    given = next((part.get(key) for key in ("args", "input", "arguments") if key in part.value), None)
    call_id = require_str(part.get("call_id") or part.get("id"), part.at("id"))
    return tool_call(call_id, part.text("name"), given)


def _media(part: Element, maker: Maker) -> Json | None:
    """Read media in LangChain's newer and older form, and in Anthropic's; a file that is only named is kept whole."""
    inside = part.get("source") if type(part.get("source")) is dict else part.value
    extras = _inside(part, "extras")
    data = next((value for key in ("base64", "data") if type(value := inside.get(key)) is str), None)
    known = next((kind for key in ("mime_type", "media_type") if type(kind := inside.get(key)) is str), None)
    mime = known or _TYPES.get(part.value["type"], _ANY_FILE)
    if data is not None:
        block = {"type": "media", "mime_type": mime, "data_base64": data}
    elif type(inside.get("url")) is str:
        block = media_from(inside["url"], mime)
    else:
        return None
    name = next((name for holder in (part, extras) if type(name := holder.get("filename")) is str and name), None)
    signature = extras.get("signature")
    beside = signed(signature, maker) if type(signature) is str and signature else {}
    return {**block, **({"name": name} if name else {}), **beside}


def _image_url(part: Element, _maker: Maker) -> Json:
    given = part.get("image_url")
    image = Element({"url": given}, part.at("image_url")) if type(given) is str else part.inside("image_url")
    return media_from(image.text("url"), ANY_PICTURE)


def _non_standard(part: Element, maker: Maker) -> Json | None:
    value = part.get("value")
    return opaque_block(maker.provider, value, maker.model) if maker.provider and type(value) is dict else None


_READERS: dict[str, Callable[[Element, Maker], Json | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "reasoning": _reasoning,
    **dict.fromkeys(("tool_use", "tool_call", "function_call"), _call),
    **dict.fromkeys(("image", "audio", "video", "file", "document", "text-plain"), _media),
    "image_url": _image_url,
    "non_standard": _non_standard,
}
