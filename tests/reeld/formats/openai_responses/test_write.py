"""Conversations written for Responses."""

import json
from typing import Any

import pytest

from reel import text, tool_call, tool_result
from reel.providers.openai_responses import CALL_KINDS, OUTPUT_KINDS
from reeld.formats.openai_chat.read import read_request as load_chat
from reeld.formats.openai_chat.read import read_response as read_chat
from reeld.formats.openai_responses.items import SERVER_ITEMS
from reeld.formats.openai_responses.read import read_request, read_response
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, call, model, opaque, result, tool, user
from tests.reeld.formats.histories import text as words
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
    """Return an opaque block that contains an item of OpenAI's."""
    return opaque(json.dumps(item), "openai", **keys)


def items(*history: Any, to: str | None = "gpt-5") -> list[dict[str, Any]]:
    """Render a history, check the body, and return its items."""
    body, _ = sent("openai-responses", history, to)

    assert [] == check("openai_responses", body)
    found: list[dict[str, Any]] = body["input"]
    return found


def why(*history: Any, to: str | None = "gpt-5") -> list[tuple[int | None, str, str]]:
    """Render a history, and return what is reported: seq, action and reason."""
    _, report = sent("openai-responses", history, to)
    return [(change.seq, change.action, change.why) for change in report]


def answered(*output: dict[str, Any]) -> dict[str, Any]:
    """Return the message that a response of some items becomes."""
    return read_response({"model": "gpt-5", "output": list(output)}).message


def test_texts_calls_and_results_are_items() -> None:
    """The prompt is sent as the instructions."""
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


def test_messages_between_a_call_and_its_result_stay() -> None:
    """Only this API accepts results anywhere, so nothing is moved."""
    history = (ASK, model("look", call("a"), "well"), user("wait"), tool(result("a")))

    assert ["hi", "look", "function_call", "well", "wait", "function_call_output"] == [
        item.get("type") or item["content"] for item in items(*history)
    ]
    assert [] == why(*history)


def test_a_synthesized_result_comes_first() -> None:
    """It stands for what should have come at that place."""
    history = items(ASK, model(call("a"), call("b")), user("wait"), tool(result("a")))

    assert ["b", "wait", "a"] == [item.get("call_id") or item["content"] for item in history[3:]]


def test_reasoning_goes_back_before_the_item_it_led_to() -> None:
    """It is verbatim but for its id and status; the ids of later items are left out too."""
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


def test_reasoning_in_a_message_of_its_own_goes_back_before_the_next_one() -> None:
    """Programs that keep items one by one add it by itself (rule R5)."""
    history = [ASK, model(native(REASONING)), model(native(REASONING)), model("x"), model(native(REASONING))]
    sent_items = items(*history, model(call("a")), tool(result("a")))

    assert ["reasoning", "reasoning", None, "reasoning", "function_call"] == [
        item.get("type") for item in sent_items[1:-1]
    ]
    assert [] == why(*history, model(call("a")), tool(result("a")))


@pytest.mark.parametrize("to", ["gpt-5-2025-08-07", None])
def test_reasoning_goes_back_to_its_model_family(to: str | None) -> None:
    """Releases of one model read each other's reasoning, and an unknown model is not held against it."""
    assert "reasoning" == items(answered(REASONING, SEARCH), to=to)[0]["type"]


@pytest.mark.parametrize(
    ("history", "reported"),
    [
        ([model(native(REASONING, model="o3"), "x")], (1, "dropped", "an opaque block of another model, o3")),
        ([model(native(REASONING))], (1, "dropped", "reasoning without the content that it led to")),
        (
            [model(native(REASONING), finish_reason="incomplete"), model("x")],
            (1, "dropped", "reasoning without the content that it led to"),
        ),
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
def test_incomplete_reasoning_is_left_out(history: list[Any], reported: tuple[int, str, str]) -> None:
    """It is reported."""
    assert [reported] == why(*history)
    assert "reasoning" not in [item.get("type") for item in items(*history, ASK)]


def test_texts_of_one_message_are_its_parts() -> None:
    """Each has its own citations, and a refusal is a part too."""
    cited = {"type": "text", "text": "x", "provider_metadata": {"provider": "openai", "annotations_json": '[{"a":1}]'}}
    refused = {"type": "text", "text": "no", "provider_metadata": {"provider": "openai", "refusal": True}}
    (item,) = items(model("y", cited, refused))

    assert [
        {"type": "output_text", "text": "y"},
        {"type": "output_text", "text": "x", "annotations": [{"a": 1}]},
        {"type": "refusal", "refusal": "no"},
    ] == item["content"]


def test_citations_of_chat_are_sent_in_the_form_of_responses() -> None:
    """One that lacks a required key is left out."""
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


def test_texts_of_two_phases_are_two_messages() -> None:
    """An unknown phase is left out."""
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
def test_media_are_parts_of_messages_and_results(block: dict[str, Any], part: dict[str, Any]) -> None:
    """Images and files are content parts in both."""
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
def test_blocks_that_responses_does_not_accept_are_left_out(history: dict[str, Any], reason: str) -> None:
    """They are reported, and the rest of the message stays."""
    assert [(2, "dropped", reason)] == why(ASK, history)
    assert [{"role": "user", "content": "hi"}] == items(ASK, history)


def test_opaque_items_go_back() -> None:
    """An item has its id only if the API requires it."""
    tools = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": []}
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x", "created_by": "y"}

    assert [
        {"role": "user", "content": "hi"},
        {"type": "compaction", "encrypted_content": "x"},
        {"role": "user", "content": "a"},
        {"type": "additional_tools", "role": "developer", "tools": []},
        {"role": "user", "content": "b"},
        SEARCH,
    ] == items(ASK, model(native(compaction)), user("a", native(tools), "b"), model(native(SEARCH)))


@pytest.mark.parametrize(("usage", "kept"), [({"svg_usage": {"input_tokens": 1}}, True), ({"svg_usage": None}, False)])
def test_what_a_drawing_cost_goes_back(usage: dict[str, Any], kept: bool) -> None:
    """The API takes it, but not null."""
    drawing = {"type": "image_generation_call", "id": "ig_1", "result": "AAAA", "status": "completed"}

    assert {**drawing, **(usage if kept else {})} == items(ASK, model(native({**drawing, **usage})), ASK)[1]


def test_an_item_with_an_id_is_sent_once() -> None:
    """The API refuses two items with one id; the later one is left out, however much is settled between."""
    history = (model(native(SEARCH), "a"), ASK, model(native(SEARCH), "b"), ASK, model(native(SEARCH), "c"))

    assert 1 == [item.get("type") for item in items(*history)].count("web_search_call")
    assert [(seq, "dropped", "the history already has an item ws_1") for seq in (3, 5)] == why(*history)


def test_instruction_roles_go_back() -> None:
    """They are sent whichever API they came from."""
    history = (
        ASK,
        user("a", provider="openai", role="developer"),
        user("b", provider="openai", role="king"),
        user("c", provider="anthropic", role="system"),
        user("d", role="developer"),
    )

    assert ["user", "developer", "user", "system", "developer"] == [item["role"] for item in items(*history)]


def test_names_of_speakers_are_left_out() -> None:
    """That is reported for the user, the assistant and instructions."""
    history = (user("a", provider="openai", name="ada"), model("b", provider="openai", name="bob"))
    prompt = load_chat({"messages": [{"role": "system", "name": "boss", "content": "x"}]}).messages

    assert [(1, "ada"), (2, "bob")] == [(seq, reason.split("'")[1]) for seq, _, reason in why(*history)]
    assert ["boss"] == [reason.split("'")[1] for _, _, reason in why(*prompt)]


def test_the_first_system_message_of_a_prompt_is_the_instructions() -> None:
    """The others come before the history."""
    given = {
        "instructions": "a",
        "input": [{"role": "developer", "content": "b"}, {"role": "user", "content": "hi"}],
    }

    assert given == sent("openai-responses", read_request(given).messages)[0]


def test_a_prompt_of_developer_messages_has_no_instructions() -> None:
    """They come before the history."""
    given = {"input": [{"role": "developer", "content": "b"}, {"role": "user", "content": "hi"}]}

    assert given == sent("openai-responses", read_request(given).messages)[0]


def test_the_output_of_a_custom_call_is_of_its_kind() -> None:
    """So is one that was synthesized."""
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


def test_calls_of_other_kinds_go_back_with_their_outputs() -> None:
    """Each output is of the kind that its call requires."""
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
def test_a_plain_result_becomes_an_output_of_the_kind_of_its_call(item: dict[str, Any], made: dict[str, Any]) -> None:
    """It never becomes consent."""
    answer = answered(item)
    call_id = answer["content"][0]["id"]
    history = items(ASK, answer, tool(result(call_id, "no", is_error=True)))

    assert [item, made] == history[1:]


def test_a_screenshot_is_the_picture_of_the_result() -> None:
    """Without one it is a black pixel."""
    seen = items(ASK, answered(COMPUTER), tool(result("call_1", [IMAGE])))
    unseen = items(ASK, answered(COMPUTER), user("stop"))

    assert {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"} == seen[2]["output"]
    assert unseen[2]["output"]["image_url"].startswith("data:image/png;base64,iVBOR")


def test_a_call_with_an_item_id_is_sent_once() -> None:
    """The second one is a function call, and its output that of one."""
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
def test_a_kept_call_that_is_not_one_is_a_function_call(metadata: dict[str, Any]) -> None:
    """Anybody may write metadata, so the item in it is checked."""
    history = items(ASK, model(call("call_1", provider_metadata=metadata)), tool(result("call_1")))

    assert ["function_call", "function_call_output"] == [item["type"] for item in history[1:]]


def test_responses_tools_are_renamed_in_extra() -> None:
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


def tied(*output: dict[str, Any], store: bool | None = None) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Render an answer to a question; return its items, and what is reported: action and reason."""
    extra = {} if store is None else {"store": store}
    body, report = sent("openai-responses", [ASK, answered(*output), ASK], "gpt-5", extra)

    assert [] == check("openai_responses", body)
    return body["input"][1:-1], [(change.action, change.why) for change in report]


LOST = "the server requires it together with its reasoning, which is not sent"


PAIRED = {*CALL_KINDS, *OUTPUT_KINDS}
LOOKED_UP = {kind for kind, shape in SERVER_ITEMS.items() if "id" in shape.required} - {"item_reference"} - PAIRED


@pytest.mark.parametrize("kind", sorted(LOOKED_UP))
def test_a_served_item_is_left_out_with_its_reasoning(kind: str) -> None:
    """The server looks it up by its id and refuses it without the reasoning that it followed (rule R10)."""
    values = {"id": "x_1", "queries": [], "tools": [], "container_id": "c", "server_label": "s"}
    item = {**dict.fromkeys(SERVER_ITEMS[kind].required, "x"), **values, "type": kind}
    bare = {**REASONING, "encrypted_content": None}

    assert ([], [("dropped", "reasoning without encrypted_content"), ("dropped", LOST)]) == tied(bare, item)
    assert kind in [sent["type"] for sent in tied(bare, item, store=False)[0]]


def test_a_served_item_is_tied_to_the_newest_reasoning_before_it() -> None:
    """What was said between does not part them, and other reasoning, or none, does not tie it."""
    bare = {"type": "reasoning", "id": "rs_0", "summary": []}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    again = {**SEARCH, "id": "ws_2"}

    assert [again["id"]] == [item["id"] for item in tied(SEARCH, bare, message, SEARCH, REASONING, again)[0][-1:]]
    assert [("dropped", LOST)] == tied(bare, message, SEARCH, again)[1][1:2]
    assert [SEARCH] == tied(SEARCH)[0]


def test_reasoning_is_sent_with_its_id_before_an_item_that_is_looked_up() -> None:
    """Without ``store`` no id is needed (rule R10)."""
    assert [REASONING["id"], SEARCH["id"]] == [item.get("id") for item in tied(REASONING, SEARCH)[0]]
    assert [None, SEARCH["id"]] == [item.get("id") for item in tied(REASONING, SEARCH, store=False)[0]]


def test_reasoning_is_left_out_with_the_message_that_it_led_to() -> None:
    """What comes after a message that cannot be sent is not what the reasoning led to (rule R5)."""
    history = [ASK, model(native(REASONING)), model(opaque("{}")), model("x")]

    assert [None, None] == [item.get("type") for item in items(*history)]


def test_reasoning_in_a_message_of_its_own_ties_what_follows() -> None:
    """A served item goes together with it, also if something was said between (rule R10)."""
    bare = {**REASONING, "encrypted_content": None}
    last = [model("x"), model(native(SEARCH)), ASK]

    assert [REASONING["id"], SEARCH["id"]] == [
        item.get("id") for item in items(ASK, model(native(REASONING)), model(native(SEARCH)), ASK)[1:-1]
    ]
    assert [(2, "dropped"), (4, "dropped")] == [entry[:2] for entry in why(ASK, model(native(bare)), *last)]


def test_a_call_that_lost_its_reasoning_is_a_function_call() -> None:
    """Its result is then the output of a function (rule R10)."""
    history = (ASK, answered({**REASONING, "encrypted_content": ""}, COMPUTER), tool(result("call_1", "done")))

    assert ["function_call", "function_call_output"] == [item["type"] for item in items(*history)[1:]]
    assert [(2, "dropped"), (2, "downgraded")] == [entry[:2] for entry in why(*history)]


def test_an_output_of_another_kind_than_its_call_is_reported() -> None:
    """It cannot be sent after a function call."""
    history = (ASK, model(call("call_1")), tool(result("call_1", [words("x"), native(SHOT)])))

    assert "x" == items(*history)[-1]["output"]
    assert [(3, "dropped", "in the result: an output that does not belong to a function_call")] == why(*history)


SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "action": {"commands": ["ls"]}, "status": "completed"}
SHELL_OUTPUT = {
    "type": "shell_call_output",
    "id": "sho_1",
    "call_id": "call_1",
    "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    "max_output_length": None,
}


def test_a_call_that_the_server_answered_goes_back_with_its_output() -> None:
    """It is not an open call (rule R12)."""
    sent_back = [{key: value for key, value in item.items() if key != "id"} for item in (SHELL, SHELL_OUTPUT)]

    assert sent_back == items(ASK, answered(SHELL, SHELL_OUTPUT), ASK)[1:-1]
    assert [] == why(ASK, answered(SHELL, SHELL_OUTPUT), ASK)


def test_the_output_of_a_call_that_is_not_in_its_response_is_left_out() -> None:
    """Without the call the API refuses it, and so it does a second answer with the same items (rule R12)."""
    unpaired = "a server's tool without the other half of its call and result"
    twice = answered(SHELL, SHELL_OUTPUT)

    assert [(2, "dropped", unpaired)] == why(ASK, answered(SHELL_OUTPUT), ASK)
    assert [
        (4, "dropped", "the history already has an item call_1"),
        (4, "dropped", unpaired),
    ] == why(ASK, twice, ASK, twice, ASK)
    assert 1 == [item.get("type") for item in items(ASK, twice, ASK, twice)].count("shell_call_output")


def test_a_served_call_that_lost_its_reasoning_takes_its_output_along() -> None:
    """Both are left out (rules R10 and R12)."""
    bare = {**REASONING, "encrypted_content": None}
    shot = {**SHOT, "id": "cuo_1", "status": "completed"}

    assert [] == tied(bare, COMPUTER, shot)[0]
    assert ["reasoning", "computer_call", "computer_call_output"] == [
        item["type"] for item in tied(REASONING, COMPUTER, shot)[0]
    ]


def test_the_name_and_namespace_of_an_output_go_back() -> None:
    """The name is the one that the tool is sent under."""
    output = {"type": "function_call_output", "call_id": "c1", "output": "x", "name": "a.b", "namespace": "n"}
    given = [
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c1", "name": "a.b", "arguments": "{}"},
        output,
    ]
    sent_back = items(*read_request({"input": given}).messages)

    assert {**output, "name": sent_back[1]["name"]} == sent_back[2]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_file", "file_url": "https://x/a.pdf", "filename": "a.pdf", "detail": "high"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD", "detail": "low"},
    ],
)
def test_a_file_goes_back_as_it_came(part: dict[str, Any]) -> None:
    """With its name, also beside a URL, and its detail (rule R4)."""
    given = [{"role": "user", "content": [part, {"type": "input_text", "text": "x"}]}]

    assert part == items(*read_request({"input": given}).messages)[0]["content"][0]


def test_the_arguments_of_a_call_are_sent_as_they_are_stored() -> None:
    """Its escapes too: a cache compares bytes (rule X8)."""
    arguments = r'{ "a" : "\u00e9\/" }'

    assert arguments == items(ASK, model(call("c", arguments=arguments)), tool(result("c")))[1]["arguments"]


def test_a_second_call_with_the_id_of_an_item_is_a_function_call() -> None:
    """The API refuses two items with one id, whatever the ids of the calls are (rule R3)."""
    again = {**COMPUTER, "call_id": "call_again"}
    sent = items(ASK, answered(COMPUTER, again), ASK)

    assert ["computer_call", "function_call", "computer_call_output", "function_call_output"] == [
        item["type"] for item in sent[1:-1]
    ]
    assert (2, "downgraded", f"it is sent as a function call: the history already has an item {COMPUTER['id']}") in why(
        ASK, answered(COMPUTER, again), ASK
    )
