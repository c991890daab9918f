"""Cache breakpoints: the newest are sent, or some are placed where they pay (rules A7 and A15)."""

import json
from typing import Any

import pytest

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from tests.formats.checker import check
from tests.reeld.formats.histories import (
    Json,
    call,
    entries_of,
    model,
    opaque,
    prompt_in,
    result,
    text,
    thinking,
    tool,
    user,
)

MARK = {"type": "ephemeral", "ttl": "5m"}
DECLARED = {"betas": ["mcp-client-2026-09-15", "server-side-fallback-2026-07-01"]}
TOOL = {"name": "look", "input_schema": {"type": "object"}}
PROMPT = {"role": "system", "content": "Be brief"}
TALK: list[Any] = [PROMPT, "Hi", model("OK"), "So?", model("Yes"), "And?"]


def marked(words: str, **mark: Any) -> Json:
    """Return a text with a breakpoint."""
    return text(words, provider_metadata={"provider": "anthropic", "cache_control": {"type": "ephemeral", **mark}})


def rendered(history: list[Any], kept: RenderState | None = None, **how: Any) -> tuple[Rendered, RenderState]:
    entries = entries_of(history)
    found, kept = render(RenderRequest("anthropic", "claude-opus-4-8", **how), entries, prompt_in(entries), kept)
    assert not found.ready or [] == check("anthropic", json.loads(found.body))
    return found, kept


def places(found: Rendered) -> list[str]:
    """Return what has a breakpoint: the tools, the prompt, and the texts of messages."""
    body = json.loads(found.body)
    top = [key for key in ("tools", "system") if any("cache_control" in part for part in _list(body.get(key)))]
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [*top, *(block.get("text", block["type"]) for block in blocks if "cache_control" in block)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def test_the_newest_breakpoints_are_sent() -> None:
    """Older ones are left out and reported, also those that were settled long ago."""
    history: list[Any] = [turn for number in range(9) for turn in (user(marked(str(number))), model("OK"))]
    kept = None
    for end in (3, 9, 12, 17):
        grown, kept = rendered(history[:end], kept)

        assert grown == rendered(history[:end])[0]
    assert ["5", "6", "7", "8"] == places(grown)
    assert [(seq, 0, "dropped") for seq in (1, 3, 5, 7, 9)] == [change[:3] for change in grown.report]


def test_a_prefix_does_not_depend_on_breakpoints() -> None:
    """The provider's cache does not, so that it stays valid when an older one is left out."""
    history: list[Any] = [turn for number in range(5) for turn in (user(marked(str(number))), model("OK"))]
    before, kept = rendered([*history, "And?"])

    assert rendered([*history, user(marked("x")), model("y"), "z"], kept, after=before.prefix)[0].extends


def test_breakpoints_inside_of_a_result_come_before_its_own() -> None:
    """They count like all others."""
    inside = tool(result("c1", [marked("a"), marked("b")], provider_metadata=marked("")["provider_metadata"]))
    found, _ = rendered([user(marked("x")), model(call()), inside, user(marked("y"), marked("z"))])
    content = json.loads(found.body)["messages"][2]["content"]

    assert ["tool_result", "y", "z"] == places(found)
    assert [False, True] == ["cache_control" in block for block in content[0]["content"]]
    assert [(1, 0), (3, 0)] == [change[:2] for change in found.report]


@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_breakpoints_are_placed_where_they_pay(ttl: Any) -> None:
    """They are after the tools, after the prompt, and after the last turn that does not change any more."""
    found, _ = rendered(TALK, cache=ttl, extra={"tools": [TOOL, TOOL | {"name": "b"}]})
    body = json.loads(found.body)

    assert ["tools", "system", "Yes"] == places(found)
    assert [{"type": "ephemeral", "ttl": ttl}] * 3 == [
        holder["cache_control"] for holder in (body["tools"][-1], body["system"][0], body["messages"][3]["content"][0])
    ]
    assert [] == found.report


def test_a_placed_breakpoint_moves_with_the_history() -> None:
    """The body is otherwise the same, and extends the earlier one."""
    before, kept = rendered(TALK, cache="5m")
    after, _ = rendered([*TALK, model("Well"), "Bye"], kept, cache="5m", after=before.prefix)

    assert [["system", "Yes"], ["system", "Well"]] == [places(before), places(after)]
    assert after.extends


def test_a_breakpoint_is_placed_after_a_call_and_not_after_thinking() -> None:
    """Without a settled turn there is none in the history."""
    loop: list[Any] = ["Hi", model(thinking(), call()), tool(result())]

    assert ["tool_use"] == places(rendered(loop, cache="5m")[0])
    assert ["system"] == places(rendered([PROMPT, "Hi"], cache="5m")[0])


@pytest.mark.parametrize(
    ("history", "extra"),
    [
        ([user(marked("x")), model("y"), "z"], {}),
        (["x", model("y"), user(marked("z"))], {}),
        (TALK, {"tools": [{**TOOL, "cache_control": MARK}]}),
        (TALK, {"cache_control": MARK}),
    ],
)
def test_nothing_is_placed_in_a_body_with_breakpoints_of_its_own(history: list[Any], extra: Json) -> None:
    """It is rendered as without ``cache``."""
    assert rendered(history, extra=extra)[0] == rendered(history, extra=extra, cache="5m")[0]


def test_the_newest_breakpoints_of_a_prompt_are_sent() -> None:
    """Those of the tools go before them, and none is left for the history."""
    prompt = {
        "role": "system",
        "content": [text(str(number)) for number in range(5)],
        "provider_metadata": {
            "provider": "anthropic",
            "messages_json": json.dumps([{"content": [marked(str(number)) for number in range(5)]}]),
        },
    }
    found, _ = rendered([prompt, user(marked("x"))], extra={"tools": [{**TOOL, "cache_control": MARK}]})
    body = json.loads(found.body)

    assert [False, False, True, True, True] == ["cache_control" in part for part in body["system"]]
    assert ["tools", "system"] == places(found)
    assert [1, 1, 2] == [change.seq for change in found.report]


@pytest.mark.parametrize(
    "unmarked",
    [
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "cache_control": MARK},
        {"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": [], "cache_control": MARK},
    ],
    ids=lambda block: str(block["type"]),
)
def test_blocks_without_cache_control_get_none(unmarked: Json) -> None:
    """Neither one that they were loaded with, nor a placed one: that goes to the block before (rule A7)."""
    history = ["Hi", model("OK", opaque(json.dumps(unmarked))), "And?"]

    assert ["OK"] == places(rendered(history, extra=DECLARED, cache="5m")[0])
    assert [] == places(rendered(history, extra=DECLARED)[0])


def test_a_block_of_a_newer_type_gets_no_breakpoint() -> None:
    """Whether it may have one is not known, and `connector_text` has none (rules A7 and A21)."""
    answered = {"provider": "anthropic", "answered": True}
    newer = opaque(
        '{"type":"connector_text","connector_text":"x"}', model="claude-opus-4-8", provider_metadata=answered
    )

    assert ["OK"] == places(rendered(["Hi", model("OK", newer), "And?"], cache="5m")[0])


def test_a_tool_that_is_loaded_later_gets_no_breakpoint() -> None:
    """It is not part of the prefix; the last one that is gets it (rule A7)."""
    later = {**TOOL, "name": "find", "defer_loading": True}
    found = json.loads(rendered(TALK, extra={"tools": [TOOL, later]}, cache="5m")[0].body)
    none = json.loads(rendered(TALK, extra={"tools": [later]}, cache="5m")[0].body)

    assert [True, False] == ["cache_control" in tool for tool in found["tools"]]
    assert [False] == ["cache_control" in tool for tool in none["tools"]]


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "gemini"])
def test_other_providers_need_no_breakpoints(name: str) -> None:
    """Their caches work without, and the body is the same."""
    entries = entries_of(TALK)
    plain, cached = (render(RenderRequest(name, cache=cache), entries, None)[0] for cache in (None, "5m"))

    assert plain == cached
