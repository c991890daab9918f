"""The rules of the servers that speak Chat Completions (docs/provider-rules.md, D): what each adds to OpenAI's."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker import openai_chat
from tests.formats.checker.openai_chat import Request
from tests.formats.checker.openai_chat_shape import CALLED
from tests.formats.checker.problem import Fault, Json, Problem, Rule, key_faults, objects, run, shape_of

TEXT = {"text": shape_of("type! text!")}
PICTURE = {"image_url": shape_of("type! image_url!")}
SOUND = {"input_audio": shape_of("type! input_audio!")}
FILE = {"file": shape_of("type! file!")}
DOCUMENT = {"document_url": shape_of("type! document_url!")}
SIGNING_SINCE = 3


def system_first(request: Request) -> Iterator[Fault]:
    """Only the first message is a system message (rule D16)."""
    for index, (where, message) in enumerate(request.messages()):
        if index and message.get("role") == "system":
            yield Fault(where, "a system message after the first message")


def alternation(request: Request) -> Iterator[Fault]:
    """User and assistant take turns, the user first; results come between two messages of the assistant's."""
    said = [(where, role(message)) for where, message in request.messages() if role(message) not in ("system", "tool")]
    before = "assistant"
    for where, who in said:
        if who == before and not follows_results(request, where):
            yield Fault(where, f"another message of the {who}'s")
        before = who


def follows_results(request: Request, wanted: str) -> bool:
    """Whether the message at a place directly follows a result."""
    before = ""
    for where, message in request.messages():
        if where == wanted:
            return before == "tool"
        before = role(message)
    return False


def role(message: Json) -> str:
    """Return a message's role."""
    return str(message.get("role"))


def tool_then_user(request: Request) -> Iterator[Fault]:
    """The assistant speaks between a result and the user's words (rules D10 and D12)."""
    before = ""
    for where, message in request.messages():
        if before == "tool" and role(message) == "user":
            yield Fault(where, "Unexpected role 'user' after role 'tool'")
        before = role(message)


def last_message(request: Request) -> Iterator[Fault]:
    """The last message is the user's or a tool's (rule D12)."""
    messages = list(request.messages())
    if messages and role(messages[-1][1]) == "assistant":
        yield Fault(messages[-1][0], "Expected last role User or Tool")


def short_call_id(request: Request) -> Iterator[Fault]:
    """An id is of nine letters and digits (rule D11)."""
    yield from id_faults(request, r"[a-zA-Z0-9]{9}")


def kept_call_id(request: Request) -> Iterator[Fault]:
    """An id is such as the model makes, or as everybody takes it (rule D6)."""
    yield from id_faults(request, r"[a-zA-Z0-9_.:-]{1,64}")


def id_faults(request: Request, pattern: str) -> Iterator[Fault]:
    """Find the ids that do not match."""
    ids = [(where, call.get("id")) for where, call in request.calls()]
    ids += [(where, message.get("tool_call_id")) for where, message in request.messages() if role(message) == "tool"]
    for where, found in ids:
        if not isinstance(found, str) or not re.fullmatch(pattern, found):
            yield Fault(where, f"{found!r} is not such an id")


def empty_message(request: Request) -> Iterator[Fault]:
    """Every message has content that is not null, and not empty unless it has calls or is a result (rule D15)."""
    for where, message in request.messages():
        content = message.get("content")
        if content is None or (content in ("", []) and not message.get("tool_calls") and role(message) != "tool"):
            yield Fault(where, "no content")


def reasoning_required(request: Request) -> Iterator[Fault]:
    """Every message of the assistant's has ``reasoning_content``, if only an empty text (rule D3)."""
    for where, message in request.messages():
        if role(message) == "assistant" and not isinstance(message.get("reasoning_content"), str):
            yield Fault(where, "the reasoning_content must be passed back")


def reasoning_of_calls(request: Request) -> Iterator[Fault]:
    """A message with calls has ``reasoning_content`` that is not empty (rule D5)."""
    for where, message in request.messages():
        if message.get("tool_calls") and not message.get("reasoning_content"):
            yield Fault(where, "reasoning_content is missing in assistant tool call message")


def no_null_content(request: Request) -> Iterator[Fault]:
    """No content is null, beside calls too (rule D24)."""
    for where, message in request.messages():
        if message.get("content") is None:
            yield Fault(where, "`text` is not present")


def reasoning_outside_loop(request: Request) -> Iterator[Fault]:
    """Reasoning is sent in a tool loop only, unless the request says otherwise (rules D3 and D7)."""
    thinking = request.body.get("thinking")
    kept = isinstance(thinking, dict) and thinking.get("clear_thinking") is False
    if kept or request.body.get("preserve_thinking") is True:
        return
    messages = list(request.messages())
    for index, (where, message) in enumerate(messages):
        reasoned = message.get("reasoning_content") or message.get("reasoning_details")
        if reasoned and not in_loop([found for _, found in messages], index):
            yield Fault(where, "reasoning outside of a tool loop")


def in_loop(messages: list[Json], index: int) -> bool:
    """Whether a message is between two of the user's among which there is a call."""
    start = next((n for n in range(index, -1, -1) if role(messages[n]) == "user"), -1) + 1
    end = next((n for n in range(index, len(messages)) if role(messages[n]) == "user"), len(messages))
    return any(message.get("tool_calls") for message in messages[start:end])


def call_signature(request: Request) -> Iterator[Fault]:
    """From Gemini 3 on, the first call of a message has a signature, and every signature is a text (rule D9)."""
    version = re.search(r"gemini-(\d+)", request.model or "")
    required = version is None or int(version[1]) >= SIGNING_SINCE
    for where, message in request.messages():
        for index, (place, call) in enumerate(objects(message.get("tool_calls"), where)):
            google = (call.get("extra_content") or {}).get("google") if isinstance(call, dict) else None
            if required and index == 0 and not (isinstance(google, dict) and google.get("thought_signature")):
                yield Fault(place, "Function call is missing a thought_signature")


def picture_bytes(request: Request) -> Iterator[Fault]:
    """A picture is a data URL of a PNG or a JPEG (rule D20)."""
    for where, _, part in request.parts():
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else None
        if part.get("type") == "image_url" and not str(url).startswith(("data:image/png;", "data:image/jpeg;")):
            yield Fault(where, "'url' field must be a base64 encoded image")


def picture_data(request: Request) -> Iterator[Fault]:
    """A picture is a data URL (rule D21)."""
    for where, _, part in request.parts():
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else None
        if part.get("type") == "image_url" and not str(url).startswith("data:"):
            yield Fault(where, "not a data URL")


class Server(NamedTuple):
    """What a server has that others have not.

    Args:
        rules: its own rules.
        keys: the keys of an assistant's message beside role, content, name and calls.
        call_keys: the keys of a call beside id, type and function.
        parts: the types of parts, with their keys.
        roles: the roles of instructions.
        names: whether messages have names.
    """

    rules: tuple[Rule[Request], ...] = ()
    keys: str = ""
    call_keys: str = ""
    parts: dict[str, Any] = {**TEXT, **PICTURE}  # noqa: RUF012 - nobody changes it
    names: bool = True


LOCAL = (system_first, alternation)
THINKING = {"thinking": shape_of("type! thinking! closed signature")}
GEMINI = Server(
    (*LOCAL, tool_then_user, call_signature),
    "extra_content",
    "extra_content",
    {**TEXT, **PICTURE, **SOUND},
    names=False,
)
SERVERS = {
    "deepseek": Server((reasoning_required, reasoning_outside_loop), "reasoning_content", parts=TEXT),
    "kimi": Server((reasoning_of_calls, kept_call_id, picture_data), "reasoning_content"),
    "qwen": Server((reasoning_outside_loop,), "reasoning_content", names=False),
    "glm": Server((reasoning_outside_loop,), "reasoning_content", names=False),
    "minimax": Server((reasoning_outside_loop,), "reasoning_details", names=False),
    "mimo": Server((reasoning_of_calls, no_null_content), "reasoning_content", names=False),
    "openrouter": Server((), "reasoning reasoning_details", parts={**TEXT, **PICTURE, **SOUND, **FILE}),
    "gemini": GEMINI,
    "mistral": Server(
        (system_first, tool_then_user, last_message, short_call_id),
        parts={**TEXT, **PICTURE, **DOCUMENT, **THINKING},
        names=False,
    ),
    "xai": Server((empty_message,)),
    "perplexity": Server((*LOCAL, tool_then_user), names=False),
    "vllm": Server(LOCAL, "reasoning", parts={**TEXT, **PICTURE, **SOUND}, names=False),
    "llama.cpp": Server(LOCAL, "reasoning_content", parts={**TEXT, **PICTURE, **SOUND}, names=False),
    "lm-studio": Server((*LOCAL, picture_bytes), names=False),
    "vertex": GEMINI,
    "ai-studio": GEMINI,
}
# Rules of OpenAI's that do not depend on the server.
COMMON = tuple(
    rule
    for rule in openai_chat.RULES
    if rule not in (openai_chat.shape, openai_chat.tool_call_id, openai_chat.role, openai_chat.audio_model)
)


def check_dialect(dialect: str, body: Json, model: str | None = None) -> list[Problem]:
    """List what a server would refuse in a body."""
    server = SERVERS[dialect]
    named = body.get("model")
    request = Request(body, model or (named if isinstance(named, str) else None))

    def dialect_shape(request: Request) -> Iterator[Fault]:
        """Only the keys, roles and parts that the server knows (rule D1)."""
        return shape_faults(server, request)

    return run((*COMMON, *server.rules, dialect_shape), request)


def shape_faults(server: Server, request: Request) -> Iterator[Fault]:
    """Find the keys, roles and parts that a server does not know."""
    name = " name" if server.names else ""
    shapes = {
        "system": shape_of("role! content!"),
        "user": shape_of(f"role! content!{name}"),
        "assistant": shape_of(f"role! content! tool_calls{name} {server.keys}"),
        "tool": shape_of("role! content! tool_call_id!"),
    }
    for where, message in request.messages():
        shape = shapes.get(role(message))
        if shape is None:
            yield Fault(where, f"unknown role {role(message)!r}")
            continue
        yield from key_faults(where, message, shape)
        for place, part in objects(message.get("content"), f"{where}.content"):
            kind = server.parts.get(str(part.get("type")))
            yield from key_faults(place, part, kind) if kind else [Fault(place, "a part of an unknown type")]
        for place, call in objects(message.get("tool_calls"), where):
            yield from key_faults(place, call, shape_of(f"id! type! function! {server.call_keys}"))
            called = call.get("function")
            yield from key_faults(place, called, CALLED["function"]) if isinstance(called, dict) else ()


RULES: tuple[str, ...] = (
    "dialect-shape",
    *sorted({rule.__name__.replace("_", "-") for server in SERVERS.values() for rule in server.rules}),
)
