"""The messages of ChatGPT's exports, each converted on its own.

No schema is published. The meaning of a message is derived from its content.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode, parse
from reel.importing.sources.blocks import call_block
from reel.importing.tools.chatgpt.citations import CITATION_FIELDS, REFERENCE_FIELDS, with_links
from reel.importing.values import list_in, map_in, other_fields, text_in
from reel.providers.blocks import text as text_block

PROVIDER = "chatgpt"
# Content types whose text is in these fields.
_TEXTS = {
    "code": ("text",),
    "execution_output": ("text",),
    "tether_quote": ("title", "url", "text"),
    "tether_browsing_display": ("summary", "result"),
    "sonic_webpage": ("title", "url", "text"),
    "system_error": ("name", "text"),
    "citable_code_output": ("output_str",),
    "computer_output": ("text",),
    "user_editable_context": ("user_profile", "user_instructions"),
}
_CONTEXTS = ("user_editable_context", "model_editable_context")
_IMAGE = "image_asset_pointer"
_ALL = "all"


# The fields of which something is made.
_FIELDS = frozenset({"id", "author", "create_time", "content", "metadata", "recipient"})
_AUTHOR_FIELDS = frozenset({"role", "name"})
_METADATA_FIELDS = frozenset({"model_slug", "attachments", "aggregate_result", "content_references", "citations"})

# Returns the block of an image for a pointer; ``None`` if only the image's name is known.
FindImage: TypeAlias = Callable[[str], Json | None]


class Message(NamedTuple):
    """A converted message.

    Args:
        role: user, assistant, tool or system; ``note`` if it does not belong in a conversation, otherwise the rule that
            ignores it.
        blocks: its blocks.
        name: the tool that is called, or that answers.
        failed: whether it reports the failure of a tool.
        unknown: its type, if the type is unknown.
    """

    role: str
    blocks: list[Json]
    name: str = ""
    failed: bool = False
    unknown: str = ""


def read_message(found: Json, find_image: FindImage) -> Message:
    """Convert a message."""
    role, content = text_in(map_in(found, "author"), "role"), map_in(found, "content")
    kind, metadata = text_in(content, "content_type"), map_in(found, "metadata")
    name, recipient = text_in(map_in(found, "author"), "name"), text_in(found, "recipient") or _ALL
    if kind == "reasoning_recap":
        return Message("how long it thought", [])
    if kind == "thoughts" and role == "assistant":
        thought = _thought(content)
        if thought:
            return Message(role, [{"type": "thinking", "text": thought, "provider": PROVIDER}])
        is_empty = not list_in(content, "thoughts") and not list_in(content, "parts")
        return Message("empty", []) if is_empty else Message("note", [], unknown="thoughts without text")
    known = kind in _TEXTS or kind in _CONTEXTS or "parts" in content
    if not known or role not in ("user", "assistant", "tool", "system"):
        return Message("note", [], unknown=f"{role or 'no role'}/{kind or 'no content'}")
    is_call = role == "assistant" and recipient != _ALL
    # The input of a tool is text.
    blocks = _blocks(content, kind, _names(metadata), (lambda _: None) if is_call else find_image)
    if not is_call:
        blocks = [
            {**block, "text": with_links(block["text"], metadata)} if "text" in block else block for block in blocks
        ]
    if role == "tool":
        status = text_in(map_in(metadata, "aggregate_result"), "status")
        failed = kind == "system_error" or status.startswith("failed")
        return Message(role, blocks or [text_block("")], name, failed)
    if not any(block.get("text") or block["type"] == "media" for block in blocks):
        return Message("empty", [])
    if kind in _CONTEXTS:
        return Message("system" if kind == _CONTEXTS[0] else "note", blocks)
    if is_call:
        return Message(role, [_call(found, recipient, blocks)], recipient)
    return Message(role, blocks)


def left_out_of(found: Json) -> Iterator[str]:
    """Yield the fields of a message that its blocks do not have."""
    content, author, metadata = (map_in(found, key) for key in ("content", "author", "metadata"))
    yield from other_fields(found, _FIELDS)
    yield from other_fields(author, _AUTHOR_FIELDS, "author.")
    yield from other_fields(metadata, _METADATA_FIELDS, "metadata.")
    yield from other_fields(map_in(metadata, "aggregate_result"), {"status"}, "metadata.aggregate_result.")
    for where, known, listed in (
        ("metadata.attachments.", {"id", "name"}, list_in(metadata, "attachments")),
        ("metadata.content_references.", REFERENCE_FIELDS, list_in(metadata, "content_references")),
        ("metadata.citations.", CITATION_FIELDS, list_in(metadata, "citations")),
        ("content.thoughts.", {"summary", "content", "text"}, list_in(content, "thoughts")),
    ):
        for each in listed:
            yield from other_fields(each, known, where) if type(each) is dict else ()
    kind = text_in(content, "content_type")
    said = ("thoughts", "parts") if kind == "thoughts" else ("parts",) if "parts" in content else _TEXTS.get(kind, ())
    yield from other_fields(content, {"content_type", "language", *said}, "content.")


def _thought(content: Json) -> str:
    """Return the text of thoughts: a list of summaries and texts, or parts as of any other message."""
    texts = [_text_of_thought(thought) for thought in [*list_in(content, "thoughts"), *list_in(content, "parts")]]
    return "\n\n".join(filter(None, texts))


def _text_of_thought(thought: Any) -> str:
    if type(thought) is str:
        return thought
    return "\n".join(filter(None, (text_in(thought, key) for key in ("summary", "content", "text"))))


def _call(found: Json, name: str, blocks: list[Json]) -> Json:
    text = "".join(block["text"] for block in blocks)
    arguments = text if _is_object(text) else encode({"input": text})
    block = call_block(text_in(found, "id"), name[:200], arguments)
    language = text_in(map_in(found, "content"), "language")
    kept = {"provider_metadata": {"provider": PROVIDER, "language": language}}
    return {**block, **kept} if language not in ("", "unknown") else block


def _is_object(text: str) -> bool:
    try:
        return type(parse(text)) is dict
    except (ValueError, RecursionError):
        return False


def _names(metadata: Json) -> dict[str, str]:
    """Return the names of the files of a message by their ids."""
    return {text_in(attachment, "id"): text_in(attachment, "name") for attachment in list_in(metadata, "attachments")}


def _blocks(content: Json, kind: str, names: dict[str, str], find_image: FindImage) -> list[Json]:
    if "parts" in content:
        return [block for part in list_in(content, "parts") if (block := _part(part, names, find_image)) is not None]
    texts = [text_in(content, field) for field in _TEXTS.get(kind, ())]
    return [text_block("\n".join(filter(None, texts)))] if any(texts) else []


def _part(part: Any, names: dict[str, str], find_image: FindImage) -> Json | None:
    """Convert a part to a text or an image. For other files, names and descriptions are kept."""
    if type(part) is str:
        return text_block(part) if part else None
    kind = text_in(part, "content_type")
    if type(part) is dict and kind in ("audio_transcription", "text") and text_in(part, "text"):
        return {**text_block(part["text"]), **_kept(part)}
    pointer = text_in(part, "asset_pointer") or text_in(map_in(part, "audio_asset_pointer"), "asset_pointer")
    file = pointer.rpartition("//")[2]
    name = names.get(file, "")
    if kind == _IMAGE and (image := find_image(pointer)) is not None:
        return {**image, **({"name": name} if name else {}), **_kept(part)}
    what = kind.removesuffix("_asset_pointer").replace("_", " ") or "part"
    return {**text_block(f"[{what}: {name or file or 'without a file'}]"), **_kept(part)}


def _kept(part: Any) -> Json:
    return {"provider_metadata": {"provider": PROVIDER, "part_json": encode({"part": part})}}
