"""The rules of Amazon Bedrock Converse (docs/provider-rules.md, B): what blocks contain."""

import re
from collections.abc import Iterator
from typing import Any

from tests.formats.checker.anthropic_content import refused_thinking, why_not_forced
from tests.formats.checker.bedrock_converse_request import Request
from tests.formats.checker.bedrock_converse_shape import body_faults
from tests.formats.checker.problem import Fault, Rule, careless, objects, repeated

CACHE_POINTS = 4


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types of the service model."""
    yield from body_faults(request.body)


def empty_content(request: Request) -> Iterator[Fault]:
    """A message has content, and a result too; an empty one that did not fail is careless."""
    for where, message in request.messages:
        if message.get("content") == []:
            yield Fault(where, "empty content")
    for where, block in request.blocks():
        result = block.get("toolResult")
        if isinstance(result, dict) and result.get("content") == []:
            yield Fault(where, "an empty result", careless=result.get("status") != "error")


def blank_text(request: Request) -> Iterator[Fault]:
    """A text is more than white space."""
    for where, text in request.texts():
        if isinstance(text, str) and not text.strip():
            yield Fault(where, "blank text")


def error_result_text(request: Request) -> Iterator[Fault]:
    """A failed result contains no media (of Claude; careless)."""
    for where, part, result in request.inner():
        if result.get("status") == "error" and "text" not in part and "json" not in part:
            yield careless(where, "media in a failed result")


def result_status(request: Request) -> Iterator[Fault]:
    """Only Nova and Claude take the status of a result; for a model that is not known it is careless."""
    known = request.is_claude() or request.is_nova()
    for where, block in request.blocks():
        result = block.get("toolResult")
        if isinstance(result, dict) and result.get("status") is not None and not known:
            yield Fault(where, f"a status for {request.model}", careless=not request.model)


def result_media(request: Request) -> Iterator[Fault]:
    """Only Nova and Claude take pictures in results; for a model that is not known it is careless."""
    known = request.is_claude() or request.is_nova()
    for where, part, _ in request.inner():
        if "image" in part and not known:
            yield Fault(where, f"a picture in a result for {request.model}", careless=not request.model)


def media_role(request: Request) -> Iterator[Fault]:
    """The assistant sends no media."""
    for where, message in request.messages:
        for place, block in request.blocks_of(where, message) if message.get("role") == "assistant" else []:
            if block.keys() & {"image", "document", "video", "audio"}:
                yield Fault(place, "media from the assistant")


def document_name(request: Request) -> Iterator[Fault]:
    """Names of documents are neutral and different, also in their small letters."""
    names = [(where, document.get("name")) for where, document in request.documents()]
    for where, name in names:
        if isinstance(name, str) and (
            not re.fullmatch(r"[a-zA-Z0-9 ()\[\]_-]{1,200}", name) or "  " in name or name != name.strip()
        ):
            yield Fault(where, f"{name!r} names no document")
    for where, name in repeated((where, name.lower()) for where, name in names if isinstance(name, str)):
        yield Fault(where, f"a second document {name!r}")


def document_text(request: Request) -> Iterator[Fault]:
    """A message with a document has a text."""
    for where, message in request.messages:
        kinds: set[str] = set()
        for _, block in request.blocks_of(where, message):
            kinds |= block.keys()
        if "document" in kinds and "text" not in kinds:
            yield Fault(where, "a document without a text")


def tool_call_id(request: Request) -> Iterator[Fault]:
    """An id is of letters, digits and ``_.:-``, at most 64 of them."""
    for where, block in request.blocks():
        for kind in ("toolUse", "toolResult"):
            name = block[kind].get("toolUseId") if isinstance(block.get(kind), dict) else None
            if isinstance(name, str) and not re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", name):
                yield Fault(where, f"{name!r} is no id")


def tool_name(request: Request) -> Iterator[Fault]:
    """A tool's name is of letters, digits, ``_`` and ``-``, at most 64 of them."""
    called = [(where, block["toolUse"]) for where, block in request.blocks() if isinstance(block.get("toolUse"), dict)]
    for where, tool in (*called, *declared(request)):
        name = tool.get("name")
        if isinstance(name, str) and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            yield Fault(where, f"{name!r} names no tool")


def declared(request: Request) -> list[tuple[str, Any]]:
    """Return the tools that a body declares."""
    config = request.body.get("toolConfig")
    tools = objects(config.get("tools"), "toolConfig.tools") if isinstance(config, dict) else []
    return [(where, tool["toolSpec"]) for where, tool in tools if isinstance(tool.get("toolSpec"), dict)]


def tool_declared_twice(request: Request) -> Iterator[Fault]:
    """Tools have different names."""
    for where, name in repeated((where, tool.get("name")) for where, tool in declared(request)):
        yield Fault(where, f"a second tool {name!r}")


def reasoning_signature(request: Request) -> Iterator[Fault]:
    """Reasoning is signed, even if its text is empty."""
    for where, block in request.blocks():
        found = block.get("reasoningContent")
        text = found.get("reasoningText") if isinstance(found, dict) else None
        if isinstance(text, dict) and not text.get("signature"):
            yield Fault(where, "not signed")


def reasoning_last(request: Request) -> Iterator[Fault]:
    """A message does not end in reasoning."""
    for where, message in request.messages:
        blocks = request.blocks_of(where, message)
        if blocks and "reasoningContent" in blocks[-1][1]:
            yield Fault(blocks[-1][0], "reasoning at the end")


def reasoning_role(request: Request) -> Iterator[Fault]:
    """Reasoning is the assistant's."""
    for where, message in request.messages:
        for place, block in request.blocks_of(where, message) if message.get("role") == "user" else []:
            if "reasoningContent" in block:
                yield Fault(place, "reasoning from the user")


def thinking_kind(request: Request) -> Iterator[Fault]:
    """Claude thinks here as at its own API: newer models as much as they want."""
    fields = request.body.get("additionalModelRequestFields")
    setting = fields.get("thinking") if isinstance(fields, dict) else None
    if isinstance(setting, dict) and refused_thinking(setting.get("type"), request.model or ""):
        yield Fault("additionalModelRequestFields.thinking", f"{setting.get('type')!r} for {request.model}")


def forced_tool(request: Request) -> Iterator[Fault]:
    """Newer models of Claude, and any whose thinking is enabled, are not told to call a tool."""
    fields, config = request.body.get("additionalModelRequestFields"), request.body.get("toolConfig")
    setting = fields.get("thinking") if isinstance(fields, dict) else None
    thinking = setting.get("type") if isinstance(setting, dict) else None
    choice = config.get("toolChoice") if isinstance(config, dict) else None
    for kind in choice if isinstance(choice, dict) else ():
        if why := why_not_forced(kind, thinking, request.model or ""):
            yield Fault("toolConfig.toolChoice", why)


def cache_points(request: Request) -> Iterator[Fault]:
    """There are at most four cache points, for Claude and Nova only, none after reasoning or a document."""
    config = request.body.get("toolConfig")
    lists = [("toolConfig.tools", config.get("tools"))] if isinstance(config, dict) else []
    lists += [("system", request.body.get("system"))]
    lists += [(f"{where}.content", message.get("content")) for where, message in request.messages]
    found = []
    for where, content in lists:
        before: Any = {}
        for place, block in objects(content, where):
            if "cachePoint" in block:
                found.append((place, block["cachePoint"]))
                if before.keys() & {"reasoningContent", "document"}:
                    yield Fault(place, "a cache point after reasoning or a document")
                if where.startswith("toolConfig") and request.is_nova():
                    yield Fault(place, "a cache point among the tools of Nova")
            before = block
    for place, _ in found[CACHE_POINTS:]:
        yield Fault(place, f"more than {CACHE_POINTS} cache points")
    for place, point in found:
        if not (request.is_claude() or request.is_nova()):
            yield Fault(place, f"a cache point for {request.model}", careless=not request.model)
        if request.is_nova() and isinstance(point, dict) and point.get("ttl"):
            yield Fault(place, "a time to live for Nova")


CONTENT_RULES: tuple[Rule[Request], ...] = (
    shape,
    empty_content,
    blank_text,
    error_result_text,
    result_status,
    result_media,
    media_role,
    document_name,
    document_text,
    tool_call_id,
    tool_name,
    tool_declared_twice,
    reasoning_signature,
    reasoning_last,
    reasoning_role,
    thinking_kind,
    forced_tool,
    cache_points,
)
