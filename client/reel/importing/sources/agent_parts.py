"""Reads the parts of messages in the forms of pi, of the agents made from it, and of goose.

Both are close to Anthropic's blocks, but name calls and results differently: pi has a message for each result, goose a
part, with a status around what a call asks for and what it got.
"""

from collections.abc import Callable, Iterator
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources.blocks import call_block, fitting, made_by
from reel.importing.values import list_in, map_in, other_fields, parse_record, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import is_base64, shortest
from reel.providers.metadata import opaque_block
from reel.providers.openai import PROVIDER as OPENAI
from reel.providers.refusals import Refusals
from reel.said.blocks import check_word

# The role of a message with the result of a call, in pi.
RESULT_ROLE = "toolResult"


class Author(NamedTuple):
    """Who wrote a message.

    Args:
        tool: the tool whose form it has; unknown parts are kept as its own.
        signer: the provider that signed the thinking; empty if unknown.
        model: the model; empty if none wrote it, or it is unknown.
    """

    tool: str
    signer: str = ""
    model: str = ""


def has_own_parts(found: Json) -> bool:
    """Return whether a message is in one of these forms, and not in that of a provider."""
    return found.get("role") == RESULT_ROLE or any(text_in(part, "type") in _OWN for part in list_in(found, "content"))


def read_message(found: Json, author: Author, refusals: Refusals) -> list[Json]:
    """Return the blocks of a message; of the result of a call, one block."""
    blocks = read_parts(found.get("content"), author, refusals)
    if found.get("role") != RESULT_ROLE:
        return blocks
    content = shortest([fitting(block, "tool_result", refusals) for block in blocks])
    return [tool_result(_id_of(text_in(found, "toolCallId")) or "call", content, failed=found.get("isError") is True)]


def read_parts(content: Any, author: Author, refusals: Refusals) -> list[Json]:
    """Return the blocks of a content, which is a text or a list of parts."""
    if type(content) is str:
        return [text_block(content)] if content else []
    parts = content if type(content) is list else [] if content is None else [content]
    return [_read_part(part, author, refusals) for part in parts]


def _read_part(part: Any, author: Author, refusals: Refusals) -> Json:
    if type(part) is str:
        return text_block(part)
    read = _READERS.get(text_in(part, "type"))
    made = read(part, author, refusals) if read is not None else None
    if made is not None:
        return made
    return opaque_block(author.tool, part if type(part) is dict else {"type": "unknown", "value": part})


def _text(part: Json, _author: Author, _refusals: Refusals) -> Json | None:
    return text_block(part["text"]) if type(part.get("text")) is str else None


def _thinking(part: Json, author: Author, _refusals: Refusals) -> Json | None:
    """Read thinking; a signature goes back to whoever signed it, if that is known and the text is whole."""
    text, signature = text_in(part, "thinking"), text_in(part, "thinkingSignature") or text_in(part, "signature")
    if author.signer == OPENAI:
        return _reasoning(text, signature, author)
    by = made_by(author.signer or author.tool, author.model)
    if part.get("redacted") is True and author.signer:
        return {"type": "redacted_thinking", "data": signature, **by}
    signed: Json = {"signature": signature} if signature and author.signer else {}
    if signature and not signed:
        signed = {"provider_metadata": {"provider": author.tool, "signature": signature}}
    return {"type": "thinking", "text": text, **by, **signed}


def _reasoning(text: str, signature: str, author: Author) -> Json:
    """Read reasoning of OpenAI's, whose signature is the whole item; a plain signature is the name of a field."""
    try:
        item = parse_record(signature.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        item = None
    if item is not None:
        return opaque_block(OPENAI, item, author.model or None)
    return {"type": "thinking", "text": text, **made_by(OPENAI, author.model)}


def _redacted(part: Json, author: Author, _refusals: Refusals) -> Json | None:
    if not author.signer or type(part.get("data")) is not str:
        return None
    return {"type": "redacted_thinking", "data": part["data"], **made_by(author.signer, author.model)}


def _image(part: Json, _author: Author, _refusals: Refusals) -> Json | None:
    data, mime = text_in(part, "data"), text_in(part, "mimeType")
    if not data or not is_base64(data) or check_word(mime) is not None:
        return None
    return {"type": "media", "mime_type": mime, "data_base64": data}


def _call(part: Json, _author: Author, _refusals: Refusals) -> Json:
    return call_block(_id_of(text_in(part, "id")), text_in(part, "name"), part.get("arguments"))


def _id_of(given: str) -> str:
    """Return the id of a call: of OpenAI's Responses, pi keeps that of the item behind it."""
    return given.partition("|")[0]


def _request(part: Json, _author: Author, _refusals: Refusals) -> Json:
    """Read a call of goose; one that could not be read has an error in place of a name and arguments."""
    asked = map_in(map_in(part, "toolCall"), "value") or map_in(part, "toolCall")
    return call_block(text_in(part, "id"), text_in(asked, "name"), asked.get("arguments") or asked.get("error"))


def _response(part: Json, author: Author, refusals: Refusals) -> Json:
    """Read a result of goose: a list of parts, newer ones inside of the result of an MCP call."""
    outcome = map_in(part, "toolResult")
    value: Any = outcome.get("value", outcome.get("error"))
    failed = outcome.get("status") == "error"
    if type(value) is dict and "content" in value:
        failed = failed or value.get("isError") is True
        value = value["content"]
    blocks = [fitting(block, "tool_result", refusals) for block in read_parts(value, author, refusals)]
    return tool_result(text_in(part, "id") or "call", shortest(blocks), failed=failed)


def left_out_of(found: Json) -> Iterator[str]:
    """Yield the fields of the parts of a message that their blocks do not have; what is kept whole has all of them."""
    content = found.get("content")
    for part in content if type(content) is list else [content]:
        kind = text_in(part, "type")
        if type(part) is not dict or _is_whole(part):
            continue
        yield from other_fields(part, {"type", *_FIELDS[kind]}, f"{kind}.")
        for key in ("toolCall", "toolResult"):
            outcome = map_in(part, key)
            yield from other_fields(outcome, {"status", "value", "error"}, f"{kind}.{key}.")
            value = map_in(outcome, "value")
            known = {"name", "arguments", "error"} if key == "toolCall" else {"content", "isError"}
            yield from other_fields(value, known, f"{kind}.{key}.value.") if value else ()
            listed = outcome.get("value") if key == "toolResult" else None
            yield from left_out_of({"content": map_in(outcome, "value").get("content", listed)})


def _is_whole(part: Json) -> bool:
    read = _READERS.get(text_in(part, "type"))
    return read is None or read(part, Author("", "anthropic"), Refusals("")) is None


# The fields of a part that its block has.
_FIELDS = {
    "text": ("text",),
    "thinking": ("thinking", "thinkingSignature", "signature", "redacted"),
    "image": ("data", "mimeType"),
    "toolCall": ("id", "name", "arguments"),
    "toolRequest": ("id", "toolCall"),
    "frontendToolRequest": ("id", "toolCall"),
    "toolResponse": ("id", "toolResult"),
    "redactedThinking": ("data",),
}
_Reader = Callable[[Json, Author, Refusals], Json | None]
_OWN: dict[str, _Reader] = {
    "toolCall": _call,
    "toolRequest": _request,
    "frontendToolRequest": _request,
    "toolResponse": _response,
    "redactedThinking": _redacted,
}
_READERS: dict[str, _Reader] = {"text": _text, "thinking": _thinking, "image": _image, **_OWN}
