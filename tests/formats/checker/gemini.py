"""The rules of Gemini generateContent (docs/provider-rules.md, G).

A body does not show whether a thought signature is genuine.
"""

import re
from collections.abc import Iterator

from tests.formats.checker.gemini_request import DATA, Request, Turn, body_faults
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, objects, repeated, run

# The first version that wants its thought signatures back.
SIGNED = 3


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one content."""
    if not request.contents:
        yield Fault("contents", "empty")


def system_parts(request: Request) -> Iterator[Fault]:
    """A system instruction contains only text (careless)."""
    for where, part in request.system:
        if "text" not in part:
            yield careless(where, "a system part that is not a text")


def role(request: Request) -> Iterator[Fault]:
    """A role is the user's or the model's; none, and that of a function, are careless."""
    for where, content in request.contents:
        found = content.get("role")
        if found not in ("user", "model"):
            yield Fault(where, f"{found!r} is not a role", careless=found in (None, "function"))


def function_call_turn(request: Request) -> Iterator[Fault]:
    """Calls come directly after a user's turn."""
    if request.turns and request.turns[0].role == "model" and request.turns[0].calls():
        yield Fault(request.turns[0].where, "the history begins with a call")


def function_response_turn(request: Request) -> Iterator[Fault]:
    """Responses come directly after calls."""
    for before, turn in request.neighbours():
        if turn.role == "user" and turn.responses() and not (before and before.calls()):
            yield Fault(turn.where, "no call directly before it")


def function_parity(request: Request) -> Iterator[Fault]:
    """There are as many responses as calls."""
    for turn, after in request.exchanges():
        calls, responses = len(turn.calls()), len(after.responses()) if after else 0
        if calls and calls != responses:
            yield Fault(turn.where, f"{calls} calls and {responses} responses")


def tool_result_not_first(request: Request) -> Iterator[Fault]:
    """Responses come first in their turn."""
    for turn in request.turns:
        other = False
        for where, part in turn.parts if turn.role == "user" else []:
            if "functionResponse" in part and other:
                yield Fault(where, "a functionResponse after something else")
            other = other or "functionResponse" not in part


def function_response_mixed(request: Request) -> Iterator[Fault]:
    """Responses have a turn of their own (careless)."""
    for turn in request.turns:
        if turn.role == "user" and 0 < len(turn.responses()) < len(turn.parts):
            yield careless(turn.where, "responses and something else in one turn")


def function_names(request: Request) -> Iterator[Fault]:
    """A response has the name of its call (careless)."""
    for where, call, response in request.pairs():
        if call.get("name") != response.get("name"):
            yield careless(where, f"{response.get('name')!r} answers {call.get('name')!r}")


def function_order(request: Request) -> Iterator[Fault]:
    """Responses are in the order of their calls (careless)."""
    for turn, after in request.exchanges():
        asked = [call.get("id") for _, call in turn.calls()]
        given = [response.get("id") for _, response in after.responses()] if after else []
        if asked != given and sorted(map(str, asked)) == sorted(map(str, given)):
            yield careless(turn.where, "responses in another order")


def function_ids(request: Request) -> Iterator[Fault]:
    """Responses have the ids of their calls, or neither has any (careless)."""
    for turn, after in request.exchanges():
        asked = {str(call.get("id")) for _, call in turn.calls()}
        given = {str(response.get("id")) for _, response in after.responses()} if after else asked
        if asked != given:
            yield careless(turn.where, "ids of calls and responses differ")


def last_role(request: Request) -> Iterator[Fault]:
    """The user speaks last (careless)."""
    if request.turns and request.turns[-1].role == "model":
        yield careless(request.turns[-1].where, "the model speaks last")


def tool_role(request: Request) -> Iterator[Fault]:
    """The model makes calls, the user sends responses."""
    for turn in request.turns:
        for where, _ in turn.responses() if turn.role == "model" else turn.calls():
            yield Fault(where, f"not from {turn.role!r}")


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types that the SDK gives it."""
    yield from body_faults(request.body)


def empty_parts(request: Request) -> Iterator[Fault]:
    """A content has a part."""
    for where, content in request.contents:
        if content.get("parts") in (None, []):
            yield Fault(f"{where}.parts", "empty")


def part_data(request: Request) -> Iterator[Fault]:
    """A part has one kind of data; a signature may be alone."""
    for where, part in request.parts():
        kinds = sorted(DATA & part.keys())
        if len(kinds) > 1 or (not kinds and "thoughtSignature" not in part):
            yield Fault(where, f"data: {kinds}")


def empty_text(request: Request) -> Iterator[Fault]:
    """A text has text, but for one that carries a signature (careless)."""
    for where, part in (*request.parts(), *request.system):
        if part.get("text") == "" and not part.get("thoughtSignature"):
            yield careless(where, "empty text")


def tool_name(request: Request) -> Iterator[Fault]:
    """A function has a name; one that a declaration could not have is careless."""
    for turn in request.turns:
        for where, called in (*turn.calls(), *turn.responses()):
            name = called.get("name")
            if not name:
                yield Fault(where, "no name")
            elif not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", str(name)):
                yield careless(where, f"{name!r} names no function")


def media_resolution(request: Request) -> Iterator[Fault]:
    """A part has no mediaResolution in v1beta."""
    for where, part in request.parts():
        if "mediaResolution" in part:
            yield Fault(f"{where}.mediaResolution", "unknown key")


def tool_declared_twice(request: Request) -> Iterator[Fault]:
    """Functions have different names."""
    declared = [pair for where, tool in request.tools for pair in objects(tool.get("functionDeclarations"), where)]
    for where, name in repeated((where, function.get("name")) for where, function in declared):
        yield Fault(where, f"a second function {name!r}")


def thought_signature(request: Request) -> Iterator[Fault]:
    """From Gemini 3 on the first call of each step since the user last spoke has its signature."""
    version = re.search(r"gemini-(\d+)", request.model or "")
    if version is None or int(version[1]) < SIGNED:
        return
    for turn in since_the_user_spoke(request.turns):
        first = next(((where, part) for where, part in turn.parts if "functionCall" in part), None)
        if first is not None and not first[1].get("thoughtSignature"):
            yield Fault(first[0], "the first call of a step has no thoughtSignature")


def since_the_user_spoke(turns: list[Turn]) -> list[Turn]:
    """Return the model's turns after the last turn of the user's that has no responses."""
    spoken = [index for index, turn in enumerate(turns) if turn.role == "user" and not turn.responses()]
    return [turn for turn in turns[spoken[-1] if spoken else 0 :] if turn.role == "model"]


RULES: tuple[Rule[Request], ...] = (
    empty_history,
    system_parts,
    role,
    function_call_turn,
    function_response_turn,
    function_parity,
    tool_result_not_first,
    function_response_mixed,
    function_names,
    function_order,
    function_ids,
    last_role,
    tool_role,
    shape,
    empty_parts,
    part_data,
    empty_text,
    tool_name,
    media_resolution,
    tool_declared_twice,
    thought_signature,
)


def check(body: Json, model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body, model))
