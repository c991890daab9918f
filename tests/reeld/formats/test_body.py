"""The body of a request: what is at its top, what a budget leaves out, and whether it extends an earlier one."""

import json
from typing import Any

import pytest

from reel.base.errors import TooLarge
from reeld.formats.body import RenderRequest
from reeld.formats.budget import TooRecent
from reeld.formats.prefix import Prefix
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import (
    call,
    earlier_of,
    entries_of,
    model,
    opaque,
    prompt_in,
    result,
    tool,
)
from tests.reeld.formats.rendering import ask, body

LOOP = ["Hi", model(call(name="a.b")), tool(result())]
TOOLS = [{"name": "a.b", "input_schema": {"type": "object"}}]


@pytest.mark.parametrize("how", [{"model": "claude-opus-4-8"}, {"extra": {"model": "claude-opus-4-8"}}])
def test_the_model_of_the_request_or_of_extra_is_in_the_body(how: dict[str, Any]) -> None:
    """Both ways to name it give the same."""
    assert {"model", "messages"} == body(["Hi"], **how).keys()
    assert "claude-opus-4-8" == body(["Hi"], **how)["model"]


def test_extra_is_added_at_the_top_of_the_body() -> None:
    """The names of tools in it are those under which the history has them."""
    found = ask(LOOP, extra={"max_tokens": 5, "tools": TOOLS, "tool_choice": {"type": "tool", "name": "a.b"}})
    sent = json.loads(found.body)
    (name,) = found.names

    assert {name: "a.b"} == found.names
    assert [5, name, name] == [sent["max_tokens"], sent["tools"][0]["name"], sent["tool_choice"]["name"]]
    assert name == sent["messages"][1]["content"][0]["name"]
    assert [] == check("anthropic", sent)


def test_the_reply_leaves_out_what_does_not_apply() -> None:
    """Its fields are the protocol's."""
    shown = ask(LOOP, after=Prefix(0, "")).as_map()

    assert {"format", "body", "report", "ready", "names", "prefix", "extends"} == shown.keys()
    assert {"format", "body", "report", "ready", "prefix"} == ask(["Hi"]).as_map().keys()
    assert {"seq", "block", "action", "why"} == shown["report"][0].keys()


def changed(before: list[Any], now: list[Any], keep: bool, **how: Any) -> Any:
    """Render a history and then another, and return the seq from which the first prefix no longer holds."""
    first = entries_of(before)
    found, kept = render(RenderRequest("anthropic"), first, prompt_in(first))
    then = entries_of(now)
    if then and now[0] != before[0]:
        then = [entry._replace(id=entry.id + 500) for entry in then]
    asked = RenderRequest("anthropic", after=found.prefix, **how)
    again, _ = render(asked, then, prompt_in(then), kept if keep else None)

    assert again.extends == ("prefix_changed" not in [change.action for change in again.report])
    return again.report[-1].seq if not again.extends else "extends"


def test_a_longer_history_extends_the_prefix() -> None:
    """One with another prompt, other tools or another beginning does not."""
    before = ["Hi", model("OK"), "And?", model("So"), "Bye"]
    other = ["Hello", *before[1:]]
    prompted = ["Hi", model("OK"), {"role": "system", "content": "Be brief"}, "And?", model("So"), "Bye"]

    assert "extends" == changed(before, [*before, model("Bye"), "Still there?"], keep=True)
    assert 1 == changed(before, before[:3], keep=False)
    assert 1 == changed(before, other, keep=True)
    assert 1 == changed(before, other, keep=False)
    assert 3 == changed(before, prompted, keep=True)
    assert 1 == changed(before, before, keep=True, extra={"tools": TOOLS})


def test_the_first_turn_that_differs_is_reported() -> None:
    """It is known if the state covers the earlier prefix."""
    before = ["Hi", model("OK"), "And?", model("So"), "Bye", model("Bye"), "Hm"]
    first = entries_of(before)
    found, kept = render(RenderRequest("anthropic"), first)
    rewound = [
        *first[:2],
        *(entry._replace(id=entry.id + 500) for entry in entries_of([*before[:2], "No", model("?"), "x"])[2:]),
    ]
    again, _ = render(RenderRequest("anthropic", after=found.prefix), rewound, None, kept)

    assert (False, 3) == (again.extends, again.report[-1].seq)


def test_a_shorter_history_has_no_turn_that_differs() -> None:
    """After a rewind without new messages the seq is null."""
    first = entries_of(["Hi", model("OK"), "And?", model("So"), "Bye", model("Bye"), "Hm"])
    found, kept = render(RenderRequest("anthropic"), first)
    again, _ = render(RenderRequest("anthropic", after=found.prefix), first[:2], None, kept)

    assert (False, None) == (again.extends, again.report[-1].seq)
    nothing, _ = render(RenderRequest("anthropic", after=found.prefix), [])

    assert (False, None) == (nothing.extends, nothing.report[-1].seq)


WORDS = "So it goes, on and on. " * 10


LONG = [text for number in range(20) for text in (f"{number} {WORDS}", model(f"{number} {WORDS}"))]


def test_the_newest_turns_stay_within_a_budget() -> None:
    """So does the prompt; what is left out is reported once."""
    messages = [{"role": "system", "content": "Be brief"}, *LONG, "Bye"]
    found = ask(messages, budget=1000)
    sent = json.loads(found.body)

    assert len(found.body) <= 4000
    assert "Be brief" == sent["system"]
    assert "Bye" == sent["messages"][-1]["content"][0]["text"]
    assert [(2, None, "dropped")] == [change[:3] for change in found.report]
    assert [] == check("anthropic", sent)
    assert found.prefix.messages == len(sent["messages"]) - 1


def test_what_is_not_looked_at_counts_as_left_out() -> None:
    """The report begins with the first message of all, and the number has those that were not looked at."""
    entries = entries_of([*LONG, "Bye"])
    earlier = earlier_of(entries[:10])
    found, _ = render(RenderRequest("anthropic", budget=1000), entries[10:], earlier=earlier)
    (change,) = found.report
    sent = json.loads(found.body)["messages"]

    assert (1, f"over the budget: {41 - len(sent)} messages, before seq {42 - len(sent)}") == (change.seq, change.why)


def test_more_is_looked_at_if_the_budget_has_room_for_it() -> None:
    """What is left out must not depend on how much was looked at."""
    entries = entries_of(LONG)
    with pytest.raises(TooRecent):
        render(RenderRequest("anthropic", budget=1000), entries[36:], earlier=earlier_of(entries[:36]))


def test_several_renderings_have_the_same_cut() -> None:
    """They begin alike, so that a provider's cache stays valid."""
    extended = []
    after = None
    for end in range(1, len(LONG), 2):
        found = ask(LONG[:end], budget=1500, after=after)
        extended.append(found.extends)
        after = found.prefix

    assert 1 <= extended.count(False) <= 5
    assert 20 == len(extended)


def test_everything_up_to_the_pin_stays() -> None:
    """Only turns after it are left out."""
    sent = body([*LONG, "Bye"], budget=1000, pin=3)
    numbers = [message["content"][0]["text"].split()[0] for message in sent["messages"]]

    assert ["0", "0", "1", "1"] == numbers[:4]
    assert int(numbers[4]) > 10
    assert [] == check("anthropic", sent)


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai-chat"])
def test_a_tool_loop_over_the_budget_continues_at_a_step(name: str) -> None:
    """If the user must speak first, a placeholder does."""
    loop = [
        turn for number in range(20) for turn in (model(WORDS, call(f"c{number}")), tool(result(f"c{number}", WORDS)))
    ]
    sent = body(["Hi", *loop], name, budget=1500)

    assert [] == check(name.replace("-", "_"), sent)


@pytest.mark.parametrize("budget", [600, 900, 1200, 1300, 1400, 1500, 2000])
def test_any_cut_across_settled_and_open_turns_is_valid(budget: int) -> None:
    """Wherever it falls, the rest is accepted."""
    steps = [turn for number in range(4) for turn in (model(call(f"c{number}")), tool(result(f"c{number}", WORDS)))]
    paused = model(opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}'), call("z"))
    found_it = model(opaque('{"type":"web_search_tool_result","tool_use_id":"s","content":[]}'), call("y"))
    history = [*LONG[:4], "Go", paused, tool(result("z", WORDS)), found_it, tool(result("y", WORDS)), *steps]
    for pin in (0, 1, 5, 7):
        try:
            found = ask(history, budget=budget, pin=pin)
        except TooLarge:
            continue
        sent = json.loads(found.body)

        assert len(found.body) <= budget * 4
        assert [] == check("anthropic", sent)
        assert found.prefix.messages <= len(sent["messages"])


def test_a_newest_turn_over_the_budget_is_too_large() -> None:
    """The error says what to do."""
    with pytest.raises(TooLarge) as refused:
        ask([WORDS], budget=10)

    assert 10 == refused.value.data["budget"]


def test_a_body_for_another_model_does_not_extend_an_earlier_one() -> None:
    """A provider's cache belongs to one model; one that is not known is not another."""
    entries = entries_of(["Hi", model("OK"), "So?"])
    for name in FORMATS:
        before = render(RenderRequest(name, "a"), entries)[0].prefix
        found = [render(RenderRequest(name, named, after=before), entries)[0] for named in ("a", None, "b")]

        assert [True, True, False] == [rendered.extends for rendered in found]
        assert "the model has changed" == found[-1].report[-1].why
