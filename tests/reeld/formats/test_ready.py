"""A body is ready if something is rendered that a provider can answer, and nothing is invented for that (rule X10)."""

import json
from typing import Any

import pytest

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import SOUND, Json, call, entries_of, model, opaque, result, tool, user

UNKNOWN: Json = {"type": "media", "mime_type": "image/tiff", "data_base64": "AAAA"}
LOST: list[Any] = [user(UNKNOWN), user(""), user(" \n"), user(opaque("{}", "elsewhere")), user(UNKNOWN, "")]
# Which of them a format can send after all: it takes pictures of any type, or blocks of any provider.
SENT = {"gemini-interactions": {0, 4}, "ai-sdk": {0, 4}, "langchain": {0, 3, 4}}
CHANGE = user(opaque('{"type":"tool_addition","tool":{"type":"tool_reference","name":"x"}}'), role="system")


def rendered(name: str, *history: Any) -> Rendered:
    return render(RenderRequest(name, {"gemini": "gemini-3-pro-preview"}.get(name)), entries_of(history))[0]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "before",
    [[], ["Hi", model("OK")], ["Hi"], ["Hi", model(call()), tool(result())], ["Hi", model(call())]],
    ids=["alone", "after the assistant", "after the user", "after a result", "after an open call"],
)
def test_a_body_is_not_ready_if_nothing_of_the_last_message_is_sent(name: str, before: list[Any]) -> None:
    """That is reported, and no text takes its place; with an answer after it, one does where the API requires it."""
    for last in (last for number, last in enumerate(LOST) if number not in SENT.get(name, ())):
        found = rendered(name, *before, last)
        later = rendered(name, *before, last, model("OK"), "And?")

        assert not found.ready, last
        assert "(empty)" not in found.body, last
        assert "dropped" in [change.action for change in found.report], last
        assert later.ready, last
        assert [] == check(name.replace("-", "_"), json.loads(later.body)), last


@pytest.mark.parametrize("name", FORMATS)
def test_a_body_is_ready_if_something_of_the_last_message_is_sent(name: str) -> None:
    """It does not matter what was lost before."""
    assert rendered(name, "Hi", model("OK"), user(UNKNOWN, "See?")).ready
    assert rendered(name, "Hi", model("OK"), user(UNKNOWN), user("See?")).ready


@pytest.mark.parametrize("name", FORMATS)
def test_a_result_of_no_call_is_nothing_to_answer(name: str) -> None:
    """It is left out, and the history ends with the assistant."""
    found = rendered(name, "Hi", model("OK"), tool(result("c9")))

    assert not found.ready
    assert "(empty)" not in found.body


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "setting",
    [
        CHANGE,
        user(opaque('{"type":"configuration_update","reasoning":{"effort":"low"}}', "openai")),
        user("", role="system"),
    ],
    ids=["tools", "configuration", "effort"],
)
def test_an_instruction_that_is_not_sent_does_not_end_a_turn(name: str, setting: Json) -> None:
    """The result, or the user's words, before it still wait for an answer."""
    loop = rendered(name, "Hi", model(call()), tool(result()), setting)
    asked = rendered(name, "Hi", model("OK"), "And?", setting)
    answered = rendered(name, "Hi", model("OK"), setting)

    assert loop.ready
    assert asked.ready
    for found in (loop, asked, answered) if answered.ready else (loop, asked):
        assert [] == check(name.replace("-", "_"), json.loads(found.body))


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"langchain"}))
def test_an_answer_that_only_compacted_leaves_the_question_open(name: str) -> None:
    """Anthropic goes on from it; anyone else answers the user (rule A18)."""
    block = opaque('{"type":"compaction","content":"Summary"}', model="claude-opus-5")
    compacted = {**model(block), "provider_metadata": {"provider": "anthropic", "finish_reason": "compaction"}}
    found, answered = rendered(name, "Hi", compacted), rendered(name, "Hi", compacted, model("OK"))

    assert found.ready
    assert not answered.ready
    assert "(empty)" not in found.body
    assert [] == check(name.replace("-", "_"), json.loads(found.body))


def test_a_change_of_tools_that_cannot_be_sent_is_nothing_to_answer() -> None:
    """Anthropic takes it only in a system message after the user's (rule A10)."""
    assert not rendered("anthropic", CHANGE).ready
    assert [] == json.loads(rendered("anthropic", CHANGE).body)["messages"]
    assert not rendered("gemini", "Hi", model("OK"), user(SOUND | {"mime_type": "application/zip"})).ready


def test_an_answer_that_ends_in_something_else_than_its_summary_is_not_ready() -> None:
    """The API goes on from a summary alone, whatever the answer says of why it ended (rule A18)."""
    summary = opaque('{"type":"compaction","content":"Summary"}', model="claude-opus-5")
    takeover = opaque('{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}', model="claude-opus-5")
    ended = {"provider": "anthropic", "finish_reason": "compaction"}
    said = {**model(summary, "OK", takeover), "provider_metadata": ended}
    entries = entries_of(["Hi", said])
    betas = {"betas": ["server-side-fallback-2026-07-01", "compact-2026-01-12"]}
    found, _ = render(RenderRequest("anthropic", "claude-opus-5", betas), entries)

    assert "fallback" in found.body
    assert not found.ready
