"""Requests to Gemini, read."""

from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.gemini.read import read_request
from tests.reeld.formats.histories import call, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

GEMINI_3 = "gemini-3-pro-preview"


def loaded(*contents: Any, **more: Any) -> list[dict[str, Any]]:
    return read_request({"contents": list(contents), **more}, GEMINI_3).messages


def said(*parts: Any, role: str = "model") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def test_a_gemini_request_becomes_messages() -> None:
    """Both spellings of keys are read; responses become messages of the role tool."""
    calling = {"function_call": {"name": "look", "args": {"a": [1]}, "id": "c1"}, "thought_signature": "c2ln"}
    signed = {"provider": "gemini", "model": GEMINI_3, "signature": "c2ln"}
    answered = {"functionResponse": {"name": "look", "id": "c1", "response": {"error": "no"}}}

    assert [
        {"role": "system", "content": "Be brief"},
        user("Hi"),
        model("Look", call(arguments='{"a":[1]}', provider_metadata=signed)),
        tool(result("c1", "no", is_error=True)),
        user("Well?"),
    ] == loaded(
        {"parts": {"text": "Hi"}},
        said({"text": "Look"}, calling),
        said(answered, {"text": "Well?"}, role="user"),
        system_instruction={"parts": [{"text": "Be brief"}]},
    )


def test_unused_keys_of_a_gemini_request_are_reported() -> None:
    """Every key but the history, the prompt and the model has a line in the report."""
    found = read_request({"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {}, "model": GEMINI_3})

    assert ["generationConfig"] == [change.why.split()[0] for change in found.report]


def test_gemini_calls_without_ids_get_ids() -> None:
    """Their responses are matched by name and order; the report lists the new ids."""
    first, second = ({"functionCall": {"name": name}} for name in ("look", "find"))
    answers = [{"functionResponse": {"name": name, "response": {"result": name}}} for name in ("find", "other", "look")]
    found = read_request({"contents": [said(first, second), said(*answers, role="user")]})

    assert ["call_0_0", "call_0_1"] == [block["id"] for block in found.messages[0]["content"]]
    assert ["call_0_1", "call_0_0", "contents[1].parts[2].functionResponse.id"] == [
        block["tool_call_id"] for block in found.messages[1]["content"]
    ]
    assert ["synthesized", "synthesized"] == [change.action for change in found.report]


def test_calls_and_responses_pair_if_only_one_has_an_id() -> None:
    """Some clients leave the id out of the response, others make one up."""
    calls = [{"functionCall": {"name": name, "args": {}, **more}} for name, more in (("f", {"id": "a"}), ("g", {}))]
    answers = [
        {"functionResponse": {"name": name, "response": {"result": name}, **more}}
        for name, more in (("g", {"id": "g-1"}), ("f", {}), ("h", {"id": "h-1"}))
    ]
    found = read_request({"contents": [said(*calls), said(*answers, role="user")]})

    assert ["call_0_1", "a", "h-1"] == [block["tool_call_id"] for block in found.messages[1]["content"]]


def test_a_response_with_the_id_of_no_call_answers_none() -> None:
    """It answers no call, although the name of the tool is the same."""
    called = {"functionCall": {"name": "f", "args": {}, "id": "a"}}
    answer = {"functionResponse": {"name": "f", "response": {"result": 1}, "id": "b"}}
    found = read_request({"contents": [said(called), said(answer, role="user")]})

    assert "b" == found.messages[1]["content"][0]["tool_call_id"]


def test_gemini_thoughts_and_signatures_are_kept() -> None:
    """They are kept with their model; parts without a neutral form are kept whole."""
    signed = {"provider": "gemini", "model": GEMINI_3, "signature": "c2ln"}
    (found,) = loaded(
        said(
            {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
            {"text": "x", "thought": True},
            {"text": "OK", "thoughtSignature": "c2ln"},
            {"text": "", "thoughtSignature": "c2ln"},
            {"executable_code": {"code": "1"}, "mediaResolution": {}},
        )
    )

    assert [
        thinking(provider="gemini", model=GEMINI_3),
        {"type": "thinking", "text": "x", "provider": "gemini", "model": GEMINI_3},
        text("OK", provider_metadata=signed),
        opaque('{"thoughtSignature":"c2ln"}', "gemini", model=GEMINI_3),
        opaque('{"executableCode":{"code":"1"}}', "gemini", model=GEMINI_3),
    ] == found["content"]


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"data": "AAAA", "mimeType": "image/png", "displayName": "A"}, "videoMetadata": {"fps": 1}},
        {"fileData": {"fileUri": "https://example.org/a", "mimeType": "video/mp4"}},
        {"fileData": {"fileUri": "https://example.org/a"}},
        {"fileData": {"fileUri": "gs://a/b", "mimeType": "video/mp4"}},
    ],
)
def test_gemini_media_go_back(part: dict[str, Any]) -> None:
    """They are neutral if others can read them, and otherwise kept whole."""
    found = loaded(said(part, role="user"))

    assert [part] == sent("gemini", found)[0]["contents"][0]["parts"]


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"result": "x"}, "x"),
        ({"a": 1, "b": {}}, '{"a":1,"b":{}}'),
        ({"result": {"a": 1}}, '{"result":{"a":1}}'),
        ({}, "{}"),
        (None, "{}"),
    ],
)
def test_a_response_object_is_kept_for_gemini(response: Any, content: str) -> None:
    """All other providers get its text."""
    answer = {"functionResponse": {"name": "look", "id": "c1", "response": response}}
    found = loaded(
        said({"text": "Hi"}, role="user"),
        said({"functionCall": {"name": "look", "id": "c1"}}),
        said(answer, role="function"),
    )
    back = sent("gemini", found)[0]["contents"][2]["parts"][0]["functionResponse"]["response"]

    assert content == found[2]["content"][0]["content"]
    assert (response or {}) == back


def test_media_of_a_response_follow_its_text() -> None:
    """They become blocks after the text of the object."""
    parts = [{"inlineData": {"data": "AAAA", "mimeType": "image/png"}}]
    (found,) = loaded(
        said({"functionResponse": {"name": "x", "id": "c1", "response": {"result": "x"}, "parts": parts}}, role="user")
    )

    assert ["text", "media"] == [block["type"] for block in found["content"][0]["content"]]


@pytest.mark.parametrize("instruction", ["Be brief", {"parts": {"text": "Be brief"}}, {"parts": []}, None])
def test_a_system_instruction_in_any_form(instruction: Any) -> None:
    """A string and a single part are read too; an empty one is no prompt."""
    found = loaded(said({"text": "Hi"}, role="user"), systemInstruction=instruction)

    assert (instruction in ("Be brief", {"parts": {"text": "Be brief"}})) == (found[0]["role"] == "system")


def test_a_prompt_of_parts_goes_back_as_parts() -> None:
    """Each part is written again by itself."""
    instruction = {"parts": [{"text": "A"}, {"text": "B"}]}
    found = loaded(said({"text": "Hi"}, role="user"), systemInstruction=instruction)

    assert instruction == sent("gemini", found)[0]["systemInstruction"]


def test_a_content_without_parts_has_an_empty_text() -> None:
    """A message needs a block."""
    assert [model(""), user("")] == loaded(said(), said(role="user"))


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("contents", {}),
        ("contents", {"contents": []}),
        ("contents[0]", {"contents": ["Hi"]}),
        ("contents[0].role", {"contents": [{"role": "narrator"}]}),
        ("contents[0].parts[0]", {"contents": [{"parts": [1]}]}),
        ("contents[0].parts[0].text", {"contents": [{"parts": [{"text": 1}]}]}),
        ("systemInstruction.parts[0].text", {"contents": [{"parts": []}], "systemInstruction": {"parts": [{}]}}),
    ],
)
def test_an_invalid_gemini_request_is_refused(field: str, body: dict[str, Any]) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as refused:
        read_request(body)

    assert field == refused.value.data["field"]
