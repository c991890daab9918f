"""Converts a ``UIMessage`` to messages for a model, as the AI SDK does (``convertToModelMessages``).

The parts that the AI SDK leaves out, such as sources and data, are kept unchanged.
"""

from collections.abc import Iterator
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.elements import Element, elements_of

_STATIC, _DYNAMIC = "tool-", "dynamic-tool"
# Parts of other kinds whose type begins like that of a tool.
_NOT_TOOLS = ("tool-call", "tool-result", "tool-approval-request", "tool-approval-response")
DENIED = "Tool execution denied."


class Spoken(NamedTuple):
    """A role and its parts."""

    role: str
    parts: list[Element]


def spoken(role: str, given: Any, where: str) -> Iterator[Spoken]:
    """Convert the parts of a UIMessage to messages for a model.

    Args:
        role: the role of the message.
        given: its parts.
        where: their place.
    """
    said: list[Element] = []
    results: list[Element] = []
    for part in elements_of(given, where):
        kind = part.get("type")
        if kind == "step-start":
            yield from _step(role, said, results)
            said, results = [], []
        elif type(kind) is str and _is_tool(kind):
            call, result = _tool(part, kind)
            said.append(Element(call, part.where))
            if result is not None:
                (said if part.get("providerExecuted") is True else results).append(Element(result, part.where))
        else:
            said.append(Element(_renamed(part.value), part.where))
    yield from _step(role, said, results)


def _step(role: str, said: list[Element], results: list[Element]) -> Iterator[Spoken]:
    if said:
        yield Spoken(role, said)
    if results:
        yield Spoken("tool", results)


def _is_tool(kind: str) -> bool:
    return kind == _DYNAMIC or (kind.startswith(_STATIC) and kind not in _NOT_TOOLS)


def _renamed(part: Json) -> Json:
    """Return a part other than a tool's with the keys of the form for a model."""
    if part.get("type") not in ("text", "reasoning", "file"):
        return part
    renamed = {key: value for key, value in part.items() if key not in ("providerMetadata", "state", "id", "url")}
    if part.get("type") == "file":
        reference = part.get("providerReference")
        renamed.pop("providerReference", None)
        renamed["data"] = part.get("url") if reference is None else {"type": "reference", "reference": reference}
    return {**renamed, **_options(part, "providerMetadata")}


def _options(part: Json, *names: str) -> Json:
    found = next((part[name] for name in names if part.get(name) is not None), None)
    return {} if found is None else {"providerOptions": found}


def _tool(part: Element, kind: str) -> tuple[Json, Json | None]:
    """Return the call and the result of a tool's part; there is no result yet in most of its states."""
    name = part.text("toolName") if kind == _DYNAMIC else kind.removeprefix(_STATIC)
    about = {"toolCallId": part.get("toolCallId"), "toolName": name}
    served = {"providerExecuted": True} if part.get("providerExecuted") is True else {}
    asked = part.get("input") if part.get("input") is not None else part.get("rawInput")
    call = {"type": "tool-call", **about, "input": asked, **served, **_options(part.value, "callProviderMetadata")}
    output = _output(part.value, served=bool(served))
    if output is None:
        return call, None
    beside = _options(part.value, "resultProviderMetadata", "callProviderMetadata")
    return call, {"type": "tool-result", **about, "output": output, **served, **beside}


def _output(part: Json, *, served: bool) -> Json | None:
    state = part.get("state")
    approval = part.get("approval")
    approval = approval if type(approval) is dict else {}
    if state == "output-available":
        output = part.get("output")
        return {"type": "text" if type(output) is str else "json", "value": output}
    if state == "output-error":
        return {"type": "error-json" if served else "error-text", "value": part.get("errorText") or ""}
    if state == "output-denied":
        return {"type": "error-text", "value": approval.get("reason") or DENIED}
    if state == "approval-responded" and approval.get("approved") is False:
        return {"type": "execution-denied", "reason": approval.get("reason") or DENIED}
    return None
