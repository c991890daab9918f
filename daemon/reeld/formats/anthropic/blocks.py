"""Which blocks Anthropic takes from whom, and what they become."""

import re
from types import UnionType

from reeld.formats import metadata as native
from reeld.formats.arguments import as_object
from reeld.formats.dataurl import mime_of
from reeld.formats.families import foreign
from reeld.formats.format import Holder, Page, Pair
from reeld.formats.model import Json, Piece

PROVIDER = "anthropic"
MARK = "cache_control"
# In the metadata of a block that is of a type that nobody knows here: it stood in an answer.
ANSWERED = "answered"
THOUGHTS = ("thinking", "redacted_thinking")
# A server's tool calls; their results have types that end in this.
_SERVED, _RESULT = ("server_tool_use", "mcp_tool_use"), "_tool_result"
# What a tool's result may hold besides text.
_INNER = ("image", "document", "search_result", "tool_reference", "browser_state")
_INNER_ONLY = ("tool_reference", "browser_state")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_DOCUMENT = "application/pdf"
# The user alone hands these in; the other list is what only a system message may say.
_HANDED = ("image", "document", "search_result", "container_upload")
CHANGES = ("tool_addition", "tool_removal")
# There are rules about these, which only their neutral form can be held to: they are never opaque.
_NEUTRAL = ("text", *THOUGHTS, "tool_use", "tool_result")
# By the type of an opaque block the keys that it must have, and their JSON types.
_REQUIRED: dict[str, dict[str, type | UnionType]] = {
    **{kind: {"source": dict} for kind in ("image", "document")},
    "search_result": {"content": list, "source": str, "title": str},
    "container_upload": {"file_id": str},
    "tool_reference": {"tool_name": str},
    "browser_state": {"tabs": list},
    **{kind: {"tool": dict} for kind in CHANGES},
    "server_tool_use": {"id": str, "input": dict, "name": str},
    "mcp_tool_use": {"id": str, "input": dict, "name": str, "server_name": str},
    "mcp_tool_result": {"tool_use_id": str},
    "mcp_tool_listing": {"mcp_server_name": str, "tools": list},
    "compaction": {},
    "fallback": {"from": object, "to": object},
}
_RESULT_REQUIRED: dict[str, type | UnionType] = {"tool_use_id": str, "content": dict | list | str}
# What else there may be in what a client made; what Anthropic made goes back as it came.
_OPTIONAL = {
    "image": (MARK, "transformations"),
    "document": (MARK, "citations", "context", "title"),
    "search_result": (MARK, "citations"),
    "browser_state": (MARK, "state_changes"),
    **dict.fromkeys(("container_upload", "tool_reference", *CHANGES), (MARK,)),
}
_SOURCES = ("base64", "url", "file", "text", "content")
# By type: the keys beside the neutral ones that the API takes.
KEYS = {
    "text": (MARK, "citations"),
    "image": (MARK, "transformations"),
    "document": (MARK, "citations", "context", "title"),
    "tool_use": (MARK, "caller", "toolset_name"),
    "tool_result": (MARK, "toolset_name"),
}


def refuses(block: Json, holder: Holder, model: str | None) -> str | None:
    """Say why a block cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return _refuses_media(block, holder)
    if (why := foreign(block, PROVIDER, model)) is not None:
        return why
    if kind == "opaque":
        return _refuses_opaque(native.object_of(block), holder, answered=is_answered(block))
    if kind == "thinking" and not block.get("signature"):
        return "thinking without a signature"
    return None


def _refuses_media(block: Json, holder: Holder) -> str | None:
    if holder == "assistant":
        return "media from the assistant"
    if holder == "failed":
        return "media in a failed result"
    mime = mime_of(block)
    taken = mime == _DOCUMENT or mime in _IMAGES or (block.get("url") is not None and mime.startswith("image/"))
    return None if taken else f"media of type {mime}"


def _refuses_opaque(found: Json | None, holder: Holder, *, answered: bool) -> str | None:
    kind = found.get("type") if found else None
    if found is None or not isinstance(kind, str) or not _is_whole(found, kind):
        return "an opaque block that Anthropic does not take back"
    fits = {
        "user": kind in _REQUIRED and kind not in (*_SERVED, *_INNER_ONLY) and not kind.endswith(_RESULT),
        "assistant": kind not in (*_HANDED, *CHANGES, *_INNER_ONLY) and (answered or is_known(kind)),
        "result": kind in _INNER,
        "failed": False,
    }
    return None if fits[holder] else f"{kind} cannot stand here"


def is_known(kind: str) -> bool:
    """Tell whether it is known what a block of a type may be and where it may stand."""
    return kind in (*_NEUTRAL, *_REQUIRED) or kind.endswith(_RESULT)


def is_answered(block: Json) -> bool:
    """Tell whether Anthropic itself answered with a block: one of a type that is new there goes back as it came."""
    return native.given_back(block.get("provider_metadata"), PROVIDER, (ANSWERED,)) != {}


def _is_whole(found: Json, kind: str) -> bool:
    """Tell whether an opaque block has what its type must have."""
    if kind in _NEUTRAL:
        return False
    required = _REQUIRED.get(kind, _RESULT_REQUIRED if kind.endswith(_RESULT) else {})
    source = found.get("source")
    sourced = not isinstance(source, dict) or source.get("type") in _SOURCES
    return sourced and all(isinstance(found.get(key), wanted) for key, wanted in required.items())


def leads(block: Json) -> bool:
    """A turn cannot end in thinking."""
    return block["type"] in THOUGHTS


def pair(block: Json) -> Pair | None:
    """A server's tool call and its result name the call's id."""
    found = native.object_of(block) or {}
    kind = str(found.get("type"))
    if kind in _SERVED:
        return Pair(str(found.get("id")), is_call=True)
    return Pair(str(found.get("tool_use_id")), is_call=False) if kind.endswith(_RESULT) else None


def written(block: Json, piece: Piece, page: Page) -> Json:
    """Give a block as the API has it.

    Args:
        block: the block; inside a result it is not the piece's own.
        piece: where it stands, for the report.
        page: what is written on; it counts the cache marks.
    """
    return marked(_WRITERS[block["type"]](block), piece, page)


def marked(found: Json, piece: Piece, page: Page) -> Json:
    """Give a block with its cache mark, if there is still room for one."""
    if found.get(MARK) is None:
        return found
    if page.marks > 0:
        page.marks -= 1
        return found
    page.note(piece, "dropped", "the API takes no more than four cache marks")
    return {key: value for key, value in found.items() if key != MARK}


def _text(block: Json) -> Json:
    return {"type": "text", "text": block["text"], **own_keys(block, "text")}


def _call(block: Json) -> Json:
    called = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": as_object(block["arguments"])}
    return {**called, **own_keys(block, "tool_use")}


def _thinking(block: Json) -> Json:
    return {"type": "thinking", "thinking": block["text"], "signature": block["signature"]}


def _redacted(block: Json) -> Json:
    return {"type": "redacted_thinking", "data": block["data"]}


def _media(block: Json) -> Json:
    mime = mime_of(block)
    kind = "document" if mime == _DOCUMENT else "image"
    source = {"type": "url", "url": block["url"]} if block.get("url") is not None else None
    source = source or {"type": "base64", "media_type": mime, "data": block["data_base64"]}
    titled = {"title": block["name"]} if kind == "document" and block.get("name") else {}
    return {"type": kind, "source": source, **titled, **own_keys(block, kind)}


def _opaque(block: Json) -> Json:
    found = native.object_of(block) or {}
    kind = found["type"]
    if kind not in _OPTIONAL:
        return found
    taken = {"type", *_REQUIRED[kind], *_OPTIONAL[kind]}
    return {key: value for key, value in found.items() if key in taken}


def own_keys(block: Json, kind: str) -> Json:
    """Give back the keys that Anthropic itself had put to a block."""
    metadata = block.get("provider_metadata")
    return native.given_back(metadata, PROVIDER, KEYS[kind]) if metadata else {}


_WRITERS = {
    "text": _text,
    "tool_call": _call,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "media": _media,
    "opaque": _opaque,
}


def version(model: str | None) -> tuple[int, int] | None:
    """Tell a model's version, where its name says one: before its tier or after."""
    found = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model or "")
    return (int(found[1]), int(found[2] or 0)) if found else None
