"""What is rendered for Google's Interactions API."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidParams
from tests.formats.cases.gemini_interactions import DUMMY, HI, IMAGE, THOUGHT, answer, call, user
from tests.formats.cases.gemini_interactions import model as output
from tests.formats.checker import check
from tests.reeld.formats import histories
from tests.reeld.formats.histories import PDF, model, opaque, result, text, thinking, tool
from tests.reeld.formats.histories import user as said
from tests.reeld.formats.sending import sent

Json = dict[str, Any]
NAME, MODEL = "gemini-interactions", "gemini-3-pro-preview"
SIGNED: Json = {"provider": "gemini", "model": MODEL, "signature": "AAAA"}
SEARCH: Json = {"type": "google_search_call", "id": "s1", "arguments": {}}
FOUND: Json = {"type": "google_search_result", "call_id": "s1", "result": []}


def steps(*messages: Any, to: str | None = MODEL) -> tuple[list[Json], list[str]]:
    """Return the steps of a conversation, and the actions of the report."""
    body, report = sent(NAME, messages, to)
    problems = check("gemini_interactions", body, to)
    assert [] == [problem for problem in problems if problem.rule != "last-role"]
    found: list[Json] = body["input"]
    return found, [change.action for change in report]


def made(*blocks: Json | str, to: str | None = MODEL) -> list[Json]:
    """Return the steps of a turn of the model's that the user answers."""
    return steps(said("Hi"), model(*blocks), said("Hi"), to=to)[0][1:-1]


def thought(words: str = "", **more: Any) -> Json:
    return thinking(words, "AAAA", "gemini", model=MODEL, **more)


def test_the_top_of_a_body() -> None:
    """It has the prompt, the model, and nothing that the server would keep, unless extra says so (rule I8)."""
    history = [{"role": "system", "content": "S"}, said("Hi")]

    assert {"store": False, "model": MODEL, "system_instruction": "S", "input": [HI]} == sent(NAME, history, MODEL)[0]
    assert sent(NAME, history, MODEL, {"store": True})[0]["store"] is True


@pytest.mark.parametrize("key", ["previous_interaction_id", "continuation_token"])
def test_nothing_is_continued_on_the_server(key: str) -> None:
    """The body has the whole history, so an id of another interaction is refused (rule I8)."""
    with pytest.raises(InvalidParams, match=f"extra: {key} continues a history on the server"):
        sent(NAME, [said("Hi")], MODEL, {key: "x"})


def test_a_tool_loop_of_its_own() -> None:
    """A thought, a text and a call go back as steps, the result after them."""
    found, report = steps(said("Hi"), model(thought("hm"), "OK", histories.call()), tool(result()))

    summary = [{"type": "text", "text": "hm"}]
    assert [HI, {**THOUGHT, "summary": summary}, output(text("OK")), call(), answer()] == found
    assert [] == report


def test_another_providers_call_gets_a_dummy() -> None:
    """A turn with a call begins with a signed thought; before Gemini 3 it need not (rule I3)."""
    history = [said("Hi"), model("OK", histories.call()), tool(result())]

    assert [HI, DUMMY, output(text("OK")), call(), answer()] == steps(*history)[0]
    assert [HI, output(text("OK")), call(), answer()] == steps(*history, to="gemini-2.5-flash")[0]


def test_a_signature_of_generate_content_is_a_thought() -> None:
    """What a text or a call is signed with comes before it (rule I3)."""
    signed = histories.call(provider_metadata=SIGNED)

    assert [THOUGHT, call(), answer()] == steps(said("Hi"), model(signed), tool(result()))[0][1:]
    assert [THOUGHT, output(text("x")), THOUGHT, output(text("y"))] == made(
        text("x", provider_metadata=SIGNED), text("y", provider_metadata=SIGNED)
    )


def test_a_lone_signature_is_a_thought() -> None:
    """An empty text of generateContent may be signed (rule G3)."""
    assert [THOUGHT, output(text("x"))] == made(opaque('{"thoughtSignature":"AAAA"}', "gemini"), "x")


def test_a_signature_at_the_end_is_left_out() -> None:
    """A turn does not end in a thought."""
    found, report = steps(said("Hi"), model("x", opaque('{"thoughtSignature":"AAAA"}', "gemini")), said("Hi"))

    assert ([HI, output(text("x")), HI], ["dropped"]) == (found, report)


def test_a_thought_without_a_signature_is_left_out() -> None:
    """The API refuses it (rule I3)."""
    found, report = steps(said("Hi"), model(thinking("hm", None, "gemini"), "OK"), said("Hi"))

    assert ([HI, output(text("OK")), HI], ["dropped"]) == (found, report)


def test_a_summary_of_several_parts_comes_back() -> None:
    """It is kept beside the text; what is neither a text nor a picture is not sent."""
    summary = [{"type": "text", "text": "a"}, IMAGE]
    others = [1, {"type": "x"}, {"type": "text", "text": " "}, {"type": "image"}]
    kept = {"provider": "gemini", "summary_json": json.dumps([*summary, *others])}

    assert [{**THOUGHT, "summary": summary}, output(text("x"))] == made(thought("a", provider_metadata=kept), "x")


def test_texts_and_media_of_a_turn_are_one_output() -> None:
    """Neighbours are joined; a turn with media begins with a thought (rule I3)."""
    assert [output(text("x"), text("y"))] == made("x", "y")
    assert [DUMMY, output(text("x"), IMAGE)] == made("x", histories.IMAGE)


def test_the_steps_of_a_servers_tool_come_back() -> None:
    """Both or none, without keys that the API does not know and without an empty signature (rules I6 and X9)."""
    pair = [opaque(json.dumps({**step, "signature": "", "x": 1}), "gemini") for step in (SEARCH, FOUND)]

    assert [DUMMY, SEARCH, FOUND, output(text("x"))] == made(*pair, "x")
    assert [output(text("x"))] == made(pair[0], "x") == made(pair[1], "x")
    assert [DUMMY, SEARCH, FOUND, output(text("x"))] == made(*pair, *pair, "x")


@pytest.mark.parametrize(
    "value",
    [
        {**SEARCH, "id": ""},
        {**SEARCH, "arguments": "x"},
        {**SEARCH, "signature": []} | {"id": 1},
        {"type": "code_execution_result", "call_id": "s1"},
        {"type": []},
        {"executableCode": {"code": "1"}},
        {"thoughtSignature": 1},
        {"type": "image"},
        [],
    ],
)
def test_a_step_that_the_api_does_not_accept_back(value: Any) -> None:
    """It is left out, with a report (rule I6)."""
    found, report = steps(said("Hi"), model(opaque(json.dumps(value), "gemini"), "x"), said("Hi"))

    assert ([HI, output(text("x")), HI], ["dropped"]) == (found, report)


def test_a_step_of_the_models_from_the_user_is_left_out() -> None:
    """Only the model makes it."""
    assert [HI] == steps(said(opaque(json.dumps(SEARCH), "gemini"), "Hi"))[0]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (histories.IMAGE, IMAGE),
        (PDF, {"type": "document", "uri": PDF["url"], "mime_type": "application/pdf"}),
        ({"type": "media", "mime_type": "image/*", "url": "u"}, {"type": "image", "uri": "u"}),
        (
            {**histories.IMAGE, "provider_metadata": {"provider": "gemini", "resolution": "low"}},
            {**IMAGE, "resolution": "low"},
        ),
        (
            opaque('{"fileData":{"fileUri":"gs://a","mimeType":"video/mp4"}}', "gemini"),
            {"type": "video", "uri": "gs://a", "mime_type": "video/mp4"},
        ),
        (
            opaque('{"type":"video","uri":"https://youtu.be/x","x":1}', "gemini"),
            {"type": "video", "uri": "https://youtu.be/x"},
        ),
    ],
)
def test_media(block: Json, expected: Json) -> None:
    """Media of the user's are contents of their type (rule I7)."""
    assert [user(expected)] == steps(said(block))[0]


def test_media_that_the_api_does_not_read_are_left_out() -> None:
    """A type that the SDK does not name is (rule I7)."""
    unknown = {"type": "media", "mime_type": "image/x-y", "data_base64": "AAAA"}

    assert ([HI], ["dropped"]) == steps(said(unknown, "Hi"))


def test_redacted_thinking_is_left_out() -> None:
    """Gemini has none, even if it says that it made it."""
    hidden = {"type": "redacted_thinking", "data": "AAAA", "provider": "gemini"}

    assert [output(text("x"))] == made(hidden, "x")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (result(content="no", is_error=True), answer(result="no", is_error=True)),
        (result(content=[text("a"), histories.IMAGE]), answer(result=[text("a"), IMAGE])),
        (result(provider_metadata={"provider": "gemini", "response_json": '{"a":1}'}), answer(result={"a": 1})),
        (result(content=[text("a"), text("b")]), answer(result="a\nb")),
    ],
)
def test_the_result_of_a_call(block: Json, expected: Json) -> None:
    """It names its function and says whether it failed; Gemini's own object goes back as it came (rule I5)."""
    assert expected == steps(said("Hi"), model(histories.call()), tool(block))[0][-1]


@pytest.mark.parametrize("block", [PDF, opaque('{"fileData":{"fileUri":"gs://a","mimeType":"image/png"}}', "gemini")])
def test_media_by_address_in_a_result_follow_as_the_users(block: Json) -> None:
    """A result has bytes only (rule I7)."""
    found, report = steps(said("Hi"), model(histories.call()), tool(result(content=[block])))

    assert (["function_result", "user_input"], ["moved"]) == ([step["type"] for step in found[-2:]], report)


def test_what_the_user_says_follows_the_results() -> None:
    """The results come first, whatever came before them; an instruction is sent as the user's (rule I2)."""
    found, report = steps(said("Hi"), model(histories.call()), said("S", role="system"), tool(result()))

    assert [answer(), user(text("S"))] == found[-2:]
    assert {"moved", "downgraded"} == set(report)


def test_a_history_that_begins_with_the_model() -> None:
    """The user comes first (rule I1)."""
    assert (user(text("(empty)")), ["synthesized"]) == (
        (found := steps(model("OK"), said("Hi")))[0][0],
        found[1],
    )


def test_only_citations_that_the_api_knows_come_back() -> None:
    """Annotations of another provider, or of another type, do not."""
    cited = [{"type": "url_citation", "url": "u"}, {"type": "x"}, 1]
    kept = {"provider": "gemini", "annotations_json": json.dumps(cited)}

    assert [output({**text("x"), "annotations": cited[:1]})] == made(text("x", provider_metadata=kept))
    assert [output(text("x"))] == made(text("x", provider_metadata={**kept, "provider": "openai"}))


def test_tools_are_renamed_wherever_they_are_named() -> None:
    """In the declarations and in the choice; all else stays."""
    tools = [{"type": "function", "name": "a.b"}, {"type": "google_search"}, 1]
    config = {"tool_choice": {"allowed_tools": {"mode": "any", "tools": ["a.b", 1]}}, "temperature": 1}
    body, _ = sent(NAME, [said("Hi")], MODEL, {"tools": tools, "generation_config": config})
    renamed = body["tools"][0]["name"]

    assert renamed.startswith("a_b_")
    assert tools[1:] == body["tools"][1:]
    assert [renamed, 1] == body["generation_config"]["tool_choice"]["allowed_tools"]["tools"]
    assert 1 == body["generation_config"]["temperature"]


@pytest.mark.parametrize(
    "extra",
    [
        {"tools": 1, "generation_config": {"tool_choice": "any"}},
        {"generation_config": {"tool_choice": {"allowed_tools": 1}}},
        {"generation_config": {"tool_choice": {"allowed_tools": {"tools": 1}}}},
        {"generation_config": 1},
    ],
)
def test_an_extra_of_another_form_goes_out_as_it_came(extra: Json) -> None:
    """The API judges it."""
    body, _ = sent(NAME, [said("Hi")], MODEL, extra)

    assert extra == {key: body[key] for key in extra}
