"""Reads the messages of Chat Completions."""

from collections.abc import Mapping
from functools import partial

from reel.base.strict_json import Json
from reel.providers.blocks import PartReader, blocks_of, by_type, own_media, text, text_part, tool_result
from reel.providers.content import ANY_PICTURE, media_from, shortest
from reel.providers.elements import Element, require_elements, require_str
from reel.providers.message_builder import MessageBuilder
from reel.providers.metadata import opaque_block, preserve_keys
from reel.providers.openai import PROVIDER, custom_tool_arguments
from reel.providers.openai_chat_reasoning import read_reasoning, thinking_part
from reel.providers.refusals import or_kept
from reel.providers.roles import INSTRUCTION_ROLES

# Also the mark of opaque blocks: the two APIs of OpenAI do not accept each other's.
NAME = "openai-chat"
_API = "Chat Completions"
_SOUNDS = {"mp3": "audio/mpeg"}
# The keys of an assistant's message that become blocks; the others are kept as its metadata.
_BLOCK_KEYS = ("role", "content", "refusal", "audio", "annotations", "tool_calls", "function_call")


def read_message(builder: MessageBuilder, message: Element, place: str) -> None:
    """Add a message; ``place`` begins what makes a generated id unique."""
    role = message.role(_API)
    if role == "assistant":
        read_answer(builder, message, place)
    elif role == "tool":
        builder.add("tool", [_result(builder, message)])
    else:
        kept_role = {"role": role} if role in INSTRUCTION_ROLES else {}
        kept = preserve_keys(PROVIDER, {**message.value, "role": None, **kept_role}, ("content",))
        builder.add("user", _blocks(message), kept)


def _result(builder: MessageBuilder, message: Element) -> Json:
    call_id = builder.answered_id(message.get("tool_call_id"), message.get("name"), message.at("tool_call_id"))
    kept = message.kept(PROVIDER, "role", "content", "tool_call_id", "name")
    return tool_result(call_id, shortest(_blocks(message)), kept)


def read_answer(builder: MessageBuilder, message: Element, place: str) -> None:
    """Add an assistant's message: its reasoning, its content, its calls in order."""
    thoughts, read = read_reasoning(message, builder.model)
    calls = [
        or_kept(message.refusals, call.value, partial(_call, builder, call, place + str(index)))
        for index, call in enumerate(_calls(message))
    ]
    blocks = [*thoughts, *_said(message, builder.model), *calls]
    builder.add("assistant", blocks, message.kept(PROVIDER, *_BLOCK_KEYS, *read))


def _said(message: Element, model: str | None) -> list[Json]:
    readers: Mapping[str, PartReader] = {**_PART_READERS, "thinking": partial(thinking_part, model=model)}
    blocks = [block for block in _blocks(message, readers) if block != text("")]
    first = next((block for block in blocks if block["type"] == "text"), None)
    if first is not None and "provider_metadata" not in first:
        first.update(preserve_keys(PROVIDER, {"annotations": message.get("annotations")}))
    if message.get("refusal") is not None:
        blocks.append(_refusal(message))
    if message.get("audio") is not None:
        blocks.append(_spoken(message.inside("audio")))
    return blocks


def _spoken(audio: Element) -> Json:
    """Read an audio answer: its transcript is a text; in a request it has only its id."""
    if audio.get("transcript") is None:
        return _opaque({"audio": audio.value})
    return {**text(audio.text("transcript")), **preserve_keys(PROVIDER, {"audio": audio.value})}


def _calls(message: Element) -> list[Element]:
    """Return the calls of an assistant's message: the one in the old form is a function's."""
    given = require_elements(message.get("tool_calls"), message.at("tool_calls"))
    if message.get("function_call") is not None and not given:
        called = message.inside("function_call")
        return [Element({"function": called.value}, called.where)]
    return list(message.elements("tool_calls"))


def _call(builder: MessageBuilder, call: Element, place: str) -> Json:
    """Read a call; the input of a custom tool, a text, is stored in the arguments as ``input``."""
    if call.get("type") == "custom":
        tool = call.inside("custom")
        arguments = custom_tool_arguments(tool.text("input"))
        kept = {**call.value, **tool.value, "type": "custom_tool_call"}
    else:
        tool = call.inside("function")
        arguments = tool.get("arguments")
        kept = {**call.value, **tool.value, "type": None}
    name = require_str(tool.get("name"), call.at("name"))
    without = ("id", "index", "function", "custom", "name", "arguments", "input")
    return builder.call(call, name, arguments, place, preserve_keys(PROVIDER, kept, without))


def _blocks(message: Element, readers: Mapping[str, PartReader] | None = None) -> list[Json]:
    """Read the content; a part without a neutral form is for this API only, not for OpenAI's other one."""
    known = readers or _PART_READERS

    def read(part: Element) -> Json:
        return by_type(known, PROVIDER, part, format=NAME)

    return blocks_of(message.get("content"), message.at("content"), read, message.refusals)


def _opaque(part: Json) -> Json:
    return opaque_block(PROVIDER, part, format=NAME)


def _refusal(found: Element) -> Json:
    return {**text(found.text("refusal")), **preserve_keys(PROVIDER, {"refusal": True})}


def _image(part: Element) -> Json:
    given = part.get("image_url")
    image = Element({"url": given}, part.at("image_url")) if type(given) is str else part.inside("image_url")
    block = media_from(image.text("url"), ANY_PICTURE)
    return own_media(PROVIDER, block, Element({**part.value, **image.value}, part.where), "image_url", "url")


def _sound(part: Element) -> Json:
    """Read a sound; Mistral's is a text, which does not say whether it is the sound, its address or its name."""
    if type(part.get("input_audio")) is str:
        return _opaque(part.value)
    sound = part.inside("input_audio")
    kind = sound.text("format")
    block = {"type": "media", "mime_type": _SOUNDS.get(kind, f"audio/{kind}"), "data_base64": sound.text("data")}
    return own_media(PROVIDER, block, part, "input_audio")


def _file(part: Element) -> Json:
    """Read a file that the part contains; an uploaded one is known only to the provider, Mistral's by its own key."""
    if part.get("file") is None and type(part.get("file_id")) is str:
        return _opaque(part.value)
    file = part.inside("file")
    data = file.get("file_data")
    if type(data) is not str or not data.startswith("data:"):
        return _opaque(part.value)
    block = media_from(data, "application/octet-stream")
    if file.get("filename") is not None:
        block["name"] = file.text("filename")
    return own_media(PROVIDER, block, part, "file")


_PART_READERS: dict[str, PartReader] = {
    "text": partial(text_part, PROVIDER),
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _sound,
    "file": _file,
}
