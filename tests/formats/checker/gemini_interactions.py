"""The rules of Google's Interactions API (docs/provider-rules.md, I).

A body does not show whether a signature is genuine.
"""

import re
from collections.abc import Iterator

from tests.formats.checker.gemini_interactions_request import MEDIA, Request, Turn, body_faults
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, objects, repeated, run

# The first version that wants its signatures back.
SIGNED = 3


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one step."""
    if not request.steps:
        yield Fault("input", "empty")


def first_step(request: Request) -> Iterator[Fault]:
    """The user comes first: a call, and all else that the model makes, comes after what it answers."""
    if request.turns and request.turns[0].of_model:
        has_calls = bool(request.turns[0].calls())
        yield Fault(request.steps[0][0], "the history begins with the model", careless=not has_calls)


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has a result in the turn after it."""
    for before, turn in request.exchanges():
        given = [step.get("call_id") for _, step in turn.results()]
        for where, call in before.calls() if before else []:
            if call.get("id") not in given:
                yield Fault(where, f"no result of {call.get('id')!r}")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each result has a call in the turn before it."""
    for before, turn in request.exchanges():
        asked = [step.get("id") for _, step in before.calls()] if before else []
        for where, result in turn.results():
            if result.get("call_id") not in asked:
                yield Fault(where, f"no call {result.get('call_id')!r} before it")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call has one result."""
    for _, turn in request.exchanges():
        for where, name in repeated((where, step.get("call_id")) for where, step in turn.results()):
            yield Fault(where, f"a second result of {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Two calls of one turn have two ids; an id that was used in an earlier turn is careless."""
    seen: set[str] = set()
    for turn in request.turns:
        ids = [(where, step.get("id")) for where, step in turn.calls()]
        for where, name in repeated(ids):
            yield Fault(where, f"a second call {name!r}")
        for where, name in ids:
            if isinstance(name, str) and name in seen:
                yield careless(where, f"{name!r} was called in an earlier turn")
        seen.update(name for _, name in ids if isinstance(name, str))


def function_names(request: Request) -> Iterator[Fault]:
    """A result has the name of its call; another name is careless, none is refused."""
    for before, turn in request.exchanges():
        names = {str(step.get("id")): step.get("name") for _, step in before.calls()} if before else {}
        for where, result in turn.results():
            name = result.get("name")
            if not name:
                yield Fault(where, "no name")
            elif name != names.get(str(result.get("call_id")), name):
                yield careless(where, f"{name!r} is not the name of its call")


def tool_result_not_first(request: Request) -> Iterator[Fault]:
    """Results come before what the user says (careless)."""
    for turn in request.turns:
        said = False
        for where, step in turn.steps:
            if step.get("type") == "function_result" and said:
                yield careless(where, "a result after what the user says")
            said = said or step.get("type") == "user_input"


def server_tool_after_call(request: Request) -> Iterator[Fault]:
    """A tool of Google's comes before the client's calls, unless the model thought in between (careless)."""
    for turn in request.turns:
        called = False
        for where, step in turn.steps:
            kind = step.get("type")
            if called and turn.of_model and kind not in ("function_call", "thought", "model_output"):
                yield careless(where, "a step of a server's tool after a call")
            called = kind == "function_call" or (called and kind != "thought")


def thought_signature(request: Request) -> Iterator[Fault]:
    """A thought has its signature; from Gemini 3 on a turn begins with one unless it is nothing but text."""
    for where, step in request.steps:
        if step.get("type") == "thought" and not step.get("signature"):
            yield Fault(where, "a thought without a signature")
    version = re.search(r"gemini-(\d+)", request.model or "")
    if version is None or int(version[1]) < SIGNED:
        return
    for turn in request.turns:
        where, first = turn.steps[0]
        if turn.of_model and first.get("type") != "thought" and not is_text(turn):
            yield Fault(where, "a turn with calls or media that does not begin with a thought")


def is_text(turn: Turn) -> bool:
    """Whether a turn consists of texts."""
    parts = [part for where, step in turn.steps for _, part in objects(step.get("content"), where)]
    return all(step.get("type") == "model_output" for _, step in turn.steps) and all(
        str(part.get("type")) not in MEDIA for part in parts
    )


def thought_last(request: Request) -> Iterator[Fault]:
    """A turn does not end in a thought (careless)."""
    for turn in request.turns:
        if turn.steps[-1][1].get("type") == "thought":
            yield careless(turn.steps[-1][0], "the turn ends in a thought")


def server_tool_unanswered(request: Request) -> Iterator[Fault]:
    """A call of a server's tool has its result in the same turn."""
    for turn in request.turns:
        given = [step.get("call_id") for _, step in turn.steps if is_server_step(step, "_result")]
        for where, step in turn.steps:
            if is_server_step(step, "_call") and step.get("id") not in given:
                yield Fault(where, f"no result of {step.get('id')!r}")


def server_tool_orphan(request: Request) -> Iterator[Fault]:
    """A result of a server's tool has its call before it in the same turn."""
    for turn in request.turns:
        asked = []
        for where, step in turn.steps:
            if is_server_step(step, "_result") and step.get("call_id") not in asked:
                yield Fault(where, f"no call {step.get('call_id')!r} before it")
            if is_server_step(step, "_call"):
                asked.append(step.get("id"))


def is_server_step(step: Json, ending: str) -> bool:
    """Whether a step is that of a tool of the server's, and half of a call."""
    kind = str(step.get("type"))
    return kind.endswith(ending) and not kind.startswith("function_")


def empty_text(request: Request) -> Iterator[Fault]:
    """A text has text; a blank one is careless."""
    for where, part in request.contents():
        text = part.get("text", "x")
        if part.get("type") == "text" and isinstance(text, str) and not text.strip():
            yield Fault(where, "no text", careless=text != "")


def tool_name(request: Request) -> Iterator[Fault]:
    """A function has a name; one that a declaration could not have is careless."""
    for turn in request.turns:
        for where, step in turn.calls():
            name = step.get("name")
            if not name:
                yield Fault(where, "no name")
            elif not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", str(name)):
                yield careless(where, f"{name!r} names no function")


def tool_declared_twice(request: Request) -> Iterator[Fault]:
    """Functions have different names."""
    declared = [pair for pair in objects(request.body.get("tools"), "tools") if pair[1].get("type") == "function"]
    for where, name in repeated((where, tool.get("name")) for where, tool in declared):
        yield Fault(where, f"a second function {name!r}")


def last_role(request: Request) -> Iterator[Fault]:
    """The user comes last (careless)."""
    if request.turns and request.turns[-1].of_model:
        yield careless(request.turns[-1].steps[-1][0], "the model comes last")


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types that the SDK gives it."""
    yield from body_faults(request.body)


RULES: tuple[Rule[Request], ...] = (
    empty_history,
    first_step,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    function_names,
    tool_result_not_first,
    server_tool_after_call,
    thought_signature,
    thought_last,
    server_tool_unanswered,
    server_tool_orphan,
    empty_text,
    tool_name,
    tool_declared_twice,
    last_role,
    shape,
)


def check(body: Json, model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body, model))
