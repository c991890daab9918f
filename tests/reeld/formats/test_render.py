"""The one entry point: what may be asked, and what is answered."""

import json
from typing import Any

import pytest

from reel.errors import Conflict, InvalidParams, TooLarge
from reel.kinds import INERT, LEGACY
from reel.strict_json import parse
from reeld.core.events import Entry, entry
from reeld.formats.body import Prefix, Rendered, RenderRequest
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import (
    LEAK,
    call,
    entries_of,
    model,
    opaque,
    prompt_in,
    result,
    thinking,
    tool,
    user,
)

LOOP = ["Hi", model(call(name="a.b")), tool(result())]
TOOLS = [{"name": "a.b", "input_schema": {"type": "object"}}]


def ask(messages: list[Any], name: str = "anthropic", kept: RenderState | None = None, **how: Any) -> Rendered:
    entries = entries_of(messages)
    return render(RenderRequest(name, **how), entries, prompt_in(entries), kept)[0]


def body(messages: list[Any], name: str = "anthropic", **how: Any) -> Any:
    return json.loads(ask(messages, name, **how).body)


@pytest.mark.parametrize(
    ("field", "how"),
    [
        ("format", {"name": "gpt"}),
        ("extra", {"extra": "{"}),
        ("extra", {"extra": "[1]"}),
        ("extra", {"extra": {"temperature": float("nan")}}),
        ("extra", {"extra": '{"metadata": {"user_id": "\\ud83d"}}'}),
        ("extra", {"extra": {"tools": [{"name": "\ud83d"}]}}),
        ("extra.messages", {"extra": {"messages": []}}),
        ("extra.system", {"extra": '{"system": "Be brief"}'}),
        ("extra", {"extra": {"model": 1}}),
        ("extra", {"extra": {"model": "claude-opus-4-8"}, "model": "claude-haiku-4-5"}),
    ],
)
def test_what_cannot_be_asked(field: str, how: dict[str, Any]) -> None:
    """An unknown format, and an ``extra`` that is none or takes what is the conversation's."""
    with pytest.raises(InvalidParams) as refused:
        ask(["Hi"], **how)

    assert field == refused.value.data["field"]


LARGE = ["9007199254740993", "18446744073709551616", "1e400", "7" * 5_000]


@pytest.mark.parametrize("number", LARGE)
def test_a_large_number_goes_back_as_it_came(number: str) -> None:
    """In metadata, in a block that only its provider reads, and in ``extra``, a number is what is stored."""
    part = f'{{"type":"server_tool_use","id":"s","name":"web_search","input":{{"at":{number}}}}}'
    metadata = parse(f'{{"provider":"anthropic","cache_control":{{"type":"ephemeral","ttl":{number}}}}}')
    said = {"role": "user", "content": [{"type": "text", "text": "Hi", "provider_metadata": metadata}]}
    found_there = '{"type":"web_search_tool_result","tool_use_id":"s","content":[]}'
    answer = model(*({"type": "opaque", "provider": "anthropic", "data_json": data} for data in (part, found_there)))
    found = ask([said, answer, "go on"], extra=f'{{"metadata":{{"seed":{number}}}}}').body

    assert f'"cache_control":{{"type":"ephemeral","ttl":{number}}}' in found
    assert part in found
    assert f'"metadata":{{"seed":{number}}}' in found


@pytest.mark.parametrize("how", [{"model": "claude-opus-4-8"}, {"extra": {"model": "claude-opus-4-8"}}])
def test_the_model_is_in_the_body(how: dict[str, Any]) -> None:
    """Whoever named it."""
    assert {"model", "messages"} == body(["Hi"], **how).keys()
    assert "claude-opus-4-8" == body(["Hi"], **how)["model"]


def test_extra_is_merged_in_at_the_top() -> None:
    """A body goes straight to the provider; names of tools are sent as the history has them."""
    found = ask(LOOP, extra={"max_tokens": 5, "tools": TOOLS, "tool_choice": {"type": "tool", "name": "a.b"}})
    sent = json.loads(found.body)
    (name,) = found.names

    assert {name: "a.b"} == found.names
    assert [5, name, name] == [sent["max_tokens"], sent["tools"][0]["name"], sent["tool_choice"]["name"]]
    assert name == sent["messages"][1]["content"][0]["name"]
    assert [] == check("anthropic", sent)


def test_open_calls_can_be_refused() -> None:
    """The conflict says which."""
    with pytest.raises(Conflict) as refused:
        ask(["Hi", model(call())], open="refuse")

    assert [{"id": "c1", "name": "look", "seq": 2}] == refused.value.data["open_calls"]
    assert ask(LOOP, open="refuse").ready


def test_thinking_in_the_middle_of_anothers_loop() -> None:
    """Where history and ``extra`` cannot both be had, it is said; adaptive thinking does not mind."""
    with pytest.raises(InvalidParams, match="adaptive"):
        ask(LOOP, extra={"thinking": {"type": "enabled", "budget_tokens": 1024}})

    assert ask(LOOP, extra={"thinking": {"type": "adaptive"}}).ready
    assert ask([*LOOP, model("OK"), "Go on"], extra={"thinking": {"type": "enabled"}}).ready


@pytest.mark.parametrize(
    ("ready", "messages"),
    [
        (False, []),
        (True, ["Hi"]),
        (False, ["Hi", model("OK")]),
        (True, ["Hi", model(call())]),
        (True, ["Hi", model(opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}'))]),
        (False, ["Hi", model(opaque('{"type":"compaction"}'))]),
        (True, [" "]),
    ],
)
def test_ready(ready: bool, messages: list[Any]) -> None:
    """Whether there is something to answer; a turn that a server's tool paused is gone on with."""
    found = ask(messages)

    assert ready == found.ready
    assert (None if ready else "user") == found.as_map().get("needs")


def test_a_paused_turn_thinks_only_where_thinking_is_on() -> None:
    """The API refuses it otherwise, in the last turn alone."""
    paused = ["Hi", model(thinking(), opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}'))]
    off, on = ask(paused), ask(paused, extra={"thinking": {"type": "adaptive"}})

    assert ["dropped"] == [change.action for change in off.report]
    assert [] == on.report
    assert [] == check("anthropic", json.loads(off.body)) == check("anthropic", json.loads(on.body))


def test_what_the_wire_shows() -> None:
    """The fields are the protocol's; those that say nothing are left out."""
    shown = ask(LOOP, after=Prefix(0, "")).as_map()

    assert {"format", "body", "report", "ready", "names", "prefix", "extends"} == shown.keys()
    assert {"format", "body", "report", "ready", "prefix"} == ask(["Hi"]).as_map().keys()
    assert {"seq", "block", "action", "why"} == shown["report"][0].keys()


def test_what_is_kept_is_used_for_its_own_history_only() -> None:
    """Another format, another model, fewer entries or others: it is made anew, and the answer is the same."""
    long = [*LOOP, model("OK"), "And?", model("So"), "Bye"]
    entries = entries_of(long)
    cases: list[tuple[str, dict[str, Any], list[Entry]]] = [
        ("anthropic", {}, entries),
        ("anthropic", {"model": "claude-opus-4-8"}, entries),
        ("gemini", {}, entries),
        ("anthropic", {}, entries[:2]),
        ("anthropic", {}, [*entries[:4], entries[4]._replace(id=900), *entries[5:]]),
        ("anthropic", {}, [*entries[:3], entries[3]._replace(id=900), *entries[4:]]),
    ]
    for name, how, now in cases:
        _, kept = render(RenderRequest("anthropic"), entries)
        asked = RenderRequest(name, **how)

        assert render(asked, now)[0] == render(asked, now, None, kept)[0]


def test_keeping_costs_what_it_says() -> None:
    """The size of what is kept grows with it."""
    _, little = render(RenderRequest("anthropic"), entries_of(["Hi"]))
    _, much = render(RenderRequest("anthropic"), entries_of(["Hi", model("x" * 1000), "Bye"]))

    assert little.size < 1000 < much.size


def changed(before: list[Any], now: list[Any], keep: bool, **how: Any) -> Any:
    """Render a history and then another, and give the seq from which the first prefix does not stand any more."""
    first = entries_of(before)
    found, kept = render(RenderRequest("anthropic"), first, prompt_in(first))
    then = entries_of(now)
    if then and now[0] != before[0]:
        then = [entry._replace(id=entry.id + 500) for entry in then]
    asked = RenderRequest("anthropic", after=found.prefix, **how)
    again, _ = render(asked, then, prompt_in(then), kept if keep else None)

    assert again.extends == ("prefix_changed" not in [change.action for change in again.report])
    return again.report[-1].seq if not again.extends else "extends"


def test_does_it_extend() -> None:
    """A longer history does; one with another prompt, other tools or another beginning does not."""
    before = ["Hi", model("OK"), "And?", model("So"), "Bye"]
    other = ["Hello", *before[1:]]
    prompted = ["Hi", model("OK"), {"role": "system", "content": "Be brief"}, "And?", model("So"), "Bye"]

    assert "extends" == changed(before, [*before, model("Bye"), "Still there?"], keep=True)
    assert 1 == changed(before, before[:3], keep=False)
    assert 1 == changed(before, other, keep=True)
    assert 1 == changed(before, other, keep=False)
    assert 3 == changed(before, prompted, keep=True)
    assert 1 == changed(before, before, keep=True, extra={"tools": TOOLS})


def test_from_where_on_it_changed() -> None:
    """Where what was kept knows the earlier prefix, the first turn that differs is named."""
    before = ["Hi", model("OK"), "And?", model("So"), "Bye", model("Bye"), "Hm"]
    first = entries_of(before)
    found, kept = render(RenderRequest("anthropic"), first)
    rewound = [
        *first[:2],
        *(entry._replace(id=entry.id + 500) for entry in entries_of([*before[:2], "No", model("?"), "x"])[2:]),
    ]
    again, _ = render(RenderRequest("anthropic", after=found.prefix), rewound, None, kept)

    assert (False, 3) == (again.extends, again.report[-1].seq)


def test_a_shorter_history_parts_nowhere() -> None:
    """After a rewind with nothing new there is no turn that differs: the seq is null."""
    first = entries_of(["Hi", model("OK"), "And?", model("So"), "Bye", model("Bye"), "Hm"])
    found, kept = render(RenderRequest("anthropic"), first)
    again, _ = render(RenderRequest("anthropic", after=found.prefix), first[:2], None, kept)

    assert (False, None) == (again.extends, again.report[-1].seq)
    nothing, _ = render(RenderRequest("anthropic", after=found.prefix), [])

    assert (False, None) == (nothing.extends, nothing.report[-1].seq)


WORDS = "So it goes, on and on. " * 10
LONG = [text for number in range(20) for text in (f"{number} {WORDS}", model(f"{number} {WORDS}"))]


def test_over_the_budget() -> None:
    """The newest turns stay, with the prompt; what was left out is reported once."""
    messages = [{"role": "system", "content": "Be brief"}, *LONG, "Bye"]
    found = ask(messages, budget=1000)
    sent = json.loads(found.body)

    assert len(found.body) <= 4000
    assert "Be brief" == sent["system"]
    assert "Bye" == sent["messages"][-1]["content"][0]["text"]
    assert [(2, None, "dropped")] == [change[:3] for change in found.report]
    assert [] == check("anthropic", sent)
    assert found.prefix.messages == len(sent["messages"]) - 1


def test_a_budget_cut_stands_still() -> None:
    """Several renderings begin alike before the next cut is made."""
    extended = []
    after = None
    for end in range(1, len(LONG), 2):
        found = ask(LONG[:end], budget=1500, after=after)
        extended.append(found.extends)
        after = found.prefix

    assert 1 <= extended.count(False) <= 5
    assert 20 == len(extended)


def test_up_to_the_pin_everything_stays() -> None:
    """And only what comes after it is left out."""
    sent = body([*LONG, "Bye"], budget=1000, pin=3)
    numbers = [message["content"][0]["text"].split()[0] for message in sent["messages"]]

    assert ["0", "0", "1", "1"] == numbers[:4]
    assert int(numbers[4]) > 10
    assert [] == check("anthropic", sent)


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai-chat"])
def test_a_long_loop_over_the_budget(name: str) -> None:
    """It goes on at one of its steps; who wants the user to speak first gets a word of theirs."""
    loop = [
        turn for number in range(20) for turn in (model(WORDS, call(f"c{number}")), tool(result(f"c{number}", WORDS)))
    ]
    sent = body(["Hi", *loop], name, budget=1500)

    assert [] == check(name.replace("-", "_"), sent)


class Read(list[Entry]):
    """Entries that count how many of them were looked at."""

    looked_at = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.looked_at += len(found) if isinstance(place, slice) else 1
        return found


def test_a_turn_without_end_is_looked_at_a_few_times() -> None:
    """What does not settle is not repaired anew with every step that is taken through it."""
    entries = Read(entries_of(["Hi"] * 10_000))
    render(RenderRequest("openai-chat"), entries)

    assert len(entries) <= entries.looked_at < 3 * len(entries)


def test_a_long_history_is_rendered_in_pieces() -> None:
    """It is what it would be at once, whether it was kept in steps or not."""
    history = [text for number in range(700) for text in (f"{number}", model(call(f"c{number}")))]
    whole = ask(history)
    steps = entries_of(history)
    kept = None
    for end in (100, 650, 1300, len(steps)):
        found, kept = render(RenderRequest("anthropic"), steps[:end], None, kept)

    assert whole == found
    assert 1400 == len(json.loads(whole.body)["messages"]) - 1
    assert 1 == ask([*["Hi"] * 1200, model("OK"), "Bye"]).prefix.messages - 1


@pytest.mark.parametrize("budget", [600, 900, 1200, 1300, 1400, 1500, 2000])
def test_any_budget(budget: int) -> None:
    """Wherever the cut falls, before what is settled ends or after, what is left is sound."""
    steps = [turn for number in range(4) for turn in (model(call(f"c{number}")), tool(result(f"c{number}", WORDS)))]
    paused = model(opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}'), call("z"))
    found_it = model(opaque('{"type":"mcp_tool_result","tool_use_id":"s"}'), call("y"))
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


def test_too_large() -> None:
    """Where not even the newest turn fits, it is said."""
    with pytest.raises(TooLarge) as refused:
        ask([WORDS], budget=10)

    assert 10 == refused.value.data["budget"]


@pytest.mark.parametrize("name", FORMATS)
def test_metadata_never_leaks(name: str) -> None:
    """Rows of every inert kind, with content and without, before, between and after messages, reach nobody."""
    kinds = sorted(INERT - LEGACY)
    rows = [{"kind": kind, "content": LEAK} for kind in kinds] + [
        {"kind": kind, "data_json": f'{{"content":"{LEAK}"}}'} for kind in kinds
    ]
    spoken = [user("Hi", note=LEAK), model("Look", call(), usage={"note": LEAK}), tool(result()), "Bye"]
    mixed = [*rows, *(row for message in spoken for row in (message, *rows))]
    strays = [_stray(900, "agent_killed"), _stray(901, "fork"), _stray(902, "never_heard_of")]
    entries = [strays[0], *entries_of(mixed), *strays]
    found, _ = render(RenderRequest(name), entries)
    plain = ask(spoken, name)

    assert LEAK not in found.body
    assert found.ready
    assert plain.body == found.body


def _stray(seq: int, kind: str) -> Entry:
    return entry(seq, seq, kind, LEAK, None, 0, None, None)


def test_a_prompt_whose_data_cannot_be_read() -> None:
    """It is its text; a blank one is none."""
    entries = entries_of([{"role": "system", "content": "Be brief"}, "Hi"])
    broken = entries[0]._replace(data_json="{")

    assert "Be brief" == json.loads(render(RenderRequest("anthropic"), entries, broken)[0].body)["system"]
    assert "system" not in body([{"role": "system", "content": " "}, "Hi"])
