"""The rules of Ollama's ``/api/chat`` (docs/provider-rules.md, O).

The server decodes a request into types of Go and refuses what does not fit. Everything else is a matter of the model's
template, and therefore careless.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker.problem import (
    Fault,
    Json,
    Problem,
    Rule,
    Shape,
    careless,
    key_faults,
    objects,
    repeated,
    run,
    shape_of,
)

TOP = shape_of(
    "model messages! stream format keep_alive tools options think truncate shift logprobs top_logprobs "
    "_debug_render_only"
)
MESSAGES = {
    "system": shape_of("role! content!"),
    "user": shape_of("role! content! images"),
    "assistant": shape_of("role! content! thinking tool_calls"),
    "tool": shape_of("role! content! tool_name tool_call_id"),
}
CALL, FUNCTION = shape_of("id function!"), shape_of("index name! arguments!")
STRINGS = ("content", "thinking", "tool_name", "tool_call_id")
# Padded, in the standard alphabet: what Go's encoding/json takes for bytes.
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


class Request(NamedTuple):
    """A body."""

    body: Json

    def messages(self) -> Iterator[tuple[str, Json]]:
        """Return every message that is an object."""
        return objects(self.body.get("messages"), "messages")

    def calls(self) -> Iterator[tuple[str, Json]]:
        """Return every tool call of every message."""
        for where, message in self.messages():
            yield from objects(message.get("tool_calls"), f"{where}.tool_calls")

    def blocks(self) -> Iterator[tuple[str, list[str], list[tuple[str, Any]]]]:
        """Return each message except results, with its calls' ids and the ids of the results directly after it."""
        place, calls, results = "messages", list[str](), list[tuple[str, Any]]()
        for where, message in self.messages():
            if message.get("role") == "tool":
                results.append((where, message.get("tool_call_id")))
                continue
            yield place, calls, results
            place, results = where, []
            calls = [str(call.get("id")) for _, call in objects(message.get("tool_calls"), where)]
        yield place, calls, results


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one message: without any, the model is loaded and does not answer."""
    if request.body.get("messages") == []:
        yield Fault("messages", "empty")


def shape(request: Request) -> Iterator[Fault]:
    """Every value has the type that the server decodes it into; a key that it does not know is careless."""
    yield from known_faults("body", request.body, TOP)
    messages = request.body.get("messages", [])
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        yield Fault("messages", "not an array of objects")
    for where, message in request.messages():
        yield from message_faults(where, message)
    for where, call in request.calls():
        yield from known_faults(where, call, CALL)
        function = call.get("function")
        if not isinstance(function, dict):
            yield Fault(f"{where}.function", "not an object")
        else:
            yield from known_faults(f"{where}.function", function, FUNCTION)
            if not isinstance(function.get("name", ""), str):
                yield Fault(f"{where}.function.name", "not a string")


def known_faults(where: str, found: Json, known: Shape) -> Iterator[Fault]:
    """Yield the keys that an object has and may not have, or lacks: Go ignores them all."""
    for fault in key_faults(where, found, known):
        yield fault._replace(careless=True)


def message_faults(where: str, message: Json) -> Iterator[Fault]:
    """Check the keys of one message and their types."""
    role = str(message.get("role"))
    if role in MESSAGES:
        yield from known_faults(where, message, MESSAGES[role])
    for key in STRINGS:
        if not isinstance(message.get(key, ""), str | None):
            yield Fault(f"{where}.{key}", "not a string")
    for key in ("tool_calls", "images"):
        if not isinstance(message.get(key), list | None):
            yield Fault(f"{where}.{key}", "not an array")


def role(request: Request) -> Iterator[Fault]:
    """A role is one that templates know; what another role says does not reach the model."""
    for where, message in request.messages():
        if str(message.get("role")).lower() not in MESSAGES:
            yield Fault(f"{where}.role", f"{message.get('role')!r} is not a role")


def arguments_object(request: Request) -> Iterator[Fault]:
    """The arguments of a call are an object."""
    for where, call in request.calls():
        function = call.get("function")
        if isinstance(function, dict) and not isinstance(function.get("arguments", {}), dict):
            yield Fault(f"{where}.function.arguments", "not an object")


def image_data(request: Request) -> Iterator[Fault]:
    """A picture is base64, without the beginning of a data URL."""
    for where, message in request.messages():
        images = message.get("images")
        for index, image in enumerate(images if isinstance(images, list) else []):
            if not isinstance(image, str) or not BASE64.fullmatch(image):
                yield Fault(f"{where}.images[{index}]", "not base64")


def image_role(request: Request) -> Iterator[Fault]:
    """Pictures come from the user (careless)."""
    for where, message in request.messages():
        if message.get("images") and message.get("role") != "user":
            yield careless(f"{where}.images", f"pictures from {message.get('role')!r}")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has its result in the block of tool messages directly after it (careless)."""
    for where, calls, results in request.blocks():
        for name in calls:
            if name not in [answered for _, answered in results]:
                yield careless(where, f"no tool message directly after it answers {name!r}")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each tool message answers a call of the message that its block follows (careless)."""
    for _, calls, results in request.blocks():
        for where, name in results:
            if name not in calls:
                yield careless(where, f"no call {name!r} directly before its block")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call is answered once (careless)."""
    for _, _, results in request.blocks():
        for where, name in repeated(results):
            yield careless(where, f"a second result for {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Two calls of one message have two ids (careless)."""
    for where, calls, _ in request.blocks():
        for _, name in repeated((where, call) for call in calls):
            yield careless(where, f"two calls {name!r} in one message")


def tool_result_name(request: Request) -> Iterator[Fault]:
    """A result names its tool (careless): not every template looks at the id."""
    for where, message in request.messages():
        if message.get("role") == "tool" and not message.get("tool_name"):
            yield careless(where, "no tool_name")


RULES: tuple[Rule[Request], ...] = (
    empty_history,
    shape,
    role,
    arguments_object,
    image_data,
    image_role,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    tool_result_name,
)


def check(body: Json, _model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body))
