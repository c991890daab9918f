"""Which blocks Anthropic takes from whom, and what they become."""

import re

from reeld.formats import native
from reeld.formats.arguments import as_object
from reeld.formats.dialect import Holder, Page, Pair
from reeld.formats.families import same_family
from reeld.formats.turns import Json, Piece

PROVIDER = "anthropic"
MARK = "cache_control"
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
# What may be opaque, and the keys that it must have. What has a neutral form is not among it, for there are rules
# about that, which only the neutral form can be held to.
_OPAQUE = {
    **dict.fromkeys(("image", "document"), ("source",)),
    "search_result": ("content", "source", "title"),
    "container_upload": ("file_id",),
    "tool_reference": ("tool_name",),
    "browser_state": ("tabs",),
    **dict.fromkeys(CHANGES, ("tool",)),
    "server_tool_use": ("id", "input", "name"),
    "mcp_tool_use": ("id", "input", "name", "server_name"),
    "mcp_tool_result": ("tool_use_id",),
    "mcp_tool_listing": ("mcp_server_name", "tools"),
    "compaction": (),
    "fallback": ("from", "to"),
}
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
    if block.get("provider") != PROVIDER:
        return f"{kind} of {block.get('provider') or 'an unknown provider'}"
    if not same_family(block.get("model"), model):
        return f"{kind} of another model, {block['model']}"
    if kind == "opaque":
        return _refuses_opaque(native.object_of(block), holder)
    if kind == "thinking" and not block.get("signature"):
        return "thinking without a signature"
    return None


def _refuses_media(block: Json, holder: Holder) -> str | None:
    if holder == "assistant":
        return "media from the assistant"
    if holder == "failed":
        return "media in a failed result"
    mime = block["mime_type"]
    taken = mime == _DOCUMENT or mime in _IMAGES or (block.get("url") is not None and mime.startswith("image/"))
    return None if taken else f"media of type {mime}"


def _refuses_opaque(found: Json | None, holder: Holder) -> str | None:
    kind = found.get("type") if found else None
    if found is None or not isinstance(kind, str) or not found.keys() >= _required(kind):
        return "an opaque block that Anthropic does not take back"
    served = kind in _SERVED or kind.endswith(_RESULT)
    fits = {
        "user": not served and kind not in _INNER_ONLY,
        "assistant": kind not in (*_HANDED, *CHANGES, *_INNER_ONLY),
        "result": kind in _INNER,
        "failed": False,
    }
    return None if fits[holder] else f"{kind} cannot stand here"


def _required(kind: str) -> set[str]:
    """Give the keys that an opaque block must have; of a type that is unknown what no block has."""
    if kind.endswith(_RESULT) and kind not in _OPAQUE:
        return {"tool_use_id", "content"}
    return set(_OPAQUE.get(kind, (kind,)))


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
    kind = "document" if block["mime_type"] == _DOCUMENT else "image"
    source = {"type": "url", "url": block["url"]} if block.get("url") is not None else None
    source = source or {"type": "base64", "media_type": block["mime_type"], "data": block["data_base64"]}
    titled = {"title": block["name"]} if kind == "document" and block.get("name") else {}
    return {"type": kind, "source": source, **titled, **own_keys(block, kind)}


def _opaque(block: Json) -> Json:
    return native.object_of(block) or {}


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
