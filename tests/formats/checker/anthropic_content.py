"""The rules of Anthropic Messages (docs/provider-rules.md, A): what blocks contain, and where thinking is."""

import re
from collections.abc import Iterator

from tests.formats.checker.anthropic_request import Request, words
from tests.formats.checker.anthropic_shape import body_faults
from tests.formats.checker.problem import Fault, Rule, objects, repeated

THOUGHTS = ("thinking", "redacted_thinking")
CACHE_MARKS = 4


def empty_content(request: Request) -> Iterator[Fault]:
    """A message has content, except a last one of the assistant's; so do a result's array and a failed result."""
    for index, (where, message) in enumerate(request.messages):
        final = index == len(request.messages) - 1 and message.get("role") == "assistant"
        if message.get("content") in ("", []) and not final:
            yield Fault(where, "empty content")
    for where, block in request.blocks():
        if block.get("type") == "tool_result" and block.get("content") == []:
            yield Fault(f"{where}.content", "empty array")
        elif block.get("type") == "tool_result" and block.get("is_error") is True and not block.get("content"):
            yield Fault(f"{where}.content", "a failed result that says nothing")


def empty_text(request: Request) -> Iterator[Fault]:
    """A text block has text, inside tool results and the system prompt too; what is between calls, or a signature."""
    strings = {f"{where}.content" for where, message in request.messages if isinstance(message.get("content"), str)}
    for where, block in request.texts():
        if words(block) == "" and where not in strings:  # a whole message's is `empty-content`
            yield Fault(where, "empty text")
    for where, block in request.blocks():
        if block.get("type") == "connector_text" and not (block.get("connector_text") or block.get("signature")):
            yield Fault(where, "empty text")


def blank_text(request: Request) -> Iterator[Fault]:
    """A text is more than white space; beside other text of the assistant, or in a result, it is careless."""
    said = {
        where
        for turn in request.turns
        if turn.role == "assistant" and any((words(block) or "").strip() for _, block in turn.blocks)
        for where, _ in turn.blocks
    }
    own = {where for where, _ in request.blocks()}
    for where, block in request.texts():
        text = words(block)
        if text and not text.strip():
            yield Fault(where, "blank text", careless=where in said or where not in own)


def trailing_whitespace(request: Request) -> Iterator[Fault]:
    """A final message of the assistant does not end in white space."""
    last = request.last()
    text = words(last.blocks[-1][1]) if last and last.blocks else None
    if last and text and text != text.rstrip():
        yield Fault(last.blocks[-1][0], "white space at the end")


def error_result_text(request: Request) -> Iterator[Fault]:
    """A failed result contains only text."""
    for where, block in request.blocks():
        if block.get("type") == "tool_result" and block.get("is_error") is True:
            for place, part in objects(block.get("content"), f"{where}.content"):
                if part.get("type") != "text":
                    yield Fault(place, f"{part.get('type')!r} in a failed result")


def media_role(request: Request) -> Iterator[Fault]:
    """The assistant sends no images and documents."""
    for turn in request.turns:
        for where, block in turn.of("image", "document") if turn.role == "assistant" else []:
            yield Fault(where, f"{block['type']!r} from the assistant")


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types that the SDK gives it."""
    yield from body_faults(request.body)


def tool_call_id(request: Request) -> Iterator[Fault]:
    """An id is of letters, digits, underscores and hyphens; more than 64 of them are careless."""
    for where, block in request.blocks():
        name = {"tool_use": block.get("id"), "tool_result": block.get("tool_use_id")}.get(str(block.get("type")))
        if isinstance(name, str) and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            yield Fault(
                where, f"{name!r} is not a valid id", careless=re.fullmatch(r"[a-zA-Z0-9_-]+", name) is not None
            )


def tool_name(request: Request) -> Iterator[Fault]:
    """A tool's name is of letters, digits, underscores and hyphens, at most 128; more than 64 are careless."""
    calls = [(where, block) for where, block in request.blocks() if block.get("type") == "tool_use"]
    for where, named in (*calls, *objects(request.body.get("tools"), "tools")):
        name = named.get("name")
        if isinstance(name, str) and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            long = re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", name) is not None
            yield Fault(where, f"{name!r} names no tool", careless=long)


def cache_marks(request: Request) -> Iterator[Fault]:
    """At most four blocks have a cache breakpoint."""
    marked = [*objects(request.body.get("system"), "system"), *objects(request.body.get("tools"), "tools")]
    for where, block in request.blocks():
        marked += [(where, block), *objects(block.get("content"), f"{where}.content")]
    places = [where for where, block in marked if block.get("cache_control") is not None]
    for where in places[CACHE_MARKS:]:
        yield Fault(where, f"one of {len(places)} cache breakpoints")


def tool_declared_twice(request: Request) -> Iterator[Fault]:
    """Tools have different names."""
    tools = objects(request.body.get("tools"), "tools")
    for where, name in repeated((where, tool.get("name")) for where, tool in tools):
        yield Fault(where, f"a second tool {name!r}")


def thinking_signature(request: Request) -> Iterator[Fault]:
    """A thinking block is signed, even if its text is empty."""
    for where, block in request.blocks():
        signature = block.get("signature")
        if block.get("type") == "thinking" and not (isinstance(signature, str) and signature):
            yield Fault(f"{where}.signature", "not signed")


def thinking_first(request: Request) -> Iterator[Fault]:
    """In a tool loop with thinking enabled the assistant's turn begins with thinking.

    The vendor counts the whole loop as one turn, the error text speaks of its last message: one of the two is careless.
    """
    loop = request.loop() if request.thinking() == "enabled" else []
    if loop:
        begins = [bool(turn.blocks) and turn.blocks[0][1].get("type") in THOUGHTS for turn in (loop[0], loop[-1])]
        if not all(begins):
            yield Fault(loop[-1].where, "a tool loop that begins without thinking", careless=any(begins))


def thinking_last(request: Request) -> Iterator[Fault]:
    """A turn does not end in thinking."""
    for turn in request.turns:
        if turn.role == "assistant" and turn.blocks and turn.blocks[-1][1].get("type") in THOUGHTS:
            yield Fault(turn.blocks[-1][0], "thinking at the end")


# From this version on, a request that says nothing has thinking on.
THINKS_BY_DEFAULT = (5, 0)


def thinking_disabled(request: Request) -> Iterator[Fault]:
    """With thinking off, a final message of the assistant has none."""
    last, version = request.last(), request.version()
    is_said = "thinking" in request.body
    is_off = request.thinking() == "disabled" and (is_said or version is None or version < THINKS_BY_DEFAULT)
    for where, _ in last.of(*THOUGHTS) if last and is_off else []:
        yield Fault(where, "thinking is disabled")


def thinking_role(request: Request) -> Iterator[Fault]:
    """Thinking is the assistant's."""
    for turn in request.turns:
        for where, _ in turn.of(*THOUGHTS) if turn.role != "assistant" else []:
            yield Fault(where, f"thinking from {turn.role!r}")


# What no request to a model may say of thinking, and from which version on.
ADAPTIVE_ONLY = {"fable": (5, 0), "mythos": (5, 0), "opus": (5, 5), "sonnet": (5, 5)}
NO_BUDGET = {**ADAPTIVE_ONLY, "haiku": (5, 5)}


def refused_thinking(kind: object, model: str) -> bool:
    """Return whether a model takes no such kind of thinking."""
    found = re.search(r"claude-([a-z]+)-(\d+)(?:[-.](\d{1,2})(?!\d))?", model)
    since = {"enabled": NO_BUDGET, "disabled": ADAPTIVE_ONLY}.get(str(kind), {}).get(found[1]) if found else None
    return bool(found and since and (int(found[2]), int(found[3] or 0)) >= since)


def thinking_kind(request: Request) -> Iterator[Fault]:
    """Newer models think as much as they want: no request turns that off, or has a budget for it."""
    if "thinking" in request.body and refused_thinking(request.thinking(), request.model or ""):
        yield Fault("thinking", f"{request.thinking()!r} for {request.model}")


# From which version on no request may say that a tool is to be called.
NEVER_FORCED = {"fable": (5, 1), "mythos": (5, 1), "opus": (5, 5), "sonnet": (5, 5)}


def why_not_forced(kind: object, thinking: object, model: str) -> str | None:
    """Return why a request may not say that a tool is to be called: ``any`` one, or a certain ``tool``."""
    found = re.search(r"claude-([a-z]+)-(\d+)(?:[-.](\d{1,2})(?!\d))?", model)
    since = NEVER_FORCED.get(found[1]) if found else None
    if kind not in ("any", "tool"):
        return None
    if found and since and (int(found[2]), int(found[3] or 0)) >= since:
        return f"{kind!r} for {model}"
    return f"{kind!r} with thinking" if thinking == "enabled" else None


def forced_tool(request: Request) -> Iterator[Fault]:
    """Newer models, and any whose thinking is enabled, are not told to call a tool."""
    choice = request.body.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if why := why_not_forced(kind, request.thinking(), request.model or ""):
        yield Fault("tool_choice", why)


CONTENT_RULES: tuple[Rule[Request], ...] = (
    empty_content,
    empty_text,
    blank_text,
    trailing_whitespace,
    error_result_text,
    media_role,
    shape,
    tool_call_id,
    tool_name,
    cache_marks,
    tool_declared_twice,
    thinking_signature,
    thinking_first,
    thinking_last,
    thinking_disabled,
    thinking_role,
    thinking_kind,
    forced_tool,
)
