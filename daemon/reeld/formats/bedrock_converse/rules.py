"""The blocks that Amazon Bedrock's Converse API accepts from each role, and its requirements."""

import re
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.content import is_base64
from reel.providers.metadata import opaque_object
from reeld.formats.anthropic import rules as anthropic
from reeld.formats.bedrock_converse.media import SOURCES, is_source, why_media_unsendable
from reeld.formats.bedrock_converse.models import NO_TOOL, is_claude
from reeld.formats.format import LoopThinking, Notice, Position, ServerToolHalf
from reeld.formats.naming import why_not_transferable

PROVIDER = "bedrock"


class _Opaque(NamedTuple):
    """A kind of block that is kept whole: its keys and their JSON types, and where it is allowed (rule B3)."""

    positions: tuple[Position, ...]
    required: dict[str, type]
    optional: dict[str, type] = {}  # noqa: RUF012 - a constant


_OPAQUE = {
    "image": _Opaque(("user",), {"format": str, "source": dict}),
    "document": _Opaque(("user",), {"name": str, "source": dict}, {"format": str, "context": str, "citations": dict}),
    "video": _Opaque(("user",), {"format": str, "source": dict}),
    "audio": _Opaque(("user",), {"format": str, "source": dict}),
    "guardContent": _Opaque(("user",), {"image": dict}),
    "searchResult": _Opaque(("user", "result"), {"source": str, "title": str, "content": list}, {"citations": dict}),
    "toolUse": _Opaque(("assistant",), {"toolUseId": str, "name": str, "input": dict, "type": str}),
    "toolResult": _Opaque(("assistant",), {"toolUseId": str, "content": list, "type": str}, {"status": str}),
}
# The kinds of a result's blocks, each an object with one key.
_IN_RESULTS = ("text", "json", "image", "document", "video", "searchResult")
_TOOL_USE_ID, _TOOL_NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), re.compile(r"[a-zA-Z0-9_-]{1,64}")


def why_unsendable(block: Json, position: Position, model: str | None) -> str | None:
    """Return why a block cannot be sent."""
    kind = block["type"]
    if kind == "media":
        return why_media_unsendable(block, position, model)
    moves = block.get("provider") != PROVIDER and is_claude(model) and anthropic.is_thinking_of_claude(block)
    if (why := why_not_transferable(block, PROVIDER, model, moves=moves)) is not None:
        return why
    if kind == "opaque":
        return _why_opaque_unsendable(opaque_object(block), position)
    if kind == "thinking" and not block.get("signature"):
        return "thinking without a signature"  # rule B8
    if kind == "redacted_thinking" and not is_base64(block["data"]):
        return "redacted thinking that is not base64"
    return None


def _why_opaque_unsendable(value: Json | None, position: Position) -> str | None:
    kind = next(iter(value), "") if value is not None and len(value) == 1 else ""
    if value is None or kind not in _OPAQUE or not _is_complete(kind, value[kind]):
        return "an opaque block that Bedrock does not accept"
    return None if position in _OPAQUE[kind].positions else f"{kind} is not allowed here"


def _is_complete(kind: str, found: Any) -> bool:
    """Whether the content of a block has the keys that its kind requires, with valid values."""
    known = _OPAQUE[kind]
    if type(found) is not dict or not all(type(found.get(key)) is wanted for key, wanted in known.required.items()):
        return False
    if not all(type(found.get(key, wanted())) is wanted for key, wanted in known.optional.items()):
        return False
    if kind in SOURCES:
        return is_source(kind, found)
    named = _TOOL_USE_ID.fullmatch(found.get("toolUseId", "x")) and _TOOL_NAME.fullmatch(found.get("name", "x"))
    return named is not None and (kind != "toolResult" or all(map(_is_in_result, found["content"])))


def _is_in_result(block: Any) -> bool:
    if type(block) is not dict or len(block) != 1:
        return False
    ((kind, value),) = block.items()
    return (
        (type(value) is str and value.strip() != "") if kind == "text" else kind in _IN_RESULTS and type(value) is dict
    )


def accepted_keys(value: Json) -> Json:
    """Return an opaque block without the keys that are unknown for its kind (rule B3)."""
    ((kind, found),) = value.items()
    known = _OPAQUE[kind]
    return {kind: {key: inside for key, inside in found.items() if key in known.required or key in known.optional}}


def server_tool_half(block: Json) -> ServerToolHalf | None:
    """Return which half of a server's tool call a block is; both halves have one id (rule X9)."""
    value = opaque_object(block) or {}
    kind = next((key for key in ("toolUse", "toolResult") if key in value), None)
    found = value.get(kind) if kind else None
    return ServerToolHalf(str(found.get("toolUseId")), is_call=kind == "toolUse") if type(found) is dict else None


def calls_in(message: Json) -> Json | None:
    """Return a value if an assistant's message has calls, which require that the body declares tools (rule B7)."""
    return {"calls": True} if any(map(_is_call, message["content"])) else None


def _is_call(block: Json) -> bool:
    return block["type"] == "tool_call" or (block["type"] == "opaque" and server_tool_half(block) is not None)


def declare_tools(extra: Json, _calls: Json, _now: float) -> tuple[Json, Notice | None]:
    """Return ``extra`` with a tool if it has none, because the history has calls (rule B7)."""
    config = extra.get("toolConfig")
    if type(config) is dict and config.get("tools"):
        return extra, None
    notice: Notice = (
        "synthesized",
        "toolConfig: Bedrock requires a tool beside calls; one that does nothing is declared",
    )
    return {**extra, "toolConfig": {"tools": [NO_TOOL]}}, notice


def binds_thinking(model: str | None, extra: Json) -> bool:
    """Whether a model binds its thinking to all before it, and the request does not say what is to happen (rule A8)."""
    fields = extra.get("additionalModelRequestFields")
    return anthropic.binds_thinking(model, fields if type(fields) is dict else {})


def why_invalid(extra: Json, loop: LoopThinking | None, model: str | None) -> str | None:
    """Return why the setting of Claude's thinking (rule B8), or that it is to call a tool, cannot be sent."""
    given: Any = extra.get("additionalModelRequestFields")
    fields: Json = given if type(given) is dict else {}
    why = anthropic.why_thinking_invalid(fields, loop, model)
    if why is not None:
        return f"additionalModelRequestFields.{why}"
    config: Any = extra.get("toolConfig")
    choice = config.get("toolChoice") if type(config) is dict else None
    kind = next(iter(choice), None) if type(choice) is dict else None
    return anthropic.why_choice_invalid("toolConfig.toolChoice", kind, fields, model)
