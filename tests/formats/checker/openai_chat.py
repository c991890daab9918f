"""The rules of OpenAI Chat Completions (docs/provider-rules.md, C)."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker.openai_chat_shape import body_faults
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, objects, repeated, run

ID_LENGTH = 40


class Request(NamedTuple):
    """A body and the model that it goes to."""

    body: Json
    model: str | None

    def messages(self) -> Iterator[tuple[str, Json]]:
        """Return every message that is an object."""
        return objects(self.body.get("messages"), "messages")

    def calls(self) -> Iterator[tuple[str, Json]]:
        """Return every tool call of every message."""
        for where, message in self.messages():
            yield from objects(message.get("tool_calls"), f"{where}.tool_calls")

    def parts(self) -> Iterator[tuple[str, Any, Json]]:
        """Return every content part with its message's role."""
        for where, message in self.messages():
            for place, part in objects(message.get("content"), f"{where}.content"):
                yield place, message.get("role"), part

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
    """There is at least one message."""
    if request.body.get("messages") == []:
        yield Fault("messages", "empty")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has its result in the block of tool messages directly after it."""
    for where, calls, results in request.blocks():
        for name in calls:
            if name not in [answered for _, answered in results]:
                yield Fault(where, f"no tool message directly after it answers {name!r}")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each tool message answers a call of the message that its block follows."""
    for _, calls, results in request.blocks():
        for where, name in results:
            if name not in calls:
                yield Fault(where, f"no call {name!r} directly before its block")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call is answered once."""
    for _, _, results in request.blocks():
        for where, name in repeated(results):
            yield Fault(where, f"a second result for {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Two calls of one message have two ids; a later message may use one again."""
    for where, calls, _ in request.blocks():
        for _, name in repeated((where, call) for call in calls):
            yield Fault(where, f"two calls {name!r} in one message")


def null_content(request: Request) -> Iterator[Fault]:
    """Content is absent or null only in an assistant message that has something else."""
    for where, message in request.messages():
        role = message.get("role")
        instead = role == "assistant" and any(
            message.get(key) is not None for key in ("tool_calls", "function_call", "refusal", "audio")
        )
        if message.get("content") is None and not instead and role != "function":
            yield Fault(where, "content is null")


def empty_content_array(request: Request) -> Iterator[Fault]:
    """A list of parts has one."""
    for where, message in request.messages():
        if message.get("content") == []:
            yield Fault(f"{where}.content", "empty array")


def empty_tool_calls(request: Request) -> Iterator[Fault]:
    """A list of calls has one."""
    for where, message in request.messages():
        if message.get("tool_calls") == []:
            yield Fault(f"{where}.tool_calls", "empty array")


def empty_text(request: Request) -> Iterator[Fault]:
    """A user message has text (careless)."""
    for where, message in request.messages():
        if message.get("role") == "user" and message.get("content") == "":
            yield careless(f"{where}.content", "empty text")
    for where, role, part in request.parts():
        if role == "user" and part.get("type") == "text" and part.get("text") == "":
            yield careless(where, "empty text")


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types that the SDK gives it."""
    yield from body_faults(request.body)


def arguments_json(request: Request) -> Iterator[Fault]:
    """Arguments are the text of a JSON object (careless)."""
    for where, call in request.calls():
        called = call.get("function")
        arguments = called.get("arguments") if isinstance(called, dict) else None
        if isinstance(arguments, str) and not is_object(arguments):
            yield careless(where, "arguments that are no JSON object")


def is_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def image_role(request: Request) -> Iterator[Fault]:
    """Media come from the user only (careless)."""
    for where, role, part in request.parts():
        if role != "user" and part.get("type") in ("image_url", "input_audio", "file"):
            yield careless(where, f"media from {role!r}")


def audio_model(request: Request) -> Iterator[Fault]:
    """Only an audio model accepts sound."""
    for where, _, part in request.parts():
        if part.get("type") == "input_audio" and request.model is not None and "audio" not in request.model:
            yield Fault(where, f"audio for {request.model}")


def role(request: Request) -> Iterator[Fault]:
    """The first o1 models accept no system or developer message."""
    early = re.match(r"o1-(mini|preview)", request.model or "")
    for where, message in request.messages():
        if early and message.get("role") in ("system", "developer"):
            yield Fault(where, f"{message['role']!r} for {request.model}")


def tool_call_id(request: Request) -> Iterator[Fault]:
    """An id is a string of at most forty characters."""
    ids = [(where, call.get("id")) for where, call in request.calls()]
    ids += [(where, message.get("tool_call_id")) for where, message in request.messages()]
    for where, name in ids:
        if name is not None and (not isinstance(name, str) or len(name) > ID_LENGTH):
            yield Fault(where, f"not an id of at most {ID_LENGTH} characters")


def tool_name(request: Request) -> Iterator[Fault]:
    """A tool's name is of letters, digits, underscores and hyphens, at most 64 of them; a dot is careless."""
    for where, tool in (*request.calls(), *objects(request.body.get("tools"), "tools")):
        named = tool.get("function") or tool.get("custom")
        name = named.get("name") if isinstance(named, dict) else None
        if isinstance(name, str) and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            dotted = re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) is not None
            yield Fault(where, f"{name!r} names no tool", careless=dotted)


def message_name(request: Request) -> Iterator[Fault]:
    """A speaker's name has no space, slash, bar or angle; more than letters, digits, ``_`` and ``-`` is careless."""
    for where, message in request.messages():
        name = message.get("name")
        if isinstance(name, str) and not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
            yield Fault(
                where, f"{name!r} is not a valid name", careless=re.fullmatch(r"[^\s<|\\/>]+", name) is not None
            )


def functions_while_reasoning(request: Request) -> Iterator[Fault]:
    """From gpt-5.6 on, there are functions only with the effort "none"."""
    version = re.fullmatch(r"gpt-(\d+)(?:\.(\d+))?(?:-.*)?", request.model or "")
    is_newer = version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)
    for where, tool in objects(request.body.get("tools"), "tools"):
        if is_newer and tool.get("type") == "function" and request.body.get("reasoning_effort") != "none":
            yield Fault(where, f"a function for {request.model}, which reasons")


RULES: tuple[Rule[Request], ...] = (
    functions_while_reasoning,
    empty_history,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    null_content,
    empty_content_array,
    empty_tool_calls,
    empty_text,
    shape,
    arguments_json,
    image_role,
    audio_model,
    role,
    tool_call_id,
    tool_name,
    message_name,
)


def check(body: Json, model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body, model))
