"""Conversations in the words of Responses."""

import json
from typing import Any

import pytest

from reel import text, tool_call, tool_result
from reeld.formats.openai_chat.read import read_request as load_chat
from reeld.formats.openai_chat.read import read_response as read_chat
from reeld.formats.openai_responses.read import read_request, read_response
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, call, model, opaque, result, tool, user
from tests.reeld.formats.sending import sent

ASK = text("user", "hi")
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA", "status": "completed"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
COMPUTER = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "call_1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}
SHOT = {"type": "computer_call_output", "call_id": "call_1", "output": {"type": "computer_screenshot", "file_id": "f"}}
APPROVAL = {
    "type": "mcp_approval_request",
    "id": "mcpr_" + "0" * 50,
    "name": "rm",
    "arguments": "{}",
    "server_label": "s",
}


def native(item: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """Give an opaque block that holds an item of OpenAI's."""
    return opaque(json.dumps(item), "openai", **keys)


def items(*history: Any, to: str | None = "gpt-5") -> list[dict[str, Any]]:
    """Render a history, see that the API takes it, and give its items."""
    body, _ = sent("openai-responses", history, to)

    assert [] == check("openai_responses", body)
    found: list[dict[str, Any]] = body["input"]
    return found


def why(*history: Any, to: str | None = "gpt-5") -> list[tuple[int | None, str, str]]:
    """Render a history, and give what is reported: seq, action and reason."""
    _, report = sent("openai-responses", history, to)
    return [(change.seq, change.action, change.why) for change in report]


def answered(*output: dict[str, Any]) -> dict[str, Any]:
    """Give the message that a response of some items becomes."""
    return read_response({"model": "gpt-5", "output": list(output)}).message


def test_a_plain_conversation() -> None:
    """The prompt is the instructions; texts, calls and results are items."""
    history = (
        text("system", "be brief"),
        ASK,
        tool_call("a", "ls", "{}"),
        tool_result("a", "1"),
        text("assistant", "1"),
    )
    body, report = sent("openai-responses", history, "gpt-5")

    assert {
        "model": "gpt-5",
        "instructions": "be brief",
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
            {"role": "assistant", "content": "1"},
        ],
    } == body
    assert [] == report


def test_what_is_said_between_a_call_and_its_result_stays_there() -> None:
    """This API alone takes results wherever they came, and so nothing is moved."""
    history = (ASK, model("look", call("a"), "well"), user("wait"), tool(result("a")))

    assert ["hi", "look", "function_call", "well", "wait", "function_call_output"] == [
        item.get("type") or item["content"] for item in items(*history)
    ]
    assert [] == why(*history)


def test_a_result_that_was_made_up_comes_first() -> None:
    """It stands for what should have come then."""
    history = items(ASK, model(call("a"), call("b")), user("wait"), tool(result("a")))

    assert ["b", "wait", "a"] == [item.get("call_id") or item["content"] for item in history[3:]]


def test_reasoning_goes_back_before_what_it_led_to() -> None:
    """Verbatim but for its id and status, and the ids of what follows are left out too."""
    spoken = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary"}
    asked = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": "{}"}
    answer = answered(REASONING, {**spoken, "content": [{"type": "output_text", "text": "x"}]}, REASONING, asked)
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}

    assert [
        reasoning,
        {"role": "assistant", "content": "x", "phase": "commentary"},
        reasoning,
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
    ] == items(answer, tool_result("a", "1"))[:4]


@pytest.mark.parametrize("to", ["gpt-5-2025-08-07", None])
def test_reasoning_of_the_same_family(to: str | None) -> None:
    """Releases of one model read each other's reasoning; where nobody is named nothing stands in its way."""
    assert "reasoning" == items(answered(REASONING, SEARCH), to=to)[0]["type"]


@pytest.mark.parametrize(
    ("history", "reported"),
    [
        ([model(native(REASONING, model="o3"), "x")], (1, "dropped", "an opaque block of another model, o3")),
        ([model(native(REASONING))], (1, "dropped", "reasoning without the content that it led to")),
        ([model(native(REASONING)), model("x")], (1, "dropped", "reasoning without the content that it led to")),
        (
            [model(native({**REASONING, "encrypted_content": None}), "x")],
            (1, "dropped", "reasoning without encrypted_content"),
        ),
        ([model(native({**REASONING, "summary": "x"}), "x")], (1, "dropped", "reasoning without encrypted_content")),
        (
            [model({"type": "thinking", "text": "hm", "provider": "anthropic"}, "x")],
            (1, "dropped", "thinking of anthropic"),
        ),
        (
            [model({"type": "thinking", "text": "hm", "provider": "openai"}, "x")],
            (1, "dropped", "Responses accepts reasoning only as items"),
        ),
        ([model({"type": "redacted_thinking", "data": "x"}, "x")], (1, "dropped", "thinking of an unknown provider")),
    ],
)
def test_reasoning_that_cannot_go_back(history: list[Any], reported: tuple[int, str, str]) -> None:
    """It is left out and reported."""
    assert [reported] == why(*history)
    assert "reasoning" not in [item.get("type") for item in items(*history, ASK)]


def test_texts_of_one_answer_are_parts_of_one_message() -> None:
    """With what belongs to each: citations, refusals."""
    cited = {"type": "text", "text": "x", "provider_metadata": {"provider": "openai", "annotations_json": '[{"a":1}]'}}
    refused = {"type": "text", "text": "no", "provider_metadata": {"provider": "openai", "refusal": True}}
    (item,) = items(model("y", cited, refused))

    assert [
        {"type": "output_text", "text": "y"},
        {"type": "output_text", "text": "x", "annotations": [{"a": 1}]},
        {"type": "refusal", "refusal": "no"},
    ] == item["content"]


def test_citations_of_chat_completions() -> None:
    """It nests what it cites; what lacks something here is left out."""
    cited = {"url": "https://x", "title": "X", "start_index": 0, "end_index": 1}
    given = [{"type": "url_citation", "url_citation": of} for of in (cited, {"url": "https://y"})]
    (answer, bare) = (
        read_chat({"choices": [{"message": {"content": "x", "annotations": annotations}}]}).message
        for annotations in (given, given[1:])
    )

    assert [{"type": "output_text", "text": "x", "annotations": [{"type": "url_citation", **cited}]}] == items(answer)[
        0
    ]["content"]
    assert "x" == items(bare)[0]["content"]


def test_phases_part_a_message() -> None:
    """What is said on the way and the answer are two items; an unknown phase is none."""
    texts = [
        {"type": "text", "text": phase, "provider_metadata": {"provider": "openai", "phase": phase}}
        for phase in ("commentary", "final_answer", "new moon")
    ]

    assert ["commentary", "final_answer", None] == [item.get("phase") for item in items(model(*texts))]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (IMAGE, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
        (
            {**IMAGE, "provider_metadata": {"provider": "openai", "detail": "low"}},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
        ),
        (
            {**IMAGE, "provider_metadata": {"provider": "openai", "detail": 5}},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        ),
        (
            {"type": "media", "mime_type": "text/csv", "data_base64": "QUJD", "name": "a.csv"},
            {"type": "input_file", "filename": "a.csv", "file_data": "data:text/csv;base64,QUJD"},
        ),
        (
            {"type": "media", "mime_type": "application/pdf", "data_base64": "QUJD"},
            {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,QUJD"},
        ),
        (
            {"type": "media", "mime_type": "application/zip", "data_base64": "QUJD"},
            {"type": "input_file", "filename": "file", "file_data": "data:application/zip;base64,QUJD"},
        ),
        (
            {"type": "media", "mime_type": "application/pdf", "url": "https://x/a.pdf"},
            {"type": "input_file", "file_url": "https://x/a.pdf"},
        ),
        (native({"type": "input_file", "file_id": "file-1"}), {"type": "input_file", "file_id": "file-1"}),
    ],
)
def test_what_is_shown(block: dict[str, Any], part: dict[str, Any]) -> None:
    """Media are parts of a message, and of a result."""
    history = items(user(block), model(call("a")), tool(result("a", [block])))

    assert [part] == history[0]["content"]
    assert [part] == history[2]["output"]


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        (user({"type": "media", "mime_type": "audio/wav", "data_base64": "A"}), "media of type audio/wav"),
        (user({"type": "media", "mime_type": "image/tiff", "data_base64": "A"}), "media of type image/tiff"),
        (model(IMAGE), "media from the assistant"),
        (user(opaque("{}", "gemini")), "an opaque block of gemini"),
        (
            user(native({"type": "file"}, provider_metadata={"provider": "openai", "format": "openai-chat"})),
            "an opaque block of Chat Completions",
        ),
        (user(opaque("[]", "openai")), "an opaque block that is not an item of a client's"),
        (user(opaque('{"type":[]}', "openai")), "an opaque block that is not an item of a client's"),
        (user(native(SEARCH)), "an opaque block that is not an item of a client's"),
        (model(native({"type": "hologram"})), "an item that the API does not accept back"),
        (model(native({**SEARCH, "id": "a b"})), "an item that the API does not accept back"),
        (model(native({**SEARCH, "id": 5})), "an item that the API does not accept back"),
        (model(native({"type": "web_search_call", "id": "ws_1"})), "an item that the API does not accept back"),
    ],
)
def test_what_has_no_form_is_left_out(history: dict[str, Any], reason: str) -> None:
    """It is reported, and the rest stands."""
    assert [(2, "dropped", reason)] == why(ASK, history)
    assert [{"role": "user", "content": "hi"}] == items(ASK, history)


def test_whole_items_go_back() -> None:
    """What the server did, and what a client put between messages; an id only where the API asks for it."""
    tools = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": []}
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x", "created_by": "y"}

    assert [
        {"role": "user", "content": "a"},
        {"type": "additional_tools", "role": "developer", "tools": []},
        {"role": "user", "content": "b"},
        {"type": "compaction", "encrypted_content": "x"},
        SEARCH,
    ] == items(user("a", native(tools), "b"), model(native(compaction), native(SEARCH)))


def test_an_item_stands_once() -> None:
    """The API takes no two items with one id; the later one is left out, however much is settled between."""
    history = (model(native(SEARCH), "a"), ASK, model(native(SEARCH), "b"), ASK, model(native(SEARCH), "c"))

    assert 1 == [item.get("type") for item in items(*history)].count("web_search_call")
    assert [(seq, "dropped", "the history already has an item ws_1") for seq in (3, 5)] == why(*history)


def test_roles_go_back() -> None:
    """Words from above, whoever's request they stood in."""
    history = (
        ASK,
        user("a", provider="openai", role="developer"),
        user("b", provider="openai", role="king"),
        user("c", provider="anthropic", role="system"),
        user("d", role="developer"),
    )

    assert ["user", "developer", "user", "system", "developer"] == [item["role"] for item in items(*history)]


def test_names_have_no_place() -> None:
    """Who spoke is lost here, which is reported: the user, the assistant, whoever is above."""
    history = (user("a", provider="openai", name="ada"), model("b", provider="openai", name="bob"))
    prompt = load_chat({"messages": [{"role": "system", "name": "boss", "content": "x"}]}).messages

    assert [(1, "ada"), (2, "bob")] == [(seq, reason.split("'")[1]) for seq, _, reason in why(*history)]
    assert ["boss"] == [reason.split("'")[1] for _, _, reason in why(*prompt)]


def test_a_prompt_of_several_messages() -> None:
    """The first is the instructions if it is the system's, all others stand before the history."""
    given = {
        "instructions": "a",
        "input": [{"role": "developer", "content": "b"}, {"role": "user", "content": "hi"}],
    }

    assert given == sent("openai-responses", read_request(given).messages)[0]


def test_a_prompt_of_the_developers() -> None:
    """Without a system message there are no instructions."""
    given = {"input": [{"role": "developer", "content": "b"}, {"role": "user", "content": "hi"}]}

    assert given == sent("openai-responses", read_request(given).messages)[0]


def test_a_custom_call() -> None:
    """Its answer is of its kind, also when it is made up."""
    custom = {"provider": "openai", "type": "custom_tool_call", "namespace": "db"}
    history = items(
        ASK,
        model(
            call("a", "sql", '{"input": "SELECT"}', provider_metadata=custom),
            call("b", "sql", "DROP", provider_metadata=custom),
        ),
        tool(result("a", "1")),
    )

    assert [("custom_tool_call", "SELECT", "db"), ("custom_tool_call", "DROP", "db")] == [
        (item["type"], item["input"], item["namespace"]) for item in history[1:3]
    ]
    assert ["custom_tool_call_output"] * 2 == [item["type"] for item in history[3:]]


def test_calls_of_other_kinds_go_back_whole() -> None:
    """So do their answers, where they were given in the kind that fits."""
    given = [{"role": "user", "content": "hi"}, COMPUTER, SHOT]

    assert given == items(*read_request({"input": given}).messages)


@pytest.mark.parametrize(
    ("item", "made"),
    [
        (
            {"type": "shell_call", "call_id": "call_1", "action": {"commands": []}},
            {
                "type": "shell_call_output",
                "call_id": "call_1",
                "output": [{"stdout": "no", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
            },
        ),
        (
            {"type": "apply_patch_call", "call_id": "call_1", "operation": {}, "status": "completed"},
            {"type": "apply_patch_call_output", "call_id": "call_1", "status": "failed", "output": "no"},
        ),
        (
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "action": {}, "status": "completed"},
            {"type": "local_shell_call_output", "id": "call_1", "output": "no"},
        ),
        (
            {"type": "tool_search_call", "call_id": "call_1", "execution": "client", "arguments": {}},
            {"type": "function_call_output", "call_id": "call_1", "output": "Error: no"},
        ),
        (
            APPROVAL,
            {
                "type": "mcp_approval_response",
                "approval_request_id": APPROVAL["id"],
                "approve": False,
                "reason": "no",
            },
        ),
    ],
)
def test_plain_answers_to_calls_of_other_kinds(item: dict[str, Any], made: dict[str, Any]) -> None:
    """A plain result becomes an output of the kind that the call asks for; consent is never made of one."""
    answer = answered(item)
    call_id = answer["content"][0]["id"]
    history = items(ASK, answer, tool(result(call_id, "no", is_error=True)))

    assert [item, made] == history[1:]


def test_a_screen_is_the_picture_that_was_given() -> None:
    """One that nobody saw is black."""
    seen = items(ASK, answered(COMPUTER), tool(result("call_1", [IMAGE])))
    unseen = items(ASK, answered(COMPUTER), user("stop"))

    assert {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"} == seen[2]["output"]
    assert unseen[2]["output"]["image_url"].startswith("data:image/png;base64,iVBOR")


def test_a_call_with_an_id_of_its_own_stands_once() -> None:
    """Told twice, the second is a plain call, and its answer a plain output."""
    once = (answered(COMPUTER), tool(result("call_1", [native(SHOT)])))
    history = items(ASK, *once, ASK, *once)

    assert ["computer_call", "computer_call_output", "function_call", "function_call_output"] == [
        item["type"] for item in history if "type" in item
    ]
    assert "" == history[-1]["output"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"provider": "openai", "type": "computer_call"},
        {"provider": "openai", "type": "computer_call", "item_json": "[]"},
        {"provider": "openai", "type": "computer_call", "item_json": json.dumps(APPROVAL)},
        {"provider": "openai", "type": "computer_call", "item_json": json.dumps({**COMPUTER, "call_id": 5})},
        {"provider": "gemini", "type": "computer_call", "item_json": json.dumps(COMPUTER)},
    ],
)
def test_what_anybody_wrote_is_not_believed(metadata: dict[str, Any]) -> None:
    """A call is plain unless its item is one."""
    history = items(ASK, model(call("call_1", provider_metadata=metadata)), tool(result("call_1")))

    assert ["function_call", "function_call_output"] == [item["type"] for item in history[1:]]


def test_tools_are_renamed_wherever_they_are_named() -> None:
    """A tool that is called under another name is offered and chosen under it."""
    extra = {
        "tools": [{"type": "function", "name": "my ls", "parameters": {}}, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "my ls"},
    }
    body, _ = sent("openai-responses", [ASK, tool_call("a", "my ls", "{}")], "gpt-5", extra)
    name = body["input"][1]["name"]

    assert name != "my ls"
    assert [name, None] == [tool.get("name") for tool in body["tools"]]
    assert name == body["tool_choice"]["name"]
