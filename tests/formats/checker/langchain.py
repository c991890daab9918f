"""The rules of LangChain's serialized messages in their plain form (docs/provider-rules.md, L)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker.problem import Fault, Json, Problem, Rule, key_faults, objects, repeated, run, shape_of

_COMMON = "content! type! name id additional_kwargs response_metadata"
MESSAGES = {
    "human": shape_of(_COMMON),
    "system": shape_of(_COMMON),
    "ai": shape_of(f"{_COMMON} tool_calls invalid_tool_calls usage_metadata"),
    "tool": shape_of(f"{_COMMON} tool_call_id! artifact status"),
}
CALL = shape_of("name! args! id! type")
# What is in a block of each of LangChain's own types; a provider's own blocks are for its integration.
BLOCKS = {
    "text": ("text",),
    "thinking": ("thinking",),
    "redacted_thinking": ("data",),
    "reasoning": (),
    "non_standard": ("value",),
}
MEDIA = ("image", "audio", "video", "file")


class Request(NamedTuple):
    """A body."""

    body: Json

    def messages(self) -> Iterator[tuple[str, Json]]:
        """Return every message that is an object."""
        return objects(self.body.get("messages"), "messages")

    def calls(self) -> Iterator[tuple[str, Json]]:
        """Return every call of every message."""
        for where, message in self.messages():
            yield from objects(message.get("tool_calls"), f"{where}.tool_calls")

    def blocks(self) -> Iterator[tuple[str, list[str], list[tuple[str, Any]]]]:
        """Return each message except results, with its calls' ids and the ids of the results directly after it."""
        place, calls, results = "messages", list[str](), list[tuple[str, Any]]()
        for where, message in self.messages():
            if message.get("type") == "tool":
                results.append((where, message.get("tool_call_id")))
                continue
            yield place, calls, results
            place, results = where, []
            calls = [str(call.get("id")) for _, call in objects(message.get("tool_calls"), where)]
        yield place, calls, results


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one message."""
    if request.body.get("messages") == []:
        yield Fault("messages", "empty")


def shape(request: Request) -> Iterator[Fault]:
    """A message has the fields of its class."""
    messages = request.body.get("messages", [])
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield Fault("messages", "not an array of objects")
    for where, message in request.messages():
        known = MESSAGES.get(str(message.get("type")))
        if known is None:
            yield Fault(f"{where}.type", f"{message.get('type')!r} is not a type")
            continue
        yield from key_faults(where, message, known)
        if not isinstance(message.get("content"), str | list):
            yield Fault(f"{where}.content", "neither a text nor an array")
        if message.get("status", "success") not in ("success", "error"):
            yield Fault(f"{where}.status", "neither success nor error")
    for where, call in request.calls():
        yield from key_faults(where, call, CALL)


def block_shape(request: Request) -> Iterator[Fault]:
    """A block has what its type needs; media have bytes or a URL."""
    for where, message in request.messages():
        for place, block in objects(message.get("content"), f"{where}.content"):
            kind = block.get("type")
            if not isinstance(kind, str):
                yield Fault(place, "no type")
            elif kind in MEDIA:
                if not (isinstance(block.get("base64"), str) or isinstance(block.get("url"), str)):
                    yield Fault(place, "neither base64 nor url")
            else:
                yield from (Fault(f"{place}.{key}", "missing") for key in BLOCKS.get(kind, ()) if key not in block)


def arguments_object(request: Request) -> Iterator[Fault]:
    """The arguments of a call are an object."""
    for where, call in request.calls():
        if not isinstance(call.get("args", {}), dict):
            yield Fault(f"{where}.args", "not an object")


def tool_call_id(request: Request) -> Iterator[Fault]:
    """An id is a text that is not empty."""
    ids = [(where, call.get("id")) for where, call in request.calls()]
    ids += [(where, found.get("tool_call_id")) for where, found in request.messages() if found.get("type") == "tool"]
    for where, name in ids:
        if not isinstance(name, str) or not name:
            yield Fault(where, f"{name!r} is not an id")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has its result directly after its message."""
    for where, calls, results in request.blocks():
        for name in calls:
            if name not in [answered for _, answered in results]:
                yield Fault(where, f"INVALID_CHAT_HISTORY: no ToolMessage answers {name!r}")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each result answers a call of the message that it follows."""
    for _, calls, results in request.blocks():
        for where, name in results:
            if name not in calls:
                yield Fault(where, f"no call {name!r} directly before it")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call is answered once."""
    for _, _, results in request.blocks():
        for where, name in repeated(results):
            yield Fault(where, f"a second result for {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Two calls of one message have two ids."""
    for where, calls, _ in request.blocks():
        for _, name in repeated((where, call) for call in calls):
            yield Fault(where, f"two calls {name!r} in one message")


RULES: tuple[Rule[Request], ...] = (
    empty_history,
    shape,
    block_shape,
    arguments_object,
    tool_call_id,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
)


def check(body: Json, _model: str | None) -> list[Problem]:
    """Return what LangChain, or an agent built with it, would refuse in a body."""
    return run(RULES, Request(body))
