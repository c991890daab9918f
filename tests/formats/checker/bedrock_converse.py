"""The rules of Amazon Bedrock Converse (docs/provider-rules.md, B): turns, calls and results.

A body does not show whether a signature is genuine, and what a model reads.
"""

from collections.abc import Iterator

from tests.formats.checker.bedrock_converse_content import CONTENT_RULES
from tests.formats.checker.bedrock_converse_request import Request
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, repeated, run


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one message."""
    if request.body.get("messages") == []:
        yield Fault("messages", "empty")


def alternation(request: Request) -> Iterator[Fault]:
    """User and assistant take turns."""
    for (_, one), (where, other) in zip(request.messages, request.messages[1:], strict=False):
        if one.get("role") == other.get("role"):
            yield Fault(where, f"a second message of {other.get('role')!r} in a row")


def first_role(request: Request) -> Iterator[Fault]:
    """The user speaks first."""
    if request.messages and request.messages[0][1].get("role") == "assistant":
        yield Fault("messages[0]", "the assistant speaks first")


def last_role(request: Request) -> Iterator[Fault]:
    """The user speaks last (careless: some models take the beginning of an answer)."""
    if request.messages and request.messages[-1][1].get("role") == "assistant":
        yield careless(request.messages[-1][0], "the assistant speaks last")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has its result in the next message."""
    for calls, results in request.exchanges():
        answered = [name for _, name in results]
        for where, name in calls:
            if name not in answered:
                yield Fault(where, f"no toolResult for {name!r} in the next message")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each result has its call in the message before."""
    for calls, results in request.exchanges():
        called = [name for _, name in calls]
        for where, name in results:
            if name not in called:
                yield Fault(where, f"no toolUse {name!r} in the message before")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call has one result."""
    for _, results in request.exchanges():
        for where, name in repeated(results):
            yield Fault(where, f"a second toolResult for {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Calls of one message have different ids."""
    for calls, _ in request.exchanges():
        for where, name in repeated(calls):
            yield Fault(where, f"two calls {name!r} in one message")


def server_tool_after_call(request: Request) -> Iterator[Fault]:
    """A server's tool comes before the client's calls, unless the model thought in between."""
    for where, message in request.messages:
        called = False
        for place, block in request.blocks_of(where, message) if message.get("role") == "assistant" else ():
            is_call = request.is_call(block)
            if called and not is_call and ("toolUse" in block or "toolResult" in block):
                yield Fault(place, "a server's tool after a toolUse")
            called = is_call or (called and "reasoningContent" not in block)


def tool_result_mixed(request: Request) -> Iterator[Fault]:
    """A message with results has nothing else; some models take words after the results."""
    for where, message in request.messages:
        blocks = request.blocks_of(where, message)
        others = [place for place, block in blocks if "toolResult" not in block]
        if message.get("role") != "user" or len(others) in (0, len(blocks)):
            continue
        after = [place for place, _ in blocks[len(blocks) - len(others) :]]
        for place in others:
            if not request.mixes() or place not in after:
                yield Fault(place, "conversation and results in one message")


def tool_call_mixed(request: Request) -> Iterator[Fault]:
    """A message with calls has nothing else, for the models of Meta and Mistral."""
    for where, message in request.messages if request.parts() else []:
        called = [request.is_call(block) for _, block in request.blocks_of(where, message)]
        if any(called) and not all(called):
            yield Fault(where, "conversation and calls in one message")


def tool_config(request: Request) -> Iterator[Fault]:
    """A body with calls or results declares tools."""
    config = request.body.get("toolConfig")
    declared = isinstance(config, dict) and bool(config.get("tools"))
    for where, block in request.blocks():
        if not declared and ("toolUse" in block or "toolResult" in block):
            yield Fault(where, "toolConfig is missing")


def tool_role(request: Request) -> Iterator[Fault]:
    """The assistant makes calls, the user sends results; both halves of a server's call are the assistant's."""
    for where, message in request.messages:
        for place, block in request.blocks_of(where, message):
            if message.get("role") == "user" and "toolUse" in block:
                yield Fault(place, "a toolUse of the user's")
            if message.get("role") == "assistant" and "toolResult" in block and not request.is_served(block):
                yield Fault(place, "a toolResult of the assistant's")


def server_tool_orphan(request: Request) -> Iterator[Fault]:
    """A server's call and its result are the assistant's, with nothing between but results of a client's tools."""
    calls: dict[str, str] = {}
    for where, message in request.messages:
        blocks = request.blocks_of(where, message)
        if message.get("role") != "assistant" and any("toolResult" not in block for _, block in blocks):
            for name, place in calls.items():
                yield Fault(place, f"no result of the server's call {name!r}")
            calls = {}
        for place, block in blocks if message.get("role") == "assistant" else []:
            served = request.served_id(block)
            if served is not None and "toolUse" in block:
                calls[served] = place
            elif served is not None and calls.pop(served, None) is None:
                yield Fault(place, f"no server's call {served!r} before it")


RULES: tuple[Rule[Request], ...] = (
    empty_history,
    alternation,
    first_role,
    last_role,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    server_tool_after_call,
    tool_result_mixed,
    tool_call_mixed,
    tool_config,
    tool_role,
    server_tool_orphan,
    *CONTENT_RULES,
)


def check(body: Json, model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body, model))
