"""What the assistant said in one message of Chat Completions: the same form in an answer and in a request."""

import json
from collections.abc import Callable

from reeld.formats import metadata as native
from reeld.formats.fields import Json, arguments_of, entries_at, map_at, text_at
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.parts import blocks_of, own, refusal, text

# The keys that become blocks; whatever else a message has is kept as its metadata.
_SPOKEN = ("role", "content", "refusal", "reasoning_content", "audio", "annotations", "tool_calls")


def message_of(message: Json, where: str, model: str | None) -> Json:
    """Read one message: its reasoning, what it says, its calls in their order.

    Args:
        message: the assistant's message.
        where: its place, for errors.
        model: who said it, as far as it is known.

    Returns:
        a message in the form that is added; one that says nothing has an empty text.
    """
    blocks = [
        *_reasoning(message, where, model),
        *_said(message, where),
        *_calls(message, where),
    ]
    return {
        "role": "assistant",
        "content": blocks or [text("")],
        **native.keep(PROVIDER, message, _SPOKEN),
    }


def _reasoning(message: Json, where: str, model: str | None) -> list[Json]:
    """Read the reasoning that other makers' servers put into this form; there is none to send it back in."""
    found = message.get("reasoning_content")
    if not found:
        return []
    block = {"type": "thinking", "text": text_at(found, f"{where}.reasoning_content"), "provider": PROVIDER}
    return [{**block, "model": model} if model is not None else block]


def _said(message: Json, where: str) -> list[Json]:
    blocks = [block for block in blocks_of(message.get("content"), f"{where}.content") if block != text("")]
    if blocks and blocks[0]["type"] == "text" and "provider_metadata" not in blocks[0]:
        blocks[0].update(native.keep(PROVIDER, {"annotations": message.get("annotations")}))
    if message.get("refusal") is not None:
        blocks.append(refusal(text_at(message["refusal"], f"{where}.refusal")))
    if message.get("audio") is not None:
        blocks.append(_spoken(map_at(message["audio"], f"{where}.audio"), where))
    return blocks


def _spoken(audio: Json, where: str) -> Json:
    """Read an answer in sound: what was said is a text; a request only names it by its id."""
    if audio.get("transcript") is None:
        return own({"audio": audio})
    return text(text_at(audio["transcript"], f"{where}.audio.transcript"), audio=audio)


def _calls(message: Json, where: str) -> list[Json]:
    where = f"{where}.tool_calls"
    return [
        _call(map_at(call, f"{where}[{index}]"), f"{where}[{index}]")
        for index, call in enumerate(entries_at(message.get("tool_calls"), where))
    ]


def with_ids(message: Json, given: Callable[[int, Json], str]) -> Json:
    """Give every call an id: some servers send them without.

    Args:
        message: the assistant's message.
        given: gives one, by the call's place and the call.
    """
    calls = message.get("tool_calls")
    if type(calls) is not list or all(type(call) is not dict or call.get("id") for call in calls):
        return message
    found = [
        {**call, "id": given(index, call)} if type(call) is dict and call.get("id") in (None, "") else call
        for index, call in enumerate(calls)
    ]
    return {**message, "tool_calls": found}


def _call(call: Json, where: str) -> Json:
    """Read a call; the text that a custom tool is given stands in its arguments as ``input``."""
    if call.get("type") == "custom":
        custom = map_at(call.get("custom"), f"{where}.custom")
        given = text_at(custom.get("input"), f"{where}.custom.input")
        name, arguments = custom.get("name"), json.dumps({"input": given}, ensure_ascii=False)
        kept = {**call, **custom, "type": "custom_tool_call"}
    else:
        function = map_at(call.get("function"), f"{where}.function")
        name, arguments = function.get("name"), arguments_of(function.get("arguments"))
        kept = {**call, **function, "type": None}
    return {
        "type": "tool_call",
        "id": text_at(call.get("id"), f"{where}.id"),
        "name": text_at(name, f"{where}.name"),
        "arguments": arguments,
        **native.keep(PROVIDER, kept, ("id", "index", "function", "custom", "name", "arguments", "input")),
    }
