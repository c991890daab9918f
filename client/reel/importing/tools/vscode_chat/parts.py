"""Reads the results of calls, and the parts of what VS Code shows as an answer."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.blocks import fitting
from reel.importing.values import as_map, list_in, map_in, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

NAME = "vscode-chat"
# Parts of an answer that only show how it came about.
_PROGRESS = (
    *("prepareToolInvocation", "undoStop", "codeblockUri", "mcpServersStarting", "progressMessage"),
    *("progressTaskSerialized", "progressTask", "hook", "externalToolInvocationUpdate"),
)
# The kinds of parts that are texts: those of extensions have none.
_TEXTS = ("", "markdownContent", "markdownVuln")
# What VS Code needs to show a text.
_OF_TEXTS = {"supportThemeIcons", "supportHtml", "supportAlertSyntax", "isTrusted", "baseUri", "uris"}
_RESULT = {
    *("$mid", "content", "error", "hasError", "toolResultMessage", "toolResultError", "toolResultDetails"),
    *("toolMetadata", "confirmAfterRunning"),
}
# The kinds of values in the results of calls.
_TEXT_NODE, _LONGEST_TREE = 2, 100_000


def result_of(ident: str, found: Any, refusals: Refusals) -> Json:
    """Return the result of a call as the model got it."""
    blocks = [_value_block(part) for part in list_in(found, "content")]
    content = shortest([fitting(block, "tool_result", refusals) for block in blocks])
    return tool_result(ident, content, failed=map_in(found, "error") != {} or as_map(found).get("hasError") is True)


def _value_block(part: Any) -> Json:
    value = part.get("value") if type(part) is dict else part
    if type(value) is str:
        return text_block(value)
    node = map_in(value, "node")
    if node and (text := text_of(node)):
        return text_block(text)
    return opaque_block(NAME, {"type": "unknown", **as_map(part)})


def text_of(node: Any) -> str:
    """Return the text of a tree, which a prompt is rendered from."""
    pieces: list[str] = []
    waiting = [node]
    while waiting and len(pieces) < _LONGEST_TREE:
        at = waiting.pop()
        if type(at) is not dict:
            continue
        if at.get("type") == _TEXT_NODE:
            pieces.append(("\n" if at.get("lineBreakBefore") is True and pieces else "") + text_in(at, "text"))
        waiting += reversed(list_in(at, "children"))
    return "".join(pieces)


def is_progress(part: Any) -> bool:
    """Return whether a part only shows how an answer came about."""
    kind = text_in(part, "kind")
    return kind in _PROGRESS or (kind == "thinking" and not thought_in(part.get("value")))


def shown_block(part: Any) -> Json:
    """Return the block of a part of what is shown; a part that is not a text is kept whole."""
    kind = text_in(part, "kind")
    content = map_in(part, "content") or part
    if kind in _TEXTS and type(content) is dict and type(content.get("value")) is str:
        return text_block(content["value"])
    if kind == "inlineReference" and (name := text_in(part, "name") or _name_in(map_in(part, "inlineReference"))):
        return text_block(f"`{name}`")
    if kind == "thinking" and (text := thought_in(part.get("value"))):
        return {"type": "thinking", "text": text, "provider": NAME}
    return opaque_block(NAME, {"type": "unknown", **as_map(part)})


def _name_in(reference: Json) -> str:
    place = map_in(reference, "uri") or map_in(map_in(reference, "location"), "uri") or reference
    return text_in(reference, "name") or text_in(place, "path").rpartition("/")[2]


def thought_in(value: Any) -> str:
    """Return what was thought: a text, or pieces of one."""
    pieces = value if type(value) is list else [value]
    return "".join(piece for piece in pieces if type(piece) is str)


def left_out_of_shown(part: Any) -> Iterator[str]:
    """Yield the fields of a part of what is shown that its block lacks."""
    if shown_block(part)["type"] == "opaque":
        return
    kind, content = text_in(part, "kind"), map_in(part, "content")
    known = {"kind", "value", "content", "name", "inlineReference", "id", "metadata", "resolveId", "generatedTitle"}
    yield from other_fields(part, known | _OF_TEXTS, f"response.{kind or 'text'}.")
    yield from other_fields(content, {"value", *_OF_TEXTS}, "response.content.")


def left_out_of_result(found: Any) -> Iterator[str]:
    """Yield the fields of the result of a call that its block lacks."""
    yield from other_fields(as_map(found), _RESULT, "toolCallResults.")
    for part in list_in(found, "content"):
        if type(part) is dict and _value_block(part)["type"] == "text":
            yield from other_fields(part, {"$mid", "value", "audience"}, "toolCallResults.content.")


def left_out_of_prompt(request: Json) -> Iterator[str]:
    """Yield the fields of a prompt that its blocks lack."""
    yield from other_fields(map_in(request, "message"), {"text", "parts"}, "message.")
    yield from other_fields(map_in(request, "variableData"), {"variables", "version"}, "variableData.")
    for part in list_in(map_in(request, "message"), "parts"):
        if text_in(part, "kind") == "text":
            yield from other_fields(part, {"kind", "text", "range", "editorRange"}, "message.parts.")
