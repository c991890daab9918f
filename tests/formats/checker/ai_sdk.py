"""The rules of the AI SDK (docs/provider-rules.md, V), and what every provider behind it requires."""

import re
from collections.abc import Iterator

from tests.formats.checker.ai_sdk_shape import body_faults
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, objects, repeated, run

Place = tuple[str, Json]


class Request:
    """A conversation."""

    def __init__(self, body: Json) -> None:
        self.body = body
        self.messages = list(objects(body.get("messages"), "messages"))

    def parts(self, *kinds: str) -> Iterator[Place]:
        """Return the parts of some types, of all messages."""
        for where, message in self.messages:
            yield from parts_of(where, message, *kinds)

    def turns(self) -> Iterator[tuple[list[Place], list[Place]]]:
        """Return the calls of neighbouring messages of the assistant's, and the results directly after them."""
        calls: list[Place] = []
        results: list[Place] = []
        for where, message in self.messages:
            role = message.get("role")
            if results and role != "tool":
                yield calls, results
                calls, results = [], []
            if role == "assistant":
                served = [step for step in parts_of(where, message, "tool-call") if not step[1].get("providerExecuted")]
                calls += served
            elif role == "tool":
                results += parts_of(where, message, "tool-result")
            elif calls:
                yield calls, results
                calls = []
        yield calls, results


def parts_of(where: str, message: Json, *kinds: str) -> list[Place]:
    """Return the parts of a message that have one of some types."""
    found = objects(message.get("content"), f"{where}.content")
    return [(place, part) for place, part in found if part.get("type") in kinds]


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one message."""
    if not request.messages:
        yield Fault("messages", "empty")


def role(request: Request) -> Iterator[Fault]:
    """A role is the user's, the assistant's or a tool's; system messages have a place of their own."""
    for where, message in request.messages:
        if message.get("role") not in ("user", "assistant", "tool"):
            yield Fault(where, f"{message.get('role')!r} is not a role of messages")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has its result in the tool messages directly after it."""
    for calls, results in request.turns():
        given = [part.get("toolCallId") for _, part in results]
        for where, part in calls:
            if part.get("toolCallId") not in given:
                yield Fault(where, f"no result of {part.get('toolCallId')!r}")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each result has its call in the messages directly before it."""
    for calls, results in request.turns():
        asked = [part.get("toolCallId") for _, part in calls]
        for where, part in results:
            if part.get("toolCallId") not in asked:
                yield Fault(where, f"no call {part.get('toolCallId')!r} before it")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call has one result."""
    for _, results in request.turns():
        for where, name in repeated((where, part.get("toolCallId")) for where, part in results):
            yield Fault(where, f"a second result of {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """No two calls have one id: the AI SDK finds a call by it."""
    for where, name in repeated((where, part.get("toolCallId")) for where, part in request.parts("tool-call")):
        yield Fault(where, f"a second call {name!r}")


def server_tool_unanswered(request: Request) -> Iterator[Fault]:
    """A call that the provider ran has its result in the same message."""
    for where, message in request.messages:
        given = [part.get("toolCallId") for _, part in parts_of(where, message, "tool-result")]
        for place, part in parts_of(where, message, "tool-call"):
            if part.get("providerExecuted") and part.get("toolCallId") not in given:
                yield Fault(place, f"no result of {part.get('toolCallId')!r}")


def server_tool_orphan(request: Request) -> Iterator[Fault]:
    """A result in a message of the assistant's has its call before it there."""
    for where, message in request.messages:
        asked = []
        if message.get("role") != "assistant":
            continue
        for place, part in parts_of(where, message, "tool-call", "tool-result"):
            if part.get("type") == "tool-call":
                asked.append(part.get("toolCallId"))
            elif part.get("toolCallId") not in asked:
                yield Fault(place, f"no call {part.get('toolCallId')!r} before it")


def server_tool_after_call(request: Request) -> Iterator[Fault]:
    """A tool of the provider's comes before the others' calls, unless there is reasoning in between (careless)."""
    for where, message in request.messages:
        called = False
        for place, part in objects(message.get("content"), f"{where}.content"):
            kind, is_provider = part.get("type"), part.get("providerExecuted") or part.get("type") == "tool-result"
            if called and is_provider and message.get("role") == "assistant":
                yield careless(place, "a tool of the provider's after a call")
            called = (kind == "tool-call" and not is_provider) or (called and kind != "reasoning")


def tool_name(request: Request) -> Iterator[Fault]:
    """A tool's name is one that every provider accepts (careless)."""
    for where, part in request.parts("tool-call", "tool-result"):
        if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", str(part.get("toolName"))):
            yield careless(where, f"{part.get('toolName')!r} names no tool")


def tool_call_id(request: Request) -> Iterator[Fault]:
    """A call's id is one that every provider accepts (careless)."""
    for where, part in request.parts("tool-call", "tool-result"):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", str(part.get("toolCallId"))) and not part.get("providerExecuted"):
            yield careless(where, f"{part.get('toolCallId')!r} identifies no call")


def empty_text(request: Request) -> Iterator[Fault]:
    """A text has text (careless)."""
    for where, message in request.messages:
        content = message.get("content")
        if content == [] or (isinstance(content, str) and not content.strip()):
            yield careless(where, "no content")
    for where, part in request.parts("text"):
        if isinstance(part.get("text"), str) and not part["text"].strip():
            yield careless(where, "no text")


def last_role(request: Request) -> Iterator[Fault]:
    """The user or a tool comes last (careless)."""
    if request.messages and request.messages[-1][1].get("role") == "assistant":
        yield careless(request.messages[-1][0], "the assistant comes last")


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types of the schema."""
    yield from body_faults(request.body)


RULES: tuple[Rule[Request], ...] = (
    empty_history,
    role,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    server_tool_unanswered,
    server_tool_orphan,
    server_tool_after_call,
    tool_name,
    tool_call_id,
    empty_text,
    last_role,
    shape,
)


def check(body: Json, _model: str | None) -> list[Problem]:
    """Return what the AI SDK, or a provider behind it, would refuse in a conversation."""
    return run(RULES, Request(body))
