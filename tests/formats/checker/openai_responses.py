"""The rules of OpenAI Responses (docs/provider-rules.md, R).

A body does not show whether encrypted content can be verified, whether a stored item exists, and whether an
item that is sent with its `id` was made after a reasoning item that is missing here.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.formats.checker.openai_responses_shape import ROLES, body_faults, kind_of
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, objects, repeated, run

# By the kind of output: the kinds of call that it answers. A client's own tool search took a function's output.
CALLS = {
    "function_call_output": ("function_call", "tool_search_call"),
    "custom_tool_call_output": ("custom_tool_call",),
    "tool_search_output": ("tool_search_call",),
    "computer_call_output": ("computer_call",),
    "shell_call_output": ("shell_call",),
    "apply_patch_call_output": ("apply_patch_call",),
}
CALL_KINDS = frozenset(kind for kinds in CALLS.values() for kind in kinds)
PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg", "custom_tool_call": "ctc"}
SPOKEN = {"output_text", "refusal"}
HEARD = {"input_text", "input_image", "input_file"}
ID_LENGTH = 64


class Request(NamedTuple):
    """A body and the model that it goes to."""

    body: Json
    model: str | None

    def items(self) -> list[tuple[str, Json]]:
        """Return every item that is an object."""
        return list(objects(self.body.get("input"), "input"))

    def continues(self) -> bool:
        """Whether the history begins outside the body."""
        return any(self.body.get(key) for key in ("previous_response_id", "conversation", "prompt")) or any(
            kind_of(item) == "item_reference" for _, item in self.items()
        )

    def stored(self) -> bool:
        """Whether the server keeps, and so can look up, what it answers."""
        return self.body.get("store") is not False

    def reasoning(self) -> Iterator[tuple[str, Json, Json | None]]:
        """Return each reasoning item with the next item that is not one, last first."""
        after: Json | None = None
        for where, item in reversed(self.items()):
            if kind_of(item) == "reasoning":
                yield where, item, after
            else:
                after = item


class Pairs:
    """What a walk over the items finds about calls and their outputs."""

    def __init__(self, request: Request) -> None:
        self.open: dict[tuple[str, str], str] = {}
        self.orphans: list[tuple[str, str]] = []
        self.twice_answered: list[tuple[str, str]] = []
        self.twice_called: list[tuple[str, str]] = []
        self.called_again: list[tuple[str, str]] = []
        self.answered: set[tuple[str, str]] = set()
        for where, item in request.items():
            kind, name = kind_of(item), item.get("call_id")
            if isinstance(name, str) and item.get("execution") != "server":
                if kind in CALL_KINDS:
                    self.call(where, kind, name)
                elif kind in CALLS:
                    self.answer(where, kind, name)

    def call(self, where: str, kind: str, name: str) -> None:
        """Note a call."""
        if (kind, name) in self.open:
            self.twice_called.append((where, name))
        elif (kind, name) in self.answered:
            self.called_again.append((where, name))
        self.open[kind, name] = where

    def answer(self, where: str, kind: str, name: str) -> None:
        """Note an output, which closes the call that it matches."""
        fitting = [(call, name) for call in CALLS[kind]]
        for call in fitting:
            if call in self.open:
                del self.open[call]
                self.answered.add(call)
                return
        twice = any(call in self.answered for call in fitting)
        (self.twice_answered if twice else self.orphans).append((where, name))


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one item, here or where the body continues."""
    if request.body.get("input") in (None, []) and not request.continues():
        yield Fault("input", "empty")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has an output of its kind, wherever after it."""
    asynchronous = {item.get("call_id") for _, item in request.items() if item.get("async") is True}
    for (kind, name), where in Pairs(request).open.items():
        if name not in asynchronous:
            yield Fault(where, f"no output of its kind for {kind} {name!r}", careless=kind == "tool_search_call")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each output has a call of its kind before it."""
    for where, name in Pairs(request).orphans:
        if not request.continues():
            yield Fault(where, f"no call of its kind {name!r} before it")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call has one output."""
    for where, name in Pairs(request).twice_answered:
        yield Fault(where, f"a second output for {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Two open calls have two ids; one used again after its output is careless."""
    pairs = Pairs(request)
    for where, name in pairs.twice_called:
        yield Fault(where, f"{name!r} is called and still open")
    for where, name in pairs.called_again:
        yield careless(where, f"{name!r} was called before")


def tool_call_id(request: Request) -> Iterator[Fault]:
    """A call's id has 1 to 64 characters."""
    for where, item in request.items():
        name = item.get("call_id")
        if isinstance(name, str) and not 1 <= len(name) <= ID_LENGTH:
            yield Fault(where, f"a call_id of {len(name)} characters")


def tool_name(request: Request) -> Iterator[Fault]:
    """A tool's name is one that Chat Completions accepts (careless: the rule is not documented for this API)."""
    for where, item in (*request.items(), *objects(request.body.get("tools"), "tools")):
        name = item.get("name")
        if kind_of(item) in ("function_call", "function") and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(name)):
            yield careless(where, f"{name!r} names no tool")


def item_id(request: Request) -> Iterator[Fault]:
    """An item's id is short, plain and begins with the prefix of its kind."""
    for where, item in request.items():
        name, prefix = item.get("id"), PREFIXES.get(kind_of(item), "")
        if name is None:
            continue
        plain = isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        if not plain or not str(name).startswith(prefix):
            yield Fault(where, f"{name!r} is no id that begins with {prefix!r}")


def item_id_duplicate(request: Request) -> Iterator[Fault]:
    """No two items have one id; messages that are not stored may (careless)."""
    for where, name in repeated((where, item.get("id")) for where, item in request.items()):
        yield Fault(where, f"a second item {name!r}", careless=name.startswith("msg") and not request.stored())


def compaction_not_first(request: Request) -> Iterator[Fault]:
    """Only the user's messages stand before a compaction (careless: anything else is read and billed again)."""
    made = False
    for where, item in request.items():
        if made and item.get("type") == "compaction":
            yield careless(where, "a compaction after something that it stands for")
        made = made or kind_of(item) != "message" or item.get("role") == "assistant"


def part_role(request: Request) -> Iterator[Fault]:
    """The assistant has output parts, all others input parts."""
    for where, item in request.items():
        if kind_of(item) == "message":
            fitting = SPOKEN if item.get("role") == "assistant" else HEARD
            for place, part in objects(item.get("content"), f"{where}.content"):
                if part.get("type") not in fitting:
                    yield Fault(place, f"{part.get('type')!r} in a message of {item.get('role')!r}")


def role(request: Request) -> Iterator[Fault]:
    """There are four roles; tool is not one of them."""
    for where, item in request.items():
        if kind_of(item) == "message" and item.get("role") not in ROLES:
            yield Fault(where, f"{item.get('role')!r} is no role")


def empty_content_array(request: Request) -> Iterator[Fault]:
    """A list of parts has one."""
    for where, item in request.items():
        if kind_of(item) == "message" and item.get("content") == []:
            yield Fault(f"{where}.content", "empty array")


def shape(request: Request) -> Iterator[Fault]:
    """Everything has the keys and types that the SDK gives it."""
    yield from body_faults(request.body)


def arguments_json(request: Request) -> Iterator[Fault]:
    """Arguments are the text of a JSON object (careless)."""
    for where, item in request.items():
        arguments = item.get("arguments")
        if kind_of(item) == "function_call" and isinstance(arguments, str):
            try:
                parsed = json.loads(arguments)
            except (ValueError, RecursionError):
                parsed = None
            if not isinstance(parsed, dict):
                yield careless(where, "arguments that are no JSON object")


def reasoning_unpaired(request: Request) -> Iterator[Fault]:
    """After a reasoning item comes what the model made next, with its id if the server looks ids up.

    `o3-mini` accepted a lone reasoning item.
    """
    lenient = (request.model or "").startswith("o3-mini")
    for where, item, after in request.reasoning():
        kind = kind_of(after) if after else "nothing"
        made = kind.endswith("_call") or kind in ("compaction", "item_reference", "mcp_approval_request", "program")
        made = made or kind in ("mcp_list_tools", "tool_search_output")
        if after and kind == "message" and after.get("role") == "assistant":
            looked_up = request.stored() and item.get("id") is not None
            made = after.get("id") is not None or not looked_up
        if not made:
            yield Fault(where, f"{kind} after it is not what the model made", careless=lenient)


def reasoning_not_stored(request: Request) -> Iterator[Fault]:
    """A reasoning item that is not stored has its encrypted content."""
    if request.stored():
        return
    for where, item in request.items():
        bare = kind_of(item) == "reasoning" and not item.get("encrypted_content")
        if bare or kind_of(item) == "item_reference":
            yield Fault(where, "nothing of it is kept where store is false")


def reasoning_output_only(request: Request) -> Iterator[Fault]:
    """A reasoning item comes back without its status and its content."""
    for where, item in request.items():
        if kind_of(item) == "reasoning" and "status" in item:
            yield Fault(f"{where}.status", "unknown key")
        if kind_of(item) == "reasoning" and item.get("content"):
            yield Fault(f"{where}.content", "array too long")


def history_elsewhere(request: Request) -> Iterator[Fault]:
    """The history is in the body (careless: the API adds what it has stored, and bills both)."""
    for key in ("previous_response_id", "conversation"):
        if request.body.get(key) is not None:
            yield careless(key, "a history outside of the body")


RULES: tuple[Rule[Request], ...] = (
    history_elsewhere,
    empty_history,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    tool_call_id,
    tool_name,
    item_id,
    item_id_duplicate,
    compaction_not_first,
    part_role,
    role,
    empty_content_array,
    shape,
    arguments_json,
    reasoning_unpaired,
    reasoning_not_stored,
    reasoning_output_only,
)


def check(body: Json, model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body, model))
