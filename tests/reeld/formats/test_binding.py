"""Thinking that its model bound to what was before it goes back only behind that (rule A8)."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from tests.formats.checker import check
from tests.reeld.formats.histories import Json, call, entries_of, model, opaque, prompt_in, result, tool, user

MODELS = {"anthropic": "claude-opus-5-5", "bedrock-converse": "us.anthropic.claude-opus-5-5"}
TOOLS: dict[str, dict[str, Any]] = {
    "anthropic": {"tools": [{"name": "look", "input_schema": {"type": "object"}}]},
    "bedrock-converse": {"toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {}}}}]}},
}
CHANGED, UNKNOWN = "which has changed", "which is not known"
both = pytest.mark.parametrize("name", MODELS)


class Talk:
    """A conversation that is rendered, answered and rendered again, as a loop does it.

    Args:
        name: the format.
        model: the model.
    """

    def __init__(self, name: str, model: str | None = None) -> None:
        self.name = name
        self.model = model or MODELS[name]
        self.history: list[Any] = [{"role": "system", "content": "Be brief"}]
        self.kept: RenderState | None = None

    def render(self, **how: Any) -> Rendered:
        """Render it, as for the first time and as again, which is the same."""
        entries = entries_of(self.history)
        request = RenderRequest(self.name, self.model, **{"extra": TOOLS[self.name], **how})
        found, self.kept = render(request, entries, prompt_in(entries), self.kept)
        assert found == render(request, entries, prompt_in(entries))[0]
        assert not found.ready or [] == check(self.name.replace("-", "_"), json.loads(found.body), self.model)
        return found

    def answer(self, words: str, *, knows: bool = True, call: str | None = None, **how: Any) -> None:
        """Add an answer with thinking to what is rendered now."""
        prefix = self.render(**how).prefix.body
        found = _answered(self.name, self.model, words, call)
        self.history.append(read_response(self.name, found, self.model, prefix=prefix if knows else None)[0])

    def redact(self, place: int) -> None:
        """Redact a message; the daemon keeps no rendering of it."""
        self.history[place] = "[redacted]"
        self.kept = None

    def ask(self, words: str, **how: Any) -> None:
        """Add a question and its answer, whose thinking is signed with the question."""
        self.history.append(words)
        self.answer(words, **how)


def _answered(name: str, model: str, words: str, call: str | None) -> str:
    if name == "anthropic":
        blocks: list[Json] = [{"type": "thinking", "thinking": words, "signature": "c2ln"}]
        blocks += [{"type": "tool_use", "id": call, "name": "look", "input": {}}] if call else []
        blocks += [] if call else [{"type": "text", "text": f"{words}."}]
        return json.dumps({"role": "assistant", "model": model, "content": blocks, "stop_reason": "end_turn"})
    content: list[Json] = [{"reasoningContent": {"reasoningText": {"text": words, "signature": "c2ln"}}}]
    content += [{"toolUse": {"toolUseId": call, "name": "look", "input": {}}} if call else {"text": f"{words}."}]
    return json.dumps({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"})


def thoughts(found: Rendered) -> list[str]:
    """Return the thinking that is sent."""
    blocks = [block for message in json.loads(found.body)["messages"] for block in message["content"]]
    shown = [block.get("reasoningContent", {}).get("reasoningText", {}).get("text") for block in blocks]
    return [said for block, text in zip(blocks, shown, strict=True) if (said := block.get("thinking") or text)]


def reasons(found: Rendered) -> list[str]:
    """Return why something was dropped, in short."""
    return [change.why.split(", ", 1)[1].split(":")[0] for change in found.report if "bound" in change.why]


@both
def test_thinking_goes_back_behind_what_it_was_made_behind(name: str) -> None:
    """Through tool loops and turns, whatever was rendered in between."""
    talk = Talk(name)
    talk.ask("one")
    talk.ask("two", call="c1")
    talk.render(cache="5m")
    talk.history.append(tool(result("c1")))
    talk.answer("three")
    talk.history.append("And?")

    found = talk.render()
    assert ["one", "two", "three"] == thoughts(found)
    assert [] == reasons(found)


@both
@pytest.mark.parametrize("what", ["prompt", "tools", "message"])
def test_thinking_does_not_go_back_behind_something_else(name: str, what: str) -> None:
    """A changed prompt, other tools, or a redacted message; what is thought afterwards goes back."""
    talk = Talk(name)
    extra: dict[str, Any] = TOOLS[name]
    talk.ask("one")
    talk.ask("two")
    if what == "prompt":
        talk.history.append({"role": "system", "content": "Be long"})
    elif what == "tools":
        extra = json.loads(json.dumps(extra).replace("look", "find"))
    else:
        talk.redact(1)
    talk.history.append("three")

    found = talk.render(extra=extra)
    assert [] == thoughts(found)
    assert [CHANGED, CHANGED] == reasons(found)

    talk.answer("three", extra=extra)
    talk.ask("four", extra=extra)
    assert ["three", "four"] == thoughts(talk.render(extra=extra))


def test_an_instruction_keeps_what_a_new_prompt_takes() -> None:
    """It stands where it was given, behind the first prompt, and all thinking goes back (rules A8 and A10)."""
    talk = Talk("anthropic")
    talk.ask("one")
    talk.history.append(user("And?"))
    talk.history.append(user("Be long.", role="system", provider="anthropic"))

    found = talk.render()
    assert "system" == json.loads(found.body)["messages"][-1]["role"]
    assert ["one"] == thoughts(found)


@both
def test_a_change_costs_only_what_comes_after_it(name: str) -> None:
    """What was thought before a message that is changed later is still behind the same."""
    talk = Talk(name)
    for words in ("one", "two", "three"):
        talk.ask(words)
    talk.redact(3)

    assert ["one"] == thoughts(talk.render())


@both
def test_thinking_of_which_nothing_is_known_does_not_go_back(name: str) -> None:
    """It was imported, loaded, or added without the prefix; the reason says so."""
    talk = Talk(name)
    talk.ask("one", knows=False)
    talk.history.append("And?")

    assert [] == thoughts(talk.render())
    assert [UNKNOWN] == reasons(talk.render())
    talk.answer("two")
    assert ["two"] == thoughts(talk.render())


@both
def test_a_budget_takes_what_thinking_is_bound_to(name: str) -> None:
    """So none goes back behind the cut; the report says it."""
    talk = Talk(name)
    for number in range(9):
        talk.ask(f"{number} {'x' * 400}")
    talk.history.append("And?")
    whole, cut = talk.render(budget=10_000), talk.render(budget=900)

    assert 9 == len(thoughts(whole))
    assert [] == thoughts(cut)
    assert "thinking: it is bound to what was before it" in cut.report[-1].why


@both
def test_a_budget_that_cuts_no_thinking_reports_none(name: str) -> None:
    """Nothing was bound to what it leaves out."""
    talk = Talk(name)
    for number in range(9):
        talk.history += [f"{number} {'x' * 400}", model("OK")]
    talk.history.append("And?")

    assert 1 == len(talk.render(budget=900).report)


def test_a_budget_keeps_breakpoints() -> None:
    """They are where they were, also in a message that lost its thinking."""
    talk = Talk("anthropic")
    marked = {"provider": "anthropic", "cache_control": {"type": "ephemeral"}}
    for number in range(9):
        talk.history.append(user({"type": "text", "text": f"{number} {'x' * 400}", "provider_metadata": marked}))
        talk.answer(str(number))
        talk.history[-1]["content"][1]["provider_metadata"] = marked
    body = json.loads(talk.render(budget=900).body)
    blocks = [block for message in body["messages"] for block in message["content"]]

    assert 4 == sum("cache_control" in block for block in blocks)
    assert ["8 ", "8."] == [block["text"][:2] for block in blocks if "cache_control" in block][-2:]


@pytest.mark.parametrize("named", ["claude-opus-4-8", "claude-sonnet-5", "claude-fable-5"])
def test_other_models_bind_nothing(named: str) -> None:
    """Their thinking goes back whatever has changed, and without a prefix."""
    talk = Talk("anthropic", named)
    talk.ask("one", knows=False)
    talk.history.append({"role": "system", "content": "Be long"})
    talk.history.append("And?")

    assert ["one"] == thoughts(talk.render())


@pytest.mark.parametrize("named", ["claude-fable-5-1", "claude-fable-6", "claude-haiku-5-5", "claude-opus-6-20270101"])
def test_newer_models_bind(named: str) -> None:
    """Fable since 5.1, all others since 5.5."""
    talk = Talk("anthropic", named)
    talk.ask("one", knows=False)

    assert [] == thoughts(talk.render())


def test_a_request_may_leave_it_to_the_api() -> None:
    """With ``block_binding`` the API says what becomes of such a block."""
    talk = Talk("anthropic")
    talk.ask("one", knows=False)
    talk.history.append("And?")
    left = {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}}

    assert ["one"] == thoughts(talk.render(extra=left))


def test_a_paused_answer_goes_on_from_its_beginning() -> None:
    """What is thought then is bound to the first half too."""
    talk = Talk("anthropic")
    searched = opaque('{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}', model=talk.model)
    found = opaque('{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}', model=talk.model)
    talk.ask("one")
    talk.history[-1]["content"][1:] = [searched]
    talk.answer("two")
    talk.history[-1]["content"].insert(0, found)
    talk.history.append("And?")

    assert ["one", "two"] == thoughts(talk.render())

    del talk.history[2]["content"][0]
    talk.kept = None
    assert [] == thoughts(talk.render())


def test_what_is_said_between_calls_is_bound_too() -> None:
    """The API checks it as it checks thinking, and an answer may be nothing else."""
    talk = Talk("anthropic")
    words = {"type": "connector_text", "connector_text": "Looking now.", "signature": "c2ln"}
    narrated = opaque(
        json.dumps(words), model=talk.model, provider_metadata={"provider": "anthropic", "answered": True}
    )
    talk.ask("one")
    talk.history[-1]["content"][:] = [narrated]
    talk.history.append("And?")

    assert words == json.loads(talk.render().body)["messages"][1]["content"][0]

    talk.history[0] = {"role": "system", "content": "Be long"}
    talk.kept = None
    found = talk.render()
    assert "Looking now." not in found.body
    assert [CHANGED] == reasons(found)


def test_a_budget_leaves_no_empty_answer() -> None:
    """One that was nothing but bound words gets the placeholder."""
    talk = Talk("anthropic")
    words = {"type": "connector_text", "connector_text": "Looking now."}
    narrated = opaque(
        json.dumps(words), model=talk.model, provider_metadata={"provider": "anthropic", "answered": True}
    )
    talk.ask(f"one {'x' * 900}")
    talk.ask("two")
    talk.history[-1]["content"][:] = [narrated]
    talk.history.append("And?")

    said = [message["content"] for message in json.loads(talk.render(budget=120).body)["messages"]]
    assert [{"type": "text", "text": "(empty)"}] == said[1]


def test_breakpoints_of_the_caller_bind_nothing() -> None:
    """They are left out when newer ones come."""
    talk = Talk("anthropic")
    marked = {"provider": "anthropic", "cache_control": {"type": "ephemeral"}}
    for number in range(6):
        talk.history.append(user({"type": "text", "text": str(number), "provider_metadata": marked}))
        talk.answer(str(number))

    assert [str(number) for number in range(6)] == thoughts(talk.render())


@both
def test_breakpoints_of_the_tools_and_which_one_is_to_be_called_bind_nothing(name: str) -> None:
    """The caller may move them, and choose another tool for each request."""
    talk, extra = Talk(name), json.loads(json.dumps(TOOLS[name]))
    talk.ask("one")
    if name == "anthropic":
        extra["tools"][0]["cache_control"] = {"type": "ephemeral"}
        extra["tool_choice"] = {"type": "none"}
    else:
        extra["toolConfig"]["tools"].append({"cachePoint": {"type": "default"}})
        extra["toolConfig"]["toolChoice"] = {"auto": {}}
    talk.ask("two", extra=extra)
    talk.history.append("And?")

    assert ["one", "two"] == thoughts(talk.render())
    assert ["one", "two"] == thoughts(talk.render(extra=extra))


def test_a_tool_that_is_declared_for_older_calls_is_one_of_the_tools() -> None:
    """Bedrock wants one as soon as there is a call, for which what was thought before had none (rule B7)."""
    talk = Talk("bedrock-converse")
    talk.ask("one", extra={})
    talk.history += ["Go on", model(call())]
    assert [] == thoughts(talk.render(extra={}))
    talk.history.append(tool(result()))
    talk.answer("two", extra={})
    talk.ask("three", extra={})
    talk.history.append("And?")

    assert ["two", "three"] == thoughts(talk.render(extra={}))
    del talk.history[3:]
    talk.history.append("And?")
    assert ["one"] == thoughts(talk.render(extra={}))


SERVED = {
    "anthropic": (
        '{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}',
        '{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}',
    ),
    "bedrock-converse": (
        '{"toolUse":{"toolUseId":"s1","name":"x","input":{},"type":"server_tool_use"}}',
        '{"toolResult":{"toolUseId":"s1","content":[{"text":"x"}],"type":"x"}}',
    ),
}


@both
@pytest.mark.parametrize("budget", [None, 900])
def test_a_server_tool_goes_in_front_of_a_call_if_what_was_thought_in_between_is_left_out(
    name: str, budget: int | None
) -> None:
    """As if the model had never thought; the checker says so too."""
    talk = Talk(name)
    talk.ask("x" * 4000)
    talk.ask("one", call="c1")
    halves = [
        opaque(half, "anthropic" if name == "anthropic" else "bedrock", model=talk.model) for half in SERVED[name]
    ]
    talk.history[-1]["content"] += [dict(talk.history[-1]["content"][0]), *halves]
    talk.history.append(tool(result("c1")))

    assert 3 == len(thoughts(talk.render()))
    if budget is None:
        talk.redact(1)
    found = talk.render(budget=budget)
    assert [] == thoughts(found)
    assert found.body.index("s1") < found.body.index("c1")


def test_a_paused_answer_goes_on_from_a_summary() -> None:
    """What is thought after a pause for a compaction is bound to the summary, not to what that stands for."""
    talk = Talk("anthropic")
    summary = {"type": "compaction", "content": "Summary", "signature": "c2ln"}
    extra = {**TOOLS["anthropic"], "betas": ["compact-2026-09-04"]}
    talk.ask("one", extra=extra)
    talk.history.append("Go on")
    talk.history.append(model(opaque(json.dumps(summary), model=talk.model), finish_reason="compaction"))
    talk.answer("two", extra=extra)
    talk.ask("three", extra=extra)
    talk.history.append("And?")

    assert ["two", "three"] == thoughts(talk.render(extra=extra))


@both
def test_a_turn_of_many_messages_takes_a_time_that_grows_with_them(name: str) -> None:
    """Not with their square: what is before each is hashed once. Counted in calls, which are always as many."""
    talk = Talk(name)
    talk.history.append("Go on")
    made = []
    for number in range(1, 33):
        talk.answer(f"{number}")
        if number in (8, 16, 32):
            made.append(_calls_of(talk.render))

    assert [str(number) for number in range(1, 33)] == thoughts(talk.render())
    assert made[2] - made[1] < 3 * (made[1] - made[0])


def _calls_of(action: Callable[[], Any]) -> int:
    """Return how many functions of ours are called."""
    made: list[str] = []
    sys.setprofile(lambda frame, what, _: made.append(what) if "reeld" in frame.f_code.co_filename else None)
    try:
        action()
    finally:
        sys.setprofile(None)
    return len(made)
