"""The rules of Anthropic Messages (docs/provider-rules.md, A): turns, calls and results.

A body does not show whether a signature is genuine, and whether the latest thinking blocks were changed.
"""

from collections.abc import Iterator
from typing import Any

from tests.formats.checker.anthropic_content import CONTENT_RULES
from tests.formats.checker.anthropic_request import CALLS, Request, Turn, is_paused, is_served
from tests.formats.checker.problem import Fault, Json, Problem, Rule, careless, repeated, run

# From these versions on.
NO_PREFILL, SYSTEM_MESSAGES = (4, 6), (4, 8)
# What the API compares, in its place, with what it signed.
SIGNED = ("thinking", "redacted_thinking", "connector_text")


def empty_history(request: Request) -> Iterator[Fault]:
    """There is at least one message."""
    if request.body.get("messages") == []:
        yield Fault("messages", "empty")


def alternation(request: Request) -> Iterator[Fault]:
    """User and assistant take turns (careless: the API merges)."""
    for (_, one), (where, other) in zip(request.messages, request.messages[1:], strict=False):
        if one.get("role") == other.get("role"):
            yield careless(where, f"a second message of {other.get('role')!r} in a row")


def first_role(request: Request) -> Iterator[Fault]:
    """The user speaks first (careless)."""
    first = request.turns[0] if request.turns else None
    if (
        first is not None
        and first.role == "assistant"
        and [block.get("type") for _, block in first.blocks[:1]] != ["compaction"]
    ):
        yield careless("messages[0]", "the assistant speaks first")


def tool_call_unanswered(request: Request) -> Iterator[Fault]:
    """Each call has its result in the turn directly after it."""
    for asked, answer in request.exchanges():
        answered = [name for _, name in answer.ids("tool_result", "tool_use_id")] if answer else []
        for where, name in asked.ids("tool_use", "id") if asked else []:
            if name not in answered:
                yield Fault(where, f"no tool_result for {name!r} in the next turn")


def tool_result_orphan(request: Request) -> Iterator[Fault]:
    """Each result has its call in the turn directly before it."""
    for asked, answer in request.exchanges():
        calls = [name for _, name in asked.ids("tool_use", "id")] if asked else []
        for where, name in answer.ids("tool_result", "tool_use_id") if answer else []:
            if name not in calls:
                yield Fault(where, f"no tool_use {name!r} in the turn before")


def tool_result_duplicate(request: Request) -> Iterator[Fault]:
    """A call has one result."""
    for turn in request.turns:
        for where, name in repeated(turn.ids("tool_result", "tool_use_id")):
            yield Fault(where, f"a second tool_result for {name!r}")


def tool_call_duplicate(request: Request) -> Iterator[Fault]:
    """Calls of one turn have different ids; the same id in a later turn is careless."""
    before: set[Any] = set()
    for turn in request.turns:
        ids = turn.ids("tool_use", "id")
        for where, name in repeated(ids):
            yield Fault(where, f"two calls {name!r} in one turn")
        for where, name in ids:
            if str(name) in before:
                yield careless(where, f"{name!r} was called before")
        before.update(str(name) for _, name in ids)


def server_tool_after_call(request: Request) -> Iterator[Fault]:
    """A server's tool comes before the client's calls, unless something in between is signed as thinking is."""
    for turn in request.turns:
        called = False
        for where, block in turn.blocks:
            kind = block.get("type")
            if called and (kind in CALLS or is_served(block)):
                yield Fault(where, f"{kind!r} after a tool_use")
            called = kind == "tool_use" or (called and kind not in SIGNED)


def tool_result_not_first(request: Request) -> Iterator[Fault]:
    """Results come first in their turn."""
    for turn in request.turns:
        other = False
        for where, block in turn.blocks:
            if block.get("type") == "tool_result" and other:
                yield Fault(where, "a tool_result after something else")
            other = other or block.get("type") != "tool_result"


def server_tool_unanswered(request: Request) -> Iterator[Fault]:
    """A server's tool has its result before the user speaks again; the last turn may wait for it.

    Until then the assistant's turns have its result, or calls that it made.
    """
    *past, _ = request.stretches()
    for stretch in past:
        answered = [block.get("tool_use_id") for turn in stretch for _, block in turn.served()]
        for where, block in [pair for turn in stretch for pair in turn.of(*CALLS)]:
            if block.get("id") not in answered:
                yield Fault(where, f"no result for {block.get('id')!r} in its turn")
    for stretch in request.stretches():
        waiting: dict[Any, str] = {}
        for turn in stretch:
            results = {_id(block.get("tool_use_id")) for _, block in turn.served()}
            callers = [block.get("caller") for _, block in turn.blocks]
            going_on = results | {_id(caller.get("tool_id")) for caller in callers if isinstance(caller, dict)}
            for name, where in waiting.items():
                if name not in going_on:
                    yield Fault(where, f"the turn went on without {name!r}")
            waiting |= {_id(block.get("id")): where for where, block in turn.of(*CALLS)}
            waiting = {name: where for name, where in waiting.items() if name not in results}


def _id(value: Any) -> str:
    """Return an id that can be looked up, whatever is in its place."""
    return value if isinstance(value, str) else repr(value)


def server_tool_orphan(request: Request) -> Iterator[Fault]:
    """A server's result has its call before it in its turn."""
    for stretch in request.stretches():
        calls = set()
        for where, block in [pair for turn in stretch for pair in turn.blocks]:
            if block.get("type") in CALLS:
                calls.add(block.get("id"))
            elif is_served(block) and block.get("tool_use_id") not in calls:
                yield Fault(where, f"no call {block.get('tool_use_id')!r} before it in its turn")


def fallback_declined(request: Request) -> Iterator[Fault]:
    """Before the last takeover of a turn there is no thinking, and no call that has no result there."""
    for turn in request.turns:
        kinds = [block.get("type") for _, block in turn.blocks]
        if "fallback" not in kinds:
            continue
        before = turn.blocks[: len(kinds) - 1 - kinds[::-1].index("fallback")]
        answered = [block.get("tool_use_id") for _, block in before if is_served(block)]
        for where, block in before:
            kind = block.get("type")
            is_given_up = kind in CALLS and block.get("id") not in answered
            if is_given_up or kind in ("thinking", "redacted_thinking", "tool_use"):
                yield Fault(where, f"{kind!r} of a model that declined")


def compaction_not_first(request: Request) -> Iterator[Fault]:
    """Nothing stands before a signed compaction that has a summary."""
    blocks = [pair for turn in request.turns for pair in turn.blocks]
    for where, block in blocks[1:]:
        if block.get("type") == "compaction" and block.get("signature") and block.get("content"):
            yield Fault(where, "a compaction after something that it stands for")


def system_role(request: Request) -> Iterator[Fault]:
    """A system message exists on recent models, after a user's turn and before the assistant's or the end."""
    version = request.version()
    for before, turn, after in around(request.turns):
        if turn.role != "system":
            continue
        if version is not None and version < SYSTEM_MESSAGES:
            yield Fault(turn.where, f"a system message for {request.model}")
        follows = before is not None and (before.role == "user" or (bool(before.blocks) and is_paused(before)))
        if not follows or (after is not None and after.role != "assistant"):
            yield Fault(turn.where, "a system message not between a user's turn and the assistant's")


def around(turns: list[Turn]) -> Iterator[tuple[Turn | None, Turn, Turn | None]]:
    """Return each turn between its neighbours."""
    yield from zip([None, *turns], turns, [*turns[1:], None], strict=False)


def prefill(request: Request) -> Iterator[Fault]:
    """The history ends with the user, but for a paused turn; careless before version 4.6."""
    last, version = request.last(), request.version()
    if last and not is_paused(last):
        yield Fault(last.where, "the assistant speaks last", careless=version is None or version < NO_PREFILL)


def tool_role(request: Request) -> Iterator[Fault]:
    """The assistant makes calls, the user sends results."""
    for turn in request.turns:
        wrong = "tool_result" if turn.role == "assistant" else "tool_use"
        for where, _ in turn.of(wrong):
            yield Fault(where, f"{wrong!r} from {turn.role!r}")


def history_elsewhere(request: Request) -> Iterator[Fault]:
    """The history is in the body (careless: the API adds what a thread has)."""
    if request.body.get("thread") is not None:
        yield careless("thread", "a history outside of the body")


RULES: tuple[Rule[Request], ...] = (
    history_elsewhere,
    empty_history,
    alternation,
    first_role,
    tool_call_unanswered,
    tool_result_orphan,
    tool_result_duplicate,
    tool_call_duplicate,
    server_tool_after_call,
    tool_result_not_first,
    server_tool_unanswered,
    server_tool_orphan,
    fallback_declined,
    compaction_not_first,
    system_role,
    prefill,
    tool_role,
    *CONTENT_RULES,
)


def check(body: Json, model: str | None) -> list[Problem]:
    """Return what the API would refuse in a body."""
    return run(RULES, Request(body, model))
