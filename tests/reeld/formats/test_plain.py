"""Plain exchanges take a short way through rendering, which makes the same of them as the long one."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.core.events import Entry
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.model import AssistantTurn, RenderContext, Turn
from reeld.formats.plain import plain_runs
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from reeld.formats.templates import ASSISTANT_TEXT, TEXT_AFTER_RESULTS, USER_TEXT, Template, find_template
from tests.reeld.formats.histories import (
    IMAGE,
    MESSAGES,
    Json,
    call,
    entries_of,
    model,
    opaque,
    result,
    text,
    thinking,
    tool,
    user,
)

LOOP = [model(thinking(), call()), tool(result())]
OPEN_CALL = model(call("c9"))
SERVER_CALL = '{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}'
TEXTS = st.text(min_size=1, max_size=3) | st.sampled_from(["\n", '"', "\\", "\x1f", "é", "%s", "x" * 300])
CHATS = st.lists(TEXTS, max_size=8).map(
    lambda texts: [
        text if index % 2 == 0 else {"role": "assistant", "content": text} for index, text in enumerate(texts)
    ]
)
# Ids that are new each time, ids that may come again, ids of one server alone, and ids that few or none accept.
IDS = (
    st.none()
    | st.none()
    | st.none()
    | st.sampled_from(["c1", "c2", "a|b", "x" * 41, 'a"b', "a\\b", "functions.look:0", "abcdefgh1", "abcdefgh2"])
)
NAMES = st.sampled_from(["look", "look", "find", "a.b"])
ARGUMENTS = st.sampled_from(
    ["{}", '{"at": "/x"}', '{"a":[1, {"b": null}]}', '{"a":1,"a":2}', "[]", "", '{"a":1e999}', '{"a":"\\u00e9\\ud800"}']
)
# What happens to the results of some calls.
ANSWERED: dict[str, Callable[[list[Json]], list[Json]]] = {
    "all": lambda of: [tool(*of)],
    "each": lambda of: [tool(one) for one in of],
    "turned": lambda of: [tool(*reversed(of))],
    "first": lambda of: [tool(of[0])],
    "twice": lambda of: [tool(*of), tool(of[0])],
    "none": lambda _of: [],
    "failed": lambda of: [tool(*({**one, "is_error": True} for one in of))],
    "parts": lambda of: [tool(*({**one, "content": [text(one["content"])]} for one in of))],
    "noted": lambda of: [tool(*({**one, "provider_metadata": {"note": "x"}} for one in of))],
}


# A text before some calls, the calls, what happens to their results, and what they say.
STEPS = st.tuples(
    st.none() | st.none() | TEXTS,
    st.lists(st.tuples(IDS, NAMES, ARGUMENTS), min_size=1, max_size=3),
    st.sampled_from([*["all"] * 5, "each", *ANSWERED]),
    TEXTS,
)


def steps(asked: str | None, made: list[Any], number: int) -> list[Any]:
    """Return an agent at work: what it was asked, and some calls with their results."""
    messages: list[Any] = [] if asked is None else [asked]
    for said, some, answer, returned in made:
        number += 1
        ids = [of or f"n{number}_{index}" for index, (of, _, _) in enumerate(some)]
        calls = [call(of, name, arguments) for of, (_, name, arguments) in zip(ids, some, strict=True)]
        messages.append(model(*([] if said is None else [said]), *calls))
        results = [result(of, f"{returned}{index}") for index, of in enumerate(ids)]
        messages += ANSWERED[answer](results)
    return messages


LOOPS = st.builds(steps, st.none() | TEXTS, st.lists(STEPS, min_size=1, max_size=3), st.integers(0, 10**6))
HISTORIES = st.lists(
    CHATS | LOOPS | LOOPS | st.sampled_from([LOOP, [OPEN_CALL]]) | MESSAGES.map(lambda one: [one]), max_size=5
)
# Models that change what is around a call, for each format.
MODELS = st.sampled_from([
    None, "claude-opus-4-8", "gemini-3-pro-preview", "gpt-5", "deepseek-reasoner", "us.amazon.nova-pro-v1:0",
    "mistral-large-latest", "us.meta.llama3-3-70b-instruct-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0",
])  # fmt: skip
REQUESTS = st.builds(
    lambda model, tools: RenderRequest("", model, tools=tools),
    MODELS,
    st.sampled_from([None, None, frozenset({"look"})]),
)


def chat(exchanges: int) -> list[Any]:
    return [said for number in range(exchanges) for said in (f"{number}", model(f"said {number}"))]


# Two calls in one message, and their results in two.
WORK = [model("Look", call()), tool(result()), model(call("c2"), call("c3")), tool(result("c2")), tool(result("c3"))]
STEP: Any = ("Look", [(None, "look", '{"at": "/x"}'), (None, "find", "{}")], "each", "found %s")
AGENTS = [
    message
    for number in range(300)
    for message in (
        *steps(
            f"{number}", [STEP, (None, [("c1" if number % 50 == 9 else None, "look", "{}")], "all", '"')], 2 * number
        ),
        model("OK"),
    )
]


def the_long_way(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries of the same messages that do not look like plain texts, calls and results."""
    return [entry._replace(kept=entry.content, data_json=entry.data_json or "{}", tools=None) for entry in entries]


def text_templates(name: str) -> list[Template | None]:
    """Return how a format writes texts alone."""
    shapes = USER_TEXT, ASSISTANT_TEXT, TEXT_AFTER_RESULTS
    return [find_template(FORMATS[name], RenderContext(None), shape) for shape in shapes]


def numbered(turn: Turn, _context: RenderContext) -> list[Json]:
    """Write a turn with the number of its message."""
    return [{"seq": piece.seq, "content": piece.block["text"]} for piece in turn.pieces]


def doubled(turn: Turn, _context: RenderContext) -> list[Json]:
    """Write the assistant's turns as two items."""
    return [{"content": piece.block["text"]} for piece in turn.pieces] * (1 + isinstance(turn, AssistantTurn))


def left(state: RenderState) -> Any:
    """Return what a rendering leaves to the next one."""
    kept = state.repair
    turns, ids = state.turns, list(kept.used_ids)
    covered = state.count, state.settled_by, state.settled_by_id
    return covered, turns.sizes, turns.extents, ids, kept.save(), kept.waiting, kept.tool_names


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FORMATS, *(f"openai-chat/{name}" for name in FORMATS["openai-chat"].dialects)])
@given(request=REQUESTS, parts=HISTORIES, cut=st.integers(0, 40))
def test_both_ways_render_the_same(name: str, request: RenderRequest, parts: list[list[Any]], cut: int) -> None:
    """Body, report and prefix are the same, at once and in two steps, whatever is between the plain exchanges."""
    format, _, dialect = name.partition("/")  # noqa: A001 - the protocol's word
    request = request._replace(format=format, dialect=dialect or None)
    entries = entries_of([message for part in parts for message in part])
    short: tuple[Rendered, RenderState | None] | None = None
    for end in (min(cut, len(entries)), len(entries)):
        short = render(request, entries[:end], None, short[1] if short else None)
        long = render(request, the_long_way(entries[:end]))

        assert long[0] == short[0]
        assert left(long[1]) == left(short[1])


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai-chat", "openai-responses"])
def test_a_long_chat_is_rendered_the_same_in_both_ways(name: str) -> None:
    """It is longer than what is looked at together."""
    entries = entries_of([*chat(1100), *LOOP, *chat(3), "Bye"])

    assert None not in text_templates(name)
    assert render(RenderRequest(name), the_long_way(entries))[0] == render(RenderRequest(name), entries)[0]


@pytest.mark.parametrize(
    ("messages", "runs"),
    [
        ([*chat(2), "Bye"], [(0, "uaua")]),
        # The last exchange is open.
        (chat(3), [(0, "uaua")]),
        # One alone is not worth it.
        (chat(2), []),
        # What follows two texts of the user's, a blank one, or a prompt.
        (["Hi", *chat(3), "Bye", " ", *chat(3), "Bye"], [(3, "uaua"), (11, "uaua")]),
        ([*chat(1), {"role": "system", "content": "Be brief"}, *chat(3), "Bye"], [(5, "uaua")]),
        (["Hi", *WORK, model("OK"), "Bye"], [(0, "ucrcrra")]),
        # Nobody answers a call.
        (["Hi", model(call()), *chat(2), "Bye"], [(2, "uaua")]),
        ([*chat(1), "Hi", model(call()), tool(result(content=[text()])), *chat(1), model("OK"), "Bye"], [(0, "uauc")]),
        *(
            (["Hi", odd, tool(result()), model("OK"), *chat(1), "Bye"], [(2, "raua")])
            for odd in (
                model(call(arguments="[]")),
                model(call(provider_metadata={"note": "x"})),
                model(call(), note="x"),
                model(" ", call()),
                model(text(provider_metadata={"note": "x"}), call()),
                model(call(), "Hm"),
                model(*(call(f"c{number}") for number in range(9))),
            )
        ),
        *(
            ([*chat(1), "Hi", model(call()), tool(odd), model("OK"), "Bye"], [(0, "uauc")])
            for odd in (
                result(is_error=True),
                result(content=" "),
                result(content=[IMAGE]),
                result(provider_metadata={"note": "x"}),
            )
        ),
    ],
)
def test_plain_exchanges_that_are_settled(messages: list[Any], runs: list[tuple[int, str]]) -> None:
    """What repair may have to do with goes the long way."""
    assert runs == [(run.start, run.letters) for run in plain_runs(entries_of(messages), 0)]


@pytest.mark.parametrize("name", FORMATS)
def test_agents_at_work_are_rendered_in_the_short_way(name: str) -> None:
    """So it is if some exchanges have to be repaired: two calls have one id, a call has no result."""
    entries = entries_of([*AGENTS, "Hi", *steps(None, [STEP] * 3, 500), OPEN_CALL, *AGENTS, "Bye"])
    rendered, state = render(RenderRequest(name, tools=frozenset({"look", "find"})), entries)
    long, left_by_long = render(RenderRequest(name, tools=frozenset({"look", "find"})), the_long_way(entries))

    assert long == rendered
    assert left(left_by_long) == left(state)
    assert None not in state.shapes.values()
    assert {shape.number for shape in state.shapes} == {0, 1, 2}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "messages",
    [
        # A format sends such ids as they are.
        ["Hi", model(call('a"b'), call("c\\d")), tool(result('a"b'), result("c\\d")), model("OK"), "Bye"],
        # The results are in another order.
        ["Hi", model(call(), call("c2")), tool(result("c2"), result()), model("OK"), "Bye"],
        # More calls than a template has.
        [
            "Hi",
            model(*(call(f"c{number}") for number in range(9))),
            tool(*(result(f"c{number}") for number in range(9))),
            model("OK"),
            *chat(1),
            "Bye",
        ],
        # A server's tool still works.
        ["Hi", model(opaque(SERVER_CALL), call()), *WORK[1:], model("OK"), "Bye"],
    ],
)
def test_exchanges_that_only_look_plain(name: str, messages: list[Any]) -> None:
    """If the short way would go wrong or take long, the long one is taken."""
    entries = entries_of(messages)
    rendered, state = render(RenderRequest(name), entries)
    long, left_by_long = render(RenderRequest(name), the_long_way(entries))

    assert long == rendered
    assert left(left_by_long) == left(state)
    assert max((shape.number for shape in state.shapes), default=0) <= 2


def reported(turn: Turn, context: RenderContext) -> list[Json]:
    """Report every text."""
    for piece in turn.pieces:
        context.note(piece, "downgraded", "it is in capital letters")
    return [{"content": piece.block["text"]} for piece in turn.pieces]


@pytest.mark.parametrize("write_turn", [numbered, doubled, reported])
def test_a_format_that_writes_texts_in_different_ways(write_turn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its turns go the long way."""
    monkeypatch.setitem(FORMATS, "other", FORMATS["gemini"]._replace(write_turn=write_turn))
    entries = entries_of([*chat(4), user("Bye")])

    assert None in text_templates("other")
    assert render(RenderRequest("other"), the_long_way(entries))[0] == render(RenderRequest("other"), entries)[0]


def dated(turn: Turn, context: RenderContext) -> list[Json]:
    """Write calls with the number of their message, and all else alike."""
    called = [{"seq": piece.seq} for piece in turn.pieces if piece.block["type"] == "tool_call"]
    return [*FORMATS["gemini"].write_turn(turn, context), *called]


def test_a_format_that_writes_calls_in_different_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go the long way, and texts the short one."""
    monkeypatch.setitem(FORMATS, "other", FORMATS["gemini"]._replace(write_turn=dated))
    entries = entries_of([*chat(3), *AGENTS[:40], "Bye"])
    rendered, state = render(RenderRequest("other"), entries)

    assert None in state.shapes.values()
    assert render(RenderRequest("other"), the_long_way(entries))[0] == rendered
