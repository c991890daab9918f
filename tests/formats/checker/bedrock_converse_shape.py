"""The keys and types in a body of Converse, as in the service model of ``bedrock-runtime``."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from tests.formats.checker.problem import Fault, Json, Shape, key_faults, shape_of

TOP = shape_of(
    "messages! system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables "
    "additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig"
)
MESSAGE = shape_of("role! content!")
SOURCE = "format! source!"
BLOCKS = {
    "image": shape_of(SOURCE),
    "document": shape_of("format name! source! context citations"),
    "video": shape_of(SOURCE),
    "audio": shape_of(SOURCE),
    "toolUse": shape_of("toolUseId! name! input! type"),
    "toolResult": shape_of("toolUseId! content! status type"),
    "guardContent": shape_of("text image"),
    "cachePoint": shape_of("type! ttl"),
    "reasoningContent": shape_of("reasoningText redactedContent"),
    "citationsContent": shape_of("content citations"),
    "searchResult": shape_of("source! title! content! citations"),
}
IN_RESULTS = ("text", "json", "image", "document", "video", "searchResult")
IN_PROMPT = ("text", "guardContent", "cachePoint")
FORMATS = {
    "image": ("png", "jpeg", "gif", "webp"),
    "document": ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"),
    "video": ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"),
    "audio": (
        *("mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm"),
        "webm",
    ),
}
SOURCES = {
    **dict.fromkeys(("image", "video", "audio"), ("bytes", "s3Location")),
    "document": ("bytes", "s3Location", "text", "content"),
}
STRINGS = ("toolUseId", "name", "title", "status", "type", "ttl", "format")
REASONING = shape_of("text! signature")


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body, its system prompt and each of its messages."""
    yield from key_faults("body", body, TOP)
    yield from content_faults("system", body.get("system", []), IN_PROMPT)
    messages = body.get("messages", [])
    if not isinstance(messages, list):
        yield Fault("messages", "not an array")
        return
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if not isinstance(message, dict):
            yield Fault(where, "not an object")
            continue
        yield from key_faults(where, message, MESSAGE)
        if message.get("role") not in ("user", "assistant"):
            yield Fault(f"{where}.role", f"{message.get('role')!r} is not a role")
        yield from content_faults(f"{where}.content", message.get("content", []), ("text", *BLOCKS))


def content_faults(where: str, content: Any, kinds: tuple[str, ...]) -> Iterator[Fault]:
    """Check a list of blocks of these kinds."""
    if not isinstance(content, list):
        yield Fault(where, "not an array")
        return
    for index, block in enumerate(content):
        place = f"{where}[{index}]"
        if not isinstance(block, dict) or len(block) != 1 or next(iter(block)) not in kinds:
            yield Fault(place, "no block of one fitting key")
            continue
        ((kind, value),) = block.items()
        if kind == "text" and not isinstance(value, str):
            yield Fault(place, "not a string")
        elif kind != "text" and not isinstance(value, dict):
            yield Fault(place, "not an object")
        elif kind in BLOCKS:
            yield from block_faults(f"{place}.{kind}", kind, value, BLOCKS[kind])


def block_faults(where: str, kind: str, found: Json, known: Shape) -> Iterator[Fault]:
    """Check what is inside of a block by its kind."""
    yield from key_faults(where, found, known)
    for key in STRINGS:
        if key in found and not isinstance(found[key], str):
            yield Fault(f"{where}.{key}", "not a string")
    if not isinstance(found.get("input", {}), dict):
        yield Fault(f"{where}.input", "not an object")
    if kind == "toolResult":
        yield from content_faults(f"{where}.content", found.get("content", []), IN_RESULTS)
    if kind in FORMATS:
        if found.get("format", "pdf" if kind == "document" else None) not in FORMATS[kind]:
            yield Fault(f"{where}.format", f"{found.get('format')!r} is not a format of it")
        yield from source_faults(f"{where}.source", found.get("source"), SOURCES[kind])
    if kind == "reasoningContent":
        yield from reasoning_faults(where, found)


def source_faults(where: str, source: Any, kinds: tuple[str, ...]) -> Iterator[Fault]:
    """Check the source of media: one of several, and bytes are base64."""
    if not isinstance(source, dict) or len(source) != 1 or next(iter(source)) not in kinds:
        yield Fault(where, "no source of one fitting key")
    elif "bytes" in source and not is_base64(source["bytes"]):
        yield Fault(f"{where}.bytes", "not base64")


def reasoning_faults(where: str, found: Json) -> Iterator[Fault]:
    """Check reasoning: a text, or hidden bytes."""
    if len(found) != 1:
        yield Fault(where, "not one of reasoningText and redactedContent")
    text = found.get("reasoningText")
    if isinstance(text, dict):
        yield from key_faults(f"{where}.reasoningText", text, REASONING)
    elif text is not None:
        yield Fault(f"{where}.reasoningText", "not an object")
    if not is_base64(found.get("redactedContent", "")):
        yield Fault(f"{where}.redactedContent", "not base64")


def is_base64(value: Any) -> bool:
    """Whether a value is the base64 of some bytes."""
    try:
        return isinstance(value, str) and base64.b64decode(value, validate=True) is not None
    except (ValueError, binascii.Error):
        return False
