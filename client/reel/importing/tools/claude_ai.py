"""Claude.ai: the export of an account. Each conversation is a list of messages in Anthropic's format."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import anthropic_blocks, by_role
from reel.importing.sources.exports import Files, export_tool
from reel.importing.steps import About, Back, Counts, Kept, Part, Said, Source, Step
from reel.importing.values import (
    digest,
    id_in_name,
    list_in,
    milliseconds,
    other_fields,
    ref_of,
    tags_of,
    text_in,
    title_of,
)
from reel.providers.anthropic import PROVIDER
from reel.providers.blocks import text as text_block
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

_NAME = "claude-ai"
_FIRST_KEYS = ("uuid", "name", "account", "chat_messages", "created_at", "updated_at", "summary")
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
# The parent of the first message, if the export has parents.
_NOBODY = "00000000-0000-4000-8000-000000000000"
# The keys of a message's content.
_SAID = ("text", "content", "attachments", "files")
# The fields of which something is made, or that say where a message belongs; the text repeats the content.
_CONVERSATION_FIELDS = frozenset({"uuid", "name", "summary", "model", "chat_messages"})
_MESSAGE_FIELDS = frozenset({"uuid", "parent_message_uuid", "sender", "created_at", *_SAID})
# The blocks that the service uses for its own page.
_SHOWN = ("token_budget", "flag")
# The keys of a block in Anthropic's API; all others are the service's own and are not sent back.
_FIELDS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
}


def steps_of(found: Json, source: Source, counts: Counts, _files: Files | None = None) -> Iterator[Step]:
    """Yield the steps of a conversation, and count its messages."""
    given = text_in(found, "uuid") or digest(encode(found, ascii_only=True))
    facts = tags_of(tool=_NAME, source=source.path, model=text_in(found, "model"))
    yield About(f"/{id_in_name(given)}", title_of(text_in(found, "name")), facts)
    counts.left_out.update(other_fields(found, _CONVERSATION_FIELDS))
    if summary := text_in(found, "summary"):
        yield Kept("note", f"summary-{digest(summary)}", summary, {_NAME: "summary"}, None)
    # The last message made from each one that was read, and that of the conversation so far.
    ends = {_NOBODY: "", "": ""}
    refusals = Refusals(_NAME, counts.refused)
    last = ""
    for message in list_in(found, "chat_messages"):
        if type(message) is not dict:
            counts.note("not an object")
            whole = {"message": message}
            yield Kept("note", ref_of(whole), None, {_NAME: encode(whole)}, None)
            continue
        name, parent = text_in(message, "uuid") or ref_of(message), text_in(message, "parent_message_uuid")
        role, sent = _ROLES.get(text_in(message, "sender"), ""), milliseconds(message.get("created_at"))
        if not role or message.keys().isdisjoint(_SAID):
            counts.note(f"{role} without content" if role else f"sender {text_in(message, 'sender') or 'missing'}")
            yield Kept("note", name, None, {_NAME: encode(message)}, sent)
            continue
        before = ends.get(parent, last) if parent else last
        steps = list(_said(message, role, name, sent, refusals))
        if not steps:
            counts.ignore("empty")
            ends[name] = before
            continue
        counts.map()
        counts.left_out.update(_left_out_of(message))
        if before != last:
            yield Back(before)
        yield from steps
        last = steps[-1].parts[-1].ref
        ends[name] = last


def _left_out_of(message: Json) -> Iterator[str]:
    """Yield the fields of a message, and the blocks in it, of which nothing is made."""
    content = list_in(message, "content")
    yield from other_fields(message, _MESSAGE_FIELDS)
    yield from (f"content.{kind}" for block in content if (kind := text_in(block, "type")) in _SHOWN)


def _said(message: Json, role: str, name: str, sent: int | None, refusals: Refusals) -> Iterator[Said]:
    """Convert a message: an answer that contains tool results becomes several messages."""
    content = [block for block in list_in(message, "content") if text_in(block, "type") not in _SHOWN]
    if not content and (text := text_in(message, "content") or text_in(message, "text")):
        content = [text_block(text)]
    blocks = [*_attached(message), *_blocks(content, name, refusals)]
    runs = by_role(blocks, role, refusals) if blocks else []
    for number, (owner, run) in enumerate(runs):
        ref = name if number == len(runs) - 1 else f"{name}/{number}"
        yield Said(owner, (Part(ref, run),), {"provider": PROVIDER} if owner == "assistant" else {}, sent)


def _attached(message: Json) -> Iterator[Json]:
    """Yield the files of a message: the text of one, or only its name."""
    for found in [*list_in(message, "attachments"), *list_in(message, "files")]:
        name, text = text_in(found, "file_name") or "without a name", text_in(found, "extracted_content")
        said = f"{name}:\n\n{text}" if text else f"[file: {name}]"
        rest = {key: value for key, value in found.items() if key != "extracted_content"} if type(found) is dict else {}
        yield {**text_block(said), **_kept(rest)}


def _blocks(content: list[Any], name: str, refusals: Refusals) -> Iterator[Json]:
    """Convert blocks. Only newer exports have ids of calls and results; in older ones, a result follows its call."""
    call_id = ""
    for number, found in enumerate(content):
        kind = text_in(found, "type")
        if kind not in _FIELDS:
            yield opaque_block(_NAME, found if type(found) is dict else {"type": "unknown", "value": found})
            continue
        plain = {key: found[key] for key in ("type", *_FIELDS[kind]) if key in found}
        if kind == "tool_use":
            call_id = plain["id"] = text_in(found, "id") or f"{name}-{number}"
            plain["name"] = text_in(found, "name") or "unknown"
        elif kind == "tool_result":
            plain["tool_use_id"] = text_in(found, "tool_use_id") or call_id or f"{name}-{number}"
            plain["content"] = ""
        elif kind == "thinking":
            plain["thinking"] = _thought(found)
        (block,) = anthropic_blocks([plain], refusals)
        if block["type"] == "opaque":  # a block of another shape is kept whole, not only the keys of the API
            yield opaque_block(_NAME, found)
            continue
        if kind == "tool_result":
            block = {**block, "content": _result(found.get("content"))}
        rest = {key: value for key, value in found.items() if key not in ("type", *_FIELDS[kind])}
        yield {**block, **_kept(rest)}


def _thought(found: Json) -> Any:
    """Return the text of thinking: some exports have it under another key, or only summaries of it."""
    summaries = [text_in(part, "summary") for part in list_in(found, "summaries")]
    texts = (found.get("thinking"), found.get("text"), "\n\n".join(filter(None, summaries)))
    return next((text for text in texts if text and type(text) is str), found.get("thinking"))


def _result(content: Any) -> Any:
    """Return a tool's output; other than text, it has a format of the service's own."""
    if type(content) is not list:
        return content if type(content) is str else "" if content is None else encode({"content": content})
    blocks = [
        text_block(text_in(part, "text"))
        if text_in(part, "type") == "text"
        else opaque_block(_NAME, part if type(part) is dict else {"type": "unknown", "value": part})
        for part in content
    ]
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks or ""


def _kept(rest: Json) -> Json:
    kept = {key: value for key, value in rest.items() if value not in (None, "", [], {}, False)}
    return {"provider_metadata": {"provider": _NAME, "block_json": encode(kept)}} if kept else {}


def _is_conversation(found: Json) -> bool:
    return type(found.get("chat_messages")) is list


TOOL = export_tool(
    _NAME, "Claude.ai", sign="chat_messages", first_keys=_FIRST_KEYS, accepts=_is_conversation, read=steps_of
)
