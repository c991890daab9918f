"""The entry point of rendering: which requests are refused, and what a reply contains."""

import json
from typing import Any

import pytest

from reel.base.errors import Conflict, InvalidParams
from reel.base.strict_json import parse
from reel.said.kinds import INERT, LEGACY
from reeld.core.events import Entry, entry
from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import (
    LEAK,
    call,
    entries_of,
    model,
    opaque,
    result,
    thinking,
    tool,
    user,
)
from tests.reeld.formats.rendering import ask, body

LOOP = ["Hi", model(call(name="a.b")), tool(result())]


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
        ("extra", {"extra": {"model": f"gemini-{'9' * 5_000}"}, "name": "gemini"}),
        ("extra", {"extra": {"model": "claude-opus-4-8"}, "model": "claude-haiku-4-5"}),
        ("dialect", {"dialect": "mistral"}),
    ],
)
def test_an_invalid_render_request_is_refused(field: str, how: dict[str, Any]) -> None:
    """The format is unknown, or ``extra`` is no map or would override the conversation."""
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


def test_a_large_number_goes_back_under_an_escaped_key() -> None:
    """The data of a record are stored as their client wrote them, which may be with escapes."""
    metadata = '{"provider":"anthropic","citations":18446744073709551616}'
    block = f'{{"type":"text","text":"Hi","provider\\u005fmetadata":{metadata}}}'
    found = ask([{"kind": "user", "content": "Hi", "data_json": f'{{"blocks":[{block}]}}'}]).body

    assert '"citations":18446744073709551616' in found


def test_open_calls_can_be_refused() -> None:
    """The conflict lists them."""
    with pytest.raises(Conflict) as refused:
        ask(["Hi", model(call())], open="refuse")

    assert [{"id": "c1", "name": "look", "seq": 2}] == refused.value.data["open_calls"]
    assert ask(LOOP, open="refuse").ready


def test_thinking_cannot_be_enabled_within_a_loop_without_thinking() -> None:
    """The error says so; adaptive thinking is accepted."""
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
        (False, [" "]),
    ],
)
def test_ready_if_there_is_something_to_answer(ready: bool, messages: list[Any]) -> None:
    """A turn that a server's tool paused is ready too."""
    found = ask(messages)

    assert ready == found.ready
    assert (None if ready else "user") == found.as_map().get("needs")


def test_a_paused_turn_has_thinking_only_if_it_is_enabled() -> None:
    """The API refuses it otherwise, in the last turn alone."""
    paused = ["Hi", model(thinking(), opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}'))]
    off, on = ask(paused), ask(paused, extra={"thinking": {"type": "adaptive"}})

    assert ["dropped"] == [change.action for change in off.report]
    assert [] == on.report
    assert [] == check("anthropic", json.loads(off.body)) == check("anthropic", json.loads(on.body))


@pytest.mark.parametrize(
    ("model_name", "extra", "thinks"),
    [
        ("claude-opus-5", {}, True),
        ("claude-sonnet-5-4", {}, True),
        ("claude-opus-4-8", {}, False),
        ("claude-opus-4-8", {"thinking": {"type": "between_tools"}}, True),
        ("claude-opus-5", {"thinking": {"type": "disabled"}}, False),
    ],
)
def test_newer_models_think_unless_told_otherwise(model_name: str, extra: dict[str, Any], thinks: bool) -> None:
    """So a paused turn keeps its thinking without a word about it in the request (rule A9)."""
    paused = ["Hi", model(thinking(), opaque('{"type":"server_tool_use","id":"s","name":"x","input":{}}'))]
    found = ask(paused, model=model_name, extra=extra)

    assert thinks is ("thinking" in str(json.loads(found.body)["messages"]))


class Read(list[Entry]):
    """Entries that count how many of them were looked at."""

    looked_at = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.looked_at += len(found) if isinstance(place, slice) else 1
        return found


@pytest.mark.slow
def test_a_long_open_turn_is_repaired_a_few_times_only() -> None:
    """Batches grow as long as nothing settles."""
    entries = Read(entries_of(["Hi"] * 10_000))
    render(RenderRequest("openai-chat"), entries)

    # Twice, to be unpacked and repaired, in each batch of which it is part; 50 times as often if batches did not grow.
    assert len(entries) <= entries.looked_at < 6 * len(entries)


@pytest.mark.parametrize("name", FORMATS)
def test_inert_records_are_never_rendered(name: str) -> None:
    """Rows of every inert kind, with and without content, anywhere among messages, reach no provider."""
    kinds = sorted(INERT - LEGACY - {"state"})
    rows = [{"kind": kind, "content": LEAK} for kind in kinds] + [
        {"kind": kind, "data_json": f'{{"content":"{LEAK}"}}'} for kind in kinds
    ]
    rows.append({"kind": "state", "content": LEAK, "data_json": f'{{"value":"{LEAK}"}}'})
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


def test_a_prompt_with_invalid_data_is_its_text() -> None:
    """A blank one is no prompt."""
    entries = entries_of([{"role": "system", "content": "Be brief"}, "Hi"])
    broken = entries[0]._replace(data_json="{")

    assert "Be brief" == json.loads(render(RenderRequest("anthropic"), entries, broken)[0].body)["system"]
    assert "system" not in body([{"role": "system", "content": " "}, "Hi"])
