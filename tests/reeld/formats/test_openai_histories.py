"""Conversations with OpenAI's APIs: responses with everything that they may contain, cut off anywhere."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.openai_responses.read import read_response
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, Json, entries_of, opaque, prompt_in, result, text, tool, user

pytestmark = pytest.mark.slow

NAMES = ("openai-chat", "openai-responses")
IDS = st.sampled_from(["call_1", "call_2", "call_3", "mcpr_" + "0" * 50])
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA", "status": "completed"}
SPOKEN = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
SERVED = st.sampled_from(
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {"type": "web_search_call", "id": "ws_2", "status": "completed"},
        {"type": "code_interpreter_call", "id": "ci_1", "container_id": "c", "status": "completed", "new": 1},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}, "status": "completed"},
        {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": [], "status": "completed"},
        {"type": "hologram"},
    ]
)
TEXTS = st.sampled_from(["a", "", " "])
PARTS = st.one_of(
    st.builds(lambda value: {"type": "output_text", "text": value, "annotations": [], "logprobs": []}, TEXTS),
    st.just({"type": "output_text", "text": "b", "annotations": [{"type": "file_citation", "at": {"index": 1}}]}),
    st.just({"type": "refusal", "refusal": "no"}),
)
MESSAGE = st.builds(
    lambda parts, phase: {**SPOKEN, "content": parts, **({"phase": phase} if phase else {})},
    st.lists(PARTS, min_size=1, max_size=2),
    st.sampled_from([None, "commentary", "final_answer"]),
)
CALL = st.builds(
    lambda call_id, item: {
        **item,
        **({"id": call_id} if "mcp" in item["type"] else {"id": f"{item['id']}_{call_id}", "call_id": call_id}),
    },
    IDS,
    st.sampled_from(
        [
            {"type": "function_call", "id": "fc", "name": "look", "arguments": "{}", "status": "completed"},
            {"type": "function_call", "id": "fc", "name": "a.b", "arguments": '{"a":', "namespace": "n"},
            {"type": "custom_tool_call", "id": "ctc", "name": "sql", "input": "SELECT"},
            {
                "type": "computer_call",
                "id": "cu",
                "action": {"type": "click"},
                "pending_safety_checks": [],
                "status": "completed",
            },
            {"type": "shell_call", "id": "sh", "action": {"commands": ["ls"]}, "status": "completed"},
            {"type": "apply_patch_call", "id": "ap", "operation": {"type": "x"}, "status": "completed"},
            {"type": "tool_search_call", "id": "ts", "execution": "client", "arguments": {}, "status": "completed"},
            {"type": "mcp_approval_request", "name": "rm", "arguments": "{}", "server_label": "s"},
        ]
    ),
)
# What the server answered itself.
ANSWERED = st.builds(
    lambda call_id, item: {**item, ("approval_request_id" if "mcp" in item["type"] else "call_id"): call_id},
    IDS,
    st.sampled_from(
        [
            {"type": "function_call_output", "id": "fco_1", "output": "done", "status": "completed", "name": "look"},
            {"type": "computer_call_output", "output": {"type": "computer_screenshot"}, "status": "completed"},
            {"type": "shell_call_output", "output": [], "max_output_length": None, "status": "completed"},
            {"type": "mcp_approval_response", "id": "mcpr_2", "approve": True},
        ]
    ),
)


def answers(*kinds: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Return answers with such items."""
    return st.builds(
        lambda items: read_response({"model": "gpt-5", "status": "completed", "output": items}).message,
        st.lists(st.one_of(st.just(REASONING), MESSAGE, CALL, CALL, SERVED, *kinds), min_size=1, max_size=5),
    )


ANSWERS = answers()
OUTPUT = st.sampled_from(
    [
        "done",
        "",
        [IMAGE],
        [text("a"), IMAGE],
        [opaque('{"type":"computer_call_output","call_id":"x","output":{"type":"computer_screenshot"}}', "openai")],
        [opaque('{"type":"shell_call_output","call_id":"x","output":[],"status":"completed"}', "openai"), text("a")],
        [opaque('{"type":"input_file","file_id":"file-1"}', "openai")],
    ]
)
RESULTS = st.builds(
    lambda call_id, output, failed: tool(result(call_id, output, is_error=failed)), IDS, OUTPUT, st.booleans()
)
WORDS = st.sampled_from(
    [
        user("hi"),
        user("hi", IMAGE),
        user("now", provider="openai", role="developer"),
        user("x", provider="openai", name="ada"),
        user(opaque('{"type":"additional_tools","role":"developer","tools":[]}', "openai")),
    ]
)
HISTORIES = st.lists(st.one_of(WORDS, ANSWERS, ANSWERS, RESULTS, RESULTS), min_size=1, max_size=10)


def rendered(name: str, messages: list[Any], kept: RenderState | None = None) -> tuple[Rendered, RenderState, Json]:
    """Render messages, and return the body as well."""
    entries = entries_of(messages)
    found, kept = render(RenderRequest(name, "gpt-5"), entries, prompt_in(entries), kept)
    return found, kept, json.loads(found.body)


@pytest.mark.parametrize("name", NAMES)
@given(
    messages=st.lists(st.one_of(WORDS, answers(ANSWERED), answers(ANSWERED), RESULTS, RESULTS), min_size=1, max_size=10)
)
def test_every_prefix_of_an_openai_history_is_accepted_and_stays(name: str, messages: list[Any]) -> None:
    """What is ready breaks no rule; what is settled is the beginning of all later renderings."""
    kept, settled = None, list[Json]()
    for end in range(1, len(messages) + 1):
        found, kept, body = rendered(name, messages[:end], kept)
        history = body[FORMATS[name].history_key]

        assert not found.ready or [] == check(name.replace("-", "_"), body)
        is_anew = history[:1] != settled[:1] and history[0].get("type") == "compaction"  # rule R13
        assert is_anew or settled == history[: len(settled)]
        settled = history[: found.prefix.messages]
    assert rendered(name, messages)[0] == found


@pytest.mark.parametrize("name", NAMES)
@given(messages=HISTORIES)
def test_a_rendered_request_needs_no_repair(name: str, messages: list[Any]) -> None:
    """It loads, and is rendered to itself."""
    messages = [*messages, "go on"]
    body = rendered(name, messages)[2]
    found, _, again = rendered(name, FORMATS[name].read_request(body, None).messages)

    assert body == again
    assert [] == [change for change in found.report if change.action != "renamed"]
