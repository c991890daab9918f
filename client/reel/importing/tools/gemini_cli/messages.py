"""Reads messages in the format that Gemini CLI records.

An answer is one record, with its thoughts, its calls and, once they exist, their results. Newer versions
record the results once more, as a user's message. Here, results are always a separate message.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block, made_by
from reel.importing.sources.gemini_parts import Parts, left_out_of_part, parts_in
from reel.importing.steps import Kept
from reel.importing.values import digest, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest
from reel.providers.gemini import PROVIDER

NAME = "gemini-cli"
# The counts of tokens, and their names in Gemini's API.
TOKENS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "thoughts": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
# Output that Gemini CLI shows to the person, apart from the conversation.
_SHOWN = ("info", "warning", "error")
# The keys of a message record's content.
_SAID = ("content", "toolCalls", "thoughts")
# Text that the tool writes as the user; the first is repeated whenever a session is resumed.
_CONTEXT = "<session_context>"
_NOT_TITLES = (_CONTEXT, "<hook_context>", "/", "?")
# Text that the tool omits from a separately recorded message, but not from the same one in a list of all messages.
_INVISIBLE = re.compile("[\u200b-\u200f\ufeff]|<!--.*?-->", re.DOTALL)


# The fields of a record, and of what is in it, of which something is made.
_FIELDS = frozenset({"id", "timestamp", "type", "model", "tokens", "displayContent", *_SAID})
_INNER_FIELDS = {
    "toolCalls": frozenset({"id", "name", "args", "result", "status"}),
    "thoughts": frozenset({"subject", "description"}),
    "tokens": frozenset(TOKENS),
}


class Message(NamedTuple):
    """A message, or a note beside the conversation.

    Args:
        id: the record's id.
        key: its identity; results are identified by their calls, because their record may be written again.
        role: user, assistant or tool; note if it is not in the conversation.
        parts: its blocks, each with the suffix of its ref; never empty for a message.
        print: a hash of its content; an answer that only grew keeps its hash.
        metadata: its ``provider_metadata``.
        sent: when it was recorded, in milliseconds since the epoch.
        title: a title for a conversation that begins with it.
        is_context: whether the tool writes it at the beginning of each session.
        record: the record of a note.
        tokens: the usage of an answer.
    """

    id: str
    key: str
    role: str
    parts: tuple[tuple[str, list[Json]], ...]
    print: str
    metadata: Json
    sent: int | None
    title: str = ""
    is_context: bool = False
    record: Mapping[str, Any] = {}
    tokens: Mapping[str, Any] = {}


def kind_of(found: Json) -> str:
    """Return the kind of a record other than a message; empty for a message."""
    kind = text_in(found, "type")
    if kind in ("user", "gemini") and found.keys().isdisjoint(_SAID):
        return f"{kind} without content"
    return "" if kind in ("user", "gemini", *_SHOWN) else kind or "without a type"


def with_id(found: Json, number: int) -> Json:
    """Return a message with an id: one without it is identified by its number."""
    return found if text_in(found, "id") else {**found, "id": f"message-{number}"}


def read_message(found: Json, reader: Parts) -> list[Message]:
    """Convert a record to messages, in order; none if it is empty."""
    kind = text_in(found, "type")
    if kind == "gemini":
        return _answer(found, reader)
    parts = parts_in(found.get("content"))
    # Media that a tool returned are recorded as display output, but the model received them.
    if kind == "user" or (kind == "info" and any("inlineData" in part for part in parts if type(part) is dict)):
        return _of_user(found, parts, reader)
    ref = text_in(found, "id")
    return [Message(ref, ref, "note", (), "", {}, None, record=found)]


def left_out_of(found: Json) -> Iterator[str]:
    """Yield the fields of a message's record that the message does not have; a note has all of them."""
    yield from other_fields(found, _FIELDS)
    for key, known in _INNER_FIELDS.items():
        for part in list_in(found, key) or [map_in(found, key)]:
            if type(part) is dict:
                yield from other_fields(part, known, f"{key}.")
    for holder, key in ((found, "content"), *((call, "result") for call in list_in(found, "toolCalls"))):
        for part in parts_in(holder.get(key)) if type(holder) is dict else ():
            yield from left_out_of_part(part)


def kept_note(found: Mapping[str, Any], ref: str, line: int) -> Kept:
    """Convert a record to a note, with its text if it has one."""
    content = found.get("content")
    text = content if type(content) is str and content else None
    return Kept("note", ref, text, {NAME: encode(dict(found))}, milliseconds(found.get("timestamp")), line)


def without_results(messages: list[Message], following: Message | None = None) -> list[Message]:
    """Leave out the results in an answer that are also recorded as a message after it."""
    after = [*messages, following][1:]
    return [
        message
        for message, next_one in zip(messages, after, strict=True)
        if not (message.role == "tool" and next_one is not None and next_one.role == "tool")
    ]


def _answer(found: Json, reader: Parts) -> list[Message]:
    ref, model, sent = text_in(found, "id"), text_in(found, "model"), milliseconds(found.get("timestamp"))
    blocks = reader.read(parts_in(found.get("content")), ref, "assistant", model)
    made = [call for call in list_in(found, "toolCalls") if type(call) is dict]
    said = [block for block in blocks if block["type"] != "tool_call" and block != text_block("")]
    if not any(block["type"] == "thinking" for block in said):
        said = [*_thoughts(found, model), *said]
    calls = _calls([block for block in blocks if block["type"] == "tool_call"], made)
    parts = [("", said)] if said else []
    parts += [(f"/{call['id']}", [{**call, "id": _sent_id(call["id"], call["name"])}]) for call in calls]
    if not parts:
        return []
    text = _INVISIBLE.sub("", "".join(block["text"] for block in said if block["type"] == "text")).strip()
    metadata = made_by(PROVIDER, model)
    tokens = map_in(found, "tokens")
    answer = Message(ref, ref, "assistant", tuple(parts), digest(text), metadata, sent, tokens=tokens)
    results = [result for call in made if (result := _recorded_result(call, reader)) is not None]
    return [answer, *_results(ref, results, made, sent)]


def _thoughts(found: Json, model: str) -> Iterator[Json]:
    """Yield thoughts in their displayed form, which has no signatures."""
    for thought in list_in(found, "thoughts"):
        subject, description = text_in(thought, "subject"), text_in(thought, "description")
        text = f"**{subject}** {description}" if subject else description
        yield {"type": "thinking", "text": text, **made_by(PROVIDER, model)}


def _calls(blocks: list[Json], made: list[Json]) -> list[Json]:
    """Return the calls of an answer: those among its parts, and other recorded ones.

    A part may have an id other than the record of the same call, whose id is that of the result.
    """
    names = {text_in(call, "id"): text_in(call, "name") for call in made}
    calls: dict[str, Json] = {}
    for block in blocks:
        call_id = block["id"]
        if call_id not in names:
            call_id = next((key for key, name in names.items() if name == block["name"] and key not in calls), call_id)
        calls.setdefault(call_id, {**block, "id": call_id or "call"})
    for call in made:
        call_id = text_in(call, "id")
        calls.setdefault(call_id, call_block(call_id, text_in(call, "name"), call.get("args")))
    return list(calls.values())


def _recorded_result(call: Json, reader: Parts) -> Json | None:
    given, call_id = call.get("result"), text_in(call, "id") or "call"
    if not given:
        return None
    results, others = _split(parts_in(given), call_id, reader)
    if not results:
        failed = text_in(call, "status") == "error"
        return tool_result(call_id, shortest(others), failed=failed)
    own = next((result for result in results if result["tool_call_id"] == call_id), results[0])
    return {**own, "tool_call_id": call_id}


def _split(parts: list[Any], place: str, reader: Parts) -> tuple[list[Json], list[Json]]:
    """Return results, each including the media after it, and the other blocks."""
    results: list[Json] = []
    others: list[Json] = []
    for block in reader.read(parts, place, "user"):
        if block["type"] == "tool_result":
            results.append(block)
        elif block["type"] == "media" and results:
            content = results[-1]["content"]
            before = content if type(content) is list else [text_block(content)]
            results[-1] = {**results[-1], "content": [*before, block]}
        else:
            others.append(block)
    return results, others


def _sent_id(call_id: str, name: str) -> str:
    """Return the id of a call for its model: Gemini CLI has written the tool's name before it, with two underscores."""
    return call_id.removeprefix(f"{name}__") or call_id


def _results(ref: str, results: list[Json], named: list[Json], sent: int | None) -> list[Message]:
    """Return the message with some results.

    Args:
        ref: the id of its record.
        results: the results, by the ids in the record.
        named: what has the names of the tools beside these ids.
        sent: when it was recorded.
    """
    if not results:
        return []
    names = {text_in(each, "id"): text_in(each, "name") for each in named}
    by_call = {block["tool_call_id"]: block for block in results}
    key = "results:" + " ".join(sorted(by_call))
    made = digest(*(encode(by_call[call], ascii_only=True) for call in sorted(by_call)))
    parts = tuple(
        (f"/{call}", [{**block, "tool_call_id": _sent_id(call, names.get(call, ""))}])
        for call, block in by_call.items()
    )
    return [Message(ref, key, "tool", parts, made, {}, sent)]


def _of_user(found: Json, parts: list[Any], reader: Parts) -> list[Message]:
    ref, sent = text_in(found, "id"), milliseconds(found.get("timestamp"))
    results, blocks = _split(parts, ref, reader)
    messages = _results(ref, results, [map_in(part, "functionResponse") for part in parts], sent)
    blocks = [block for block in blocks if block != text_block("")]
    if blocks:
        text = _text_of(blocks)
        shown = _text_of(reader.read(parts_in(found.get("displayContent")), ref, "user"))
        metadata = {"provider": PROVIDER, "display": shown} if shown and shown != text else {}
        title = "" if text.lstrip().startswith(_NOT_TITLES) else shown or text
        made, is_context = digest(encode({"blocks": blocks}, ascii_only=True)), text.lstrip().startswith(_CONTEXT)
        messages.append(Message(ref, ref, "user", (("", blocks),), made, metadata, sent, title, is_context))
    return messages


def _text_of(blocks: list[Json]) -> str:
    return " ".join(block["text"] for block in blocks if block["type"] == "text")
