"""Answers in which another model took over from one that declined (rule A17)."""

import json
from typing import Any

import pytest

from reeld.formats.anthropic.read import read_request, read_response
from reeld.formats.naming import note_asked_model
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import Json, model, opaque, result, text, tool
from tests.reeld.formats.histories import call as called
from tests.reeld.formats.sending import sent

DECLINED, SERVED = "claude-fable-5-1", "claude-opus-4-8"
TAKEOVER = {"type": "fallback", "from": {"model": DECLINED}, "to": {"model": SERVED}, "trigger": {"type": "refusal"}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
BETAS = {"max_tokens": 9, "fallbacks": "default"}


def thought(signature: str) -> Json:
    return {"type": "thinking", "thinking": "", "signature": signature}


def said(words: str) -> Json:
    return {"type": "text", "text": words}


def call(of: str) -> Json:
    return {"type": "tool_use", "id": of, "name": "look", "input": {}}


def answer(*blocks: Json) -> Json:
    body = {"id": "msg_1", "role": "assistant", "model": SERVED, "content": list(blocks), "stop_reason": "tool_use"}
    message = read_response(body).message
    note_asked_model(message, DECLINED)
    return message


def content(message: Json, *then: Any) -> list[Json]:
    """Return what goes back of an answer."""
    body, _ = sent("anthropic", ["Hi", message, *then], model=DECLINED, extra=BETAS)
    assert [] == check("anthropic", body, DECLINED)
    found: list[Json] = body["messages"][1]["content"]
    return found


def test_only_the_text_of_a_model_that_declined_goes_back() -> None:
    """Its thinking and its calls do not; what the other one said does, and the block between them stays."""
    before = (thought("s1"), said("Partly"), call("c1"))
    after = (thought("s2"), said("Whole"), call("c2"))

    assert [said("Partly"), TAKEOVER, *after] == content(answer(*before, TAKEOVER, *after), tool(result("c2")))


def test_what_the_model_that_declined_said_between_its_calls_does_not_go_back() -> None:
    """The API checks it as it checks thinking."""
    before, after = ({"type": "connector_text", "connector_text": words} for words in ("Looking", "Found"))

    assert [TAKEOVER, after, said("Whole")] == content(answer(before, TAKEOVER, after, said("Whole")), "And?")


def test_the_last_takeover_counts() -> None:
    """Of three models the last one answered."""
    message = answer(thought("s1"), TAKEOVER, thought("s2"), said("Half"), TAKEOVER, thought("s3"), said("Whole"))

    assert [TAKEOVER, said("Half"), TAKEOVER, thought("s3"), said("Whole")] == content(message, "And?")


def test_what_was_said_before_in_the_same_turn_has_no_thinking_either() -> None:
    """The API judges the turn, which may join several messages."""
    before, after = answer(thought("s1"), said("A")), answer(said("B"), TAKEOVER, thought("s2"), said("C"))

    assert [said("A"), said("B"), TAKEOVER, thought("s2"), said("C")] == content(before, after, "And?")


@pytest.mark.parametrize(
    ("first", "second", "then"),
    [
        (("c1",), ("Partly",), ("Whole", "c1")),
        (("c1", "Partly"), (), ("Whole", "c1")),
        (("c1",), ("Partly", "c2"), ("c1", "c2", "Whole")),
    ],
)
def test_a_call_of_the_message_before_goes_behind_the_takeover(
    first: tuple[str, ...], second: tuple[str, ...], then: tuple[str, ...]
) -> None:
    """It has a result, which comes behind the turn; what was said in words stays in front."""
    messages = [model(*(called(one) if one.startswith("c") else one for one in made)) for made in (first, second)]
    messages[1]["content"] += [opaque(json.dumps(TAKEOVER), model=DECLINED), text("Whole")]
    calls = [one for one in then if one.startswith("c")]

    body, report = sent("anthropic", ["Hi", *messages, tool(*map(result, calls))], model=DECLINED, extra=BETAS)
    assert [] == check("anthropic", body, DECLINED)
    after = [call(one) if one.startswith("c") else said(one) for one in then]
    assert [said("Partly"), TAKEOVER, *after] == body["messages"][1]["content"]
    assert len(calls) == sum("another model took over" in change.why for change in report)


def test_a_model_may_take_over_before_the_other_one_said_anything() -> None:
    """Then the block comes first in its answer, and what the turn said before it counts as declined as well."""
    before, after = answer(thought("s1"), said("A"), SEARCH), answer(TAKEOVER, thought("s2"), said("B"))

    assert [said("A"), TAKEOVER, thought("s2"), said("B")] == content(before, after, "And?")
    assert [TAKEOVER, thought("s2"), said("B")] == content(after, "And?")


def test_a_tool_of_the_server_goes_back_if_it_had_answered() -> None:
    """Its call without a result was given up with the answer."""
    assert [SEARCH, FOUND, TAKEOVER, said("A")] == content(answer(SEARCH, FOUND, TAKEOVER, said("A")), "And?")
    assert [TAKEOVER, said("A")] == content(answer(SEARCH, TAKEOVER, said("A")), "And?")


def test_a_call_of_a_model_that_declined_is_no_call() -> None:
    """Nobody is to answer it, so it is kept as what Anthropic said, in answers and in whole requests."""
    blocks = [call("c1"), TAKEOVER, call("c2")]
    loaded = read_request({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": blocks}]})

    for message in (answer(*blocks), loaded.messages[1]):
        assert ["opaque", "opaque", "tool_call"] == [block["type"] for block in message["content"]]
        assert "c2" == message["content"][2]["id"]


# LangChain's messages keep whatever has no form there.
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"langchain"}))
def test_other_providers_are_sent_no_call_of_it(name: str) -> None:
    """The call appears in no format, and no result is invented for it."""
    message = answer(thought("s1"), call("c1"), TAKEOVER, said("Whole"))
    body, _ = sent(name, ["Hi", message, "And?"])

    assert [] == check(name.replace("-", "_"), body)
    assert "look" not in str(body)
    assert "Whole" in str(body)
