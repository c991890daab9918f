"""Whatever happened to a conversation, every prefix of it renders to what the provider accepts."""

import json
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reel.base.errors import TooLarge
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.budget import TooRecent
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.formats.checker.chat_dialects import SERVERS
from tests.reeld.formats.histories import HISTORIES, LEAK, earlier_of, entries_of, prompt_in
from tests.thoroughness import FUZZ

pytestmark = pytest.mark.slow

# For each case; `make fuzz` tries fifty times as many.
EXAMPLES = FUZZ // 50 or 8

MODELS: dict[str, list[str | None]] = {
    "anthropic": ["claude-opus-4-8", "claude-haiku-4-5", None],
    "gemini": ["gemini-3-pro-preview", "gemini-2.5-flash", None],
    "gemini-interactions": ["gemini-3-pro-preview", "gemini-2.5-flash", None],
    "openai-chat": ["gpt-5", None],
    "openai-responses": ["gpt-5", None],
    "ollama": ["qwen3:8b", None],
    "bedrock-converse": ["us.anthropic.claude-opus-4-8", "amazon.nova-pro-v1:0", "meta.llama4-scout", None],
    "ai-sdk": [None],
    "langchain": [None],
}
# Without any tool, one is declared as soon as there is a call, so that the tools change.
TOOLS = {"bedrock-converse": {"toolConfig": {"tools": [{"toolSpec": {"name": "look"}}]}}}
# The tools that the model has (rule X18).
HAS = st.sampled_from([None, None, frozenset({"look"}), frozenset[str]()])
# A dialect follows after a slash.
CASES = [
    *((name, model) for name in FORMATS for model in MODELS[name]),
    *((f"openai-chat/{dialect}", None) for dialect in SERVERS),
    ("openai-chat/gemini", "gemini-2.5-flash"),
    ("anthropic/vertex", "claude-opus-4-8"),
    ("anthropic/bedrock-invoke", "claude-opus-4-8"),
    ("gemini/ai-studio", "gemini-3-pro-preview"),
    ("gemini/vertex", "gemini-3-pro-preview"),
    ("openai-chat/vllm", "mistralai/Devstral-Small-2"),
]


# Reasoning goes before the call, which some models want in a message of its own.
_THOUGHT_BEHIND_A_CALL = [
    "Hello",
    {
        "role": "assistant",
        "content": [
            {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"},
            {"type": "thinking", "text": "Hi", "signature": "c2ln", "provider": "bedrock"},
        ],
    },
]


def request(name: str, model: str | None, **how: Any) -> RenderRequest:
    """Return the request for a format, or for a dialect of one."""
    format, _, dialect = name.partition("/")  # noqa: A001 - the protocol's word
    return RenderRequest(format, model, dialect=dialect or None, **how)


def items(name: str, body: str) -> list[Any]:
    """Return the history in a body, without what moves as it grows."""
    found: list[Any] = unmarked(json.loads(body)[FORMATS[name.partition("/")[0]].history_key])
    return found


def unmarked(value: Any) -> Any:
    """Return a value without cache breakpoints, which move as a history grows."""
    if isinstance(value, list):
        return [unmarked(item) for item in value if not isinstance(item, dict) or "cachePoint" not in item]
    if not isinstance(value, dict):
        return value
    return {key: unmarked(inside) for key, inside in value.items() if key != "cache_control"}


def rendered(
    name: str, model: str | None, messages: list[Any], tools: frozenset[str] | None
) -> tuple[Rendered, RenderState]:
    entries = entries_of(messages) if messages else []
    return render(request(name, model, tools=tools), entries, prompt_in(entries))


@pytest.mark.parametrize(("name", "model"), CASES)
@settings(max_examples=EXAMPLES)
@given(messages=HISTORIES, has=HAS)
def test_every_prefix_of_any_history_is_accepted(
    name: str, model: str | None, messages: list[Any], has: frozenset[str] | None
) -> None:
    """What is ready breaks no rule, not even carelessly; with a user message at the end everything is ready."""
    for end in range(len(messages) + 1):
        for history in (messages[:end], [*messages[:end], "Go on"]):
            found, _ = rendered(name, model, history, has)
            body = json.loads(found.body)

            assert not found.ready or [] == check(name.replace("-", "_"), body, model)
            assert LEAK not in found.body
        assert found.ready


@pytest.mark.parametrize(("name", "model"), CASES)
@settings(max_examples=EXAMPLES)
@given(messages=HISTORIES, cuts=st.lists(st.integers(0, 14)), has=HAS)
def test_a_rendering_is_the_beginning_of_every_later_one(
    name: str, model: str | None, messages: list[Any], cuts: list[int], has: frozenset[str] | None
) -> None:
    """What is settled never changes, with and without a kept state (rule X2)."""
    kept: RenderState | None = None
    before: tuple[Rendered, Any] | None = None
    for end in sorted({min(cut, len(messages)) for cut in cuts} | {len(messages)}):
        entries = entries_of(messages[:end]) if end else []
        after = before[0].prefix if before else None
        asked = request(name, model, extra=TOOLS.get(name), after=after, tools=has)
        found, kept = render(asked, entries, prompt_in(entries), kept)
        fresh, _ = render(asked, entries, prompt_in(entries))
        history = items(name, found.body)
        if before is not None and before[1] == prompt_in(entries):
            settled = before[0].prefix.messages
            earlier = items(name, before[0].body)

            assert found.extends
            assert earlier[:settled] == history[:settled]
        assert fresh == found
        before = (found, prompt_in(entries))


@pytest.mark.parametrize(("name", "model"), CASES)
@settings(max_examples=EXAMPLES)
@given(messages=HISTORIES, cut=st.integers(0, 14), after=HISTORIES, has=HAS)
def test_a_rendering_after_a_rewind_is_that_of_a_new_conversation(
    name: str, model: str | None, messages: list[Any], cut: int, after: list[Any], has: frozenset[str] | None
) -> None:
    """What was rendered before of messages that are gone has no effect, except for names that nothing has any more."""
    before = entries_of(messages) if messages else []
    rewound = before[:cut]
    other = entries_of([*messages[:cut], *after]) if rewound or after else []
    another = [*rewound, *(entry._replace(id=entry.id + 900) for entry in other[len(rewound) :])]
    asked = request(name, model, extra=TOOLS.get(name), tools=has)
    _, kept = render(asked, before, prompt_in(before))
    for entries in (rewound, another):
        found, kept = render(asked, entries, prompt_in(entries), kept)
        fresh, _ = render(asked, entries, prompt_in(entries))

        assert fresh == found._replace(names=fresh.names)


@pytest.mark.parametrize(("name", "model"), CASES)
@settings(max_examples=EXAMPLES)
@example(messages=_THOUGHT_BEHIND_A_CALL, budget=400, pin=0, cache=None)
@given(messages=HISTORIES, budget=st.integers(30, 400), pin=st.integers(0, 8), cache=st.sampled_from([None, "5m"]))
def test_any_history_cut_to_any_budget_is_accepted(
    name: str, model: str | None, messages: list[Any], budget: int, pin: int, cache: Literal["5m"] | None
) -> None:
    """Wherever it is cut, the rest breaks no rule and is as small as requested."""
    entries = entries_of([*messages, "Go on"])
    try:
        found, _ = render(request(name, model, budget=budget, pin=pin, cache=cache), entries, prompt_in(entries))
    except TooLarge:
        return
    body = json.loads(found.body)

    assert [] == check(name.replace("-", "_"), body, model)
    assert len(found.body.encode()) <= budget * 4
    assert found.prefix.messages <= len(items(name, found.body))


@pytest.mark.parametrize(("name", "model"), CASES)
@settings(max_examples=EXAMPLES)
@given(messages=HISTORIES, begin=st.integers(0, 14), budget=st.integers(30, 200), has=HAS)
def test_the_end_of_any_history_cut_to_a_budget_is_accepted(
    name: str, model: str | None, messages: list[Any], begin: int, budget: int, has: frozenset[str] | None
) -> None:
    """If only the newest messages are looked at, what is left of them breaks no rule; the others count as left out."""
    entries = entries_of([*messages, "Go on"])
    earlier = earlier_of(entries[:begin])
    asked = request(name, model, budget=budget, tools=has)
    try:
        found, kept = render(asked, entries[begin:], prompt_in(entries), None, earlier)
    except (TooLarge, TooRecent):
        return
    body = json.loads(found.body)
    dropped = [change for change in found.report if "over the budget" in change.why]

    assert [] == check(name.replace("-", "_"), body, model)
    assert len(found.body.encode()) <= budget * 4
    assert found == render(asked, entries[begin:], prompt_in(entries), kept, earlier)[0]
    if earlier is not None:
        assert [1] == [change.seq for change in dropped]
        assert earlier.messages <= int(dropped[0].why.split()[3])
