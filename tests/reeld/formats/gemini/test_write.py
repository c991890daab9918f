"""Conversations written for Gemini's generateContent."""

from typing import Any

import pytest

from reeld.formats.gemini.read import read_request, read_response
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, PDF, call, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

GEMINI_3, GEMINI_2 = "gemini-3-pro-preview", "gemini-2.5-flash"
DUMMY = "skip_thought_signature_validator"


def contents(*history: Any, named: str | None = GEMINI_3) -> list[dict[str, Any]]:
    """Render a history, check the body, and return its contents."""
    body, _ = sent("gemini", history, named)

    assert [] == check("gemini", body, named)
    assert "model" not in body
    found: list[dict[str, Any]] = body["contents"]
    return found


def first(*blocks: Any, named: str | None = GEMINI_3) -> list[dict[str, Any]]:
    """Return what becomes of the assistant's blocks."""
    parts: list[dict[str, Any]] = contents("Hi", model(*blocks), "Bye", named=named)[1]["parts"]
    return parts


def signed(block: dict[str, Any], maker: str | None = GEMINI_3, provider: str = "gemini") -> dict[str, Any]:
    return {**block, "provider_metadata": {"provider": provider, "model": maker, "signature": "c2ln"}}


def test_responses_have_a_content_of_their_own() -> None:
    """They have the names of their calls; the model speaks between them and the user's words."""
    assert [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {
            "role": "model",
            "parts": [{"text": "Look"}, {"functionCall": {"name": "look", "args": {"a": 1}, "id": "c1"}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "look", "response": {"error": "no"}, "id": "c1"}}],
        },
        {"role": "model", "parts": [{"text": "(noted)"}]},
        {"role": "user", "parts": [{"text": "Well?"}]},
    ] == contents(
        "Hi",
        model("Look", call(arguments='{"a": 1}')),
        tool(result("c1", "no", is_error=True)),
        "Well?",
        named=GEMINI_2,
    )


def test_signatures_go_back_only_to_their_model_family() -> None:
    """The first call of a step that has none gets the dummy signature."""
    assert ["c2ln", None] == [part.get("thoughtSignature") for part in first(signed(call("a")), call("b"))]
    assert [DUMMY] == [part["thoughtSignature"] for part in first(signed(call("a"), "gemini-3-flash"))]
    assert [DUMMY] == [part["thoughtSignature"] for part in first(signed(call("a"), provider="openai"))]
    assert [DUMMY] == [
        part["thoughtSignature"]
        for part in first(signed(call("a")) | {"provider_metadata": {"provider": "gemini", "signature": 1}})
    ]
    assert [DUMMY] == [part["thoughtSignature"] for part in first(call("a"), named=None)]
    assert [{"text": "OK", "thoughtSignature": "c2ln"}] == first(signed(text("OK")))
    assert "thoughtSignature" not in first(call("a"), named=GEMINI_2)[0]
    assert [{"text": "hm", "thought": True, "thoughtSignature": "c2ln"}, {"text": "OK"}] == first(
        thinking(provider="gemini"), "OK"
    )
    assert [{"text": "hm", "thought": True}, {"text": "OK"}] == first(thinking(provider="gemini", signature=None), "OK")


@pytest.mark.parametrize(
    "block",
    [
        thinking(),
        thinking(provider=None),
        thinking(" ", None, "gemini"),
        thinking(provider="gemini", model=GEMINI_2),
        {"type": "redacted_thinking", "data": "AAAA", "provider": "gemini"},
        opaque("[]", "gemini"),
        opaque("{}", "gemini"),
        opaque('{"text":"x"}', "gemini"),
        opaque('{"toolCall":1}', "gemini"),
        opaque('{"toolCall":{},"fileData":{}}', "gemini"),
    ],
)
def test_foreign_and_empty_thoughts_and_invalid_parts_are_left_out(block: dict[str, Any]) -> None:
    """Each of them is reported."""
    assert [{"text": "OK"}] == first(block, "OK")


def test_opaque_parts_go_back() -> None:
    """Code and its result, a server's tools in pairs and a lone signature go back; the user has only files."""
    run, signature = '{"executableCode":{"code":"1"}}', '{"thoughtSignature":"c2ln"}'
    asked, served = '{"toolCall":{"toolType":"x","id":"t"}}', '{"toolResponse":{"toolType":"x","id":"t"}}'
    file = '{"fileData":{"fileUri":"gs://x"}}'
    blocks = [opaque(data, "gemini") for data in (run, signature, asked, served, file)]
    found = contents(user("Hi", *blocks), model(*blocks), "Bye")

    assert [["text"], ["fileData"]] == [list(part) for part in found[0]["parts"]]
    assert 5 == len(found[1]["parts"])
    assert 4 == len(first(*blocks[:3], blocks[4], "OK"))


def test_media_are_parts_of_their_own() -> None:
    """From Gemini 3 on a result may have media, if it has their bytes."""
    named = {**PDF, "name": "A"}
    filmed = {**IMAGE, "provider_metadata": {"provider": "gemini", "videoMetadata": {"fps": 1}}}
    stored = opaque('{"fileData":{"fileUri":"gs://x"}}', "gemini")
    said = user(named, filmed)
    looked = tool(result("c1", [IMAGE, PDF, text("x"), stored]))
    inline = {"inlineData": {"data": "AAAA", "mimeType": "image/png"}}

    assert [
        {"fileData": {"fileUri": PDF["url"], "mimeType": "application/pdf", "displayName": "A"}},
        {**inline, "videoMetadata": {"fps": 1}},
    ] == contents(said)[0]["parts"]
    response = contents("Hi", model(call()), looked)[2]["parts"][0]["functionResponse"]
    assert [[inline, {"fileData": {"fileUri": "gs://x"}}], {"result": "x"}] == [response["parts"], response["response"]]
    assert "parts" not in contents("Hi", model(call()), looked, named=GEMINI_2)[2]["parts"][0]["functionResponse"]


def test_a_response_object_goes_back_verbatim() -> None:
    """An object that Gemini was given as a response is sent again as it was."""
    own = {"provider": "gemini", "response_json": '{"a":{"b":1}}'}

    assert {"a": {"b": 1}} == contents("Hi", model(call()), tool(result(provider_metadata=own)))[2]["parts"][0][
        "functionResponse"
    ]["response"]


def test_the_prompt_is_the_system_instruction() -> None:
    """Later instructions are sent as the user's, which is reported."""
    body, report = sent("gemini", [{"role": "system", "content": "Be brief"}, "Hi", user("Be kind", role="system")])

    assert {"parts": [{"text": "Be brief"}]} == body["systemInstruction"]
    assert [{"text": "Hi"}, {"text": "Be kind"}] == body["contents"][0]["parts"]
    assert ["merged", "downgraded"] == [change.action for change in report]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"model": GEMINI_3}, 0),
        ({"tools": [{"functionDeclarations": [{"name": "a.b"}, 1]}, {"googleSearch": {}}, 1]}, 1),
        ({"tools": [{"function_declarations": [{"name": "a.b"}]}]}, 1),
        ({"tools": 1}, 0),
        ({"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["a.b", 1]}}}, 1),
        ({"tool_config": {"function_calling_config": {"allowed_function_names": ["a.b"]}}}, 1),
        ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, 0),
        ({"toolConfig": {"functionCallingConfig": 1}}, 0),
    ],
)
def test_functions_are_renamed_in_both_spellings(extra: dict[str, Any], expected: int) -> None:
    """The model, which is in the URL, is left out of the body."""
    body, _ = sent("gemini", ["Hi"], None, extra)

    assert expected == str(body).count("a_b_")
    assert "model" not in body


@pytest.mark.parametrize("mime_type", ["image/gif", "application/zip", "image/*"])
def test_media_of_unsupported_types_are_left_out(mime_type: str) -> None:
    """One of them would have the whole request refused; media that came from Gemini go back."""
    data = {"type": "media", "mime_type": mime_type, "data_base64": "AAAA"}
    body, report = sent("gemini", [user("Hi", data)])
    back, _ = sent("gemini", [user("Hi", {**data, "provider_metadata": {"provider": "gemini"}})])

    assert [{"text": "Hi"}] == body["contents"][0]["parts"]
    assert [f"media of type {mime_type}"] == [change.why for change in report]
    assert {"inlineData": {"data": "AAAA", "mimeType": mime_type}} == back["contents"][0]["parts"][1]


def test_a_linked_picture_of_unknown_type_has_no_mime_type() -> None:
    """Gemini finds the type itself, and refuses a wildcard."""
    body, report = sent("gemini", [user({"type": "media", "mime_type": "image/*", "url": "https://example.org/a"})])

    assert [{"fileData": {"fileUri": "https://example.org/a"}}] == body["contents"][0]["parts"]
    assert [] == report


BESIDE = {"partMetadata": {"a": 1}, "speechMetadata": {"speaker": "x"}}
PICTURE = {"inlineData": {"data": "AAAA", "mimeType": "image/png"}}


@pytest.mark.parametrize(
    "part",
    [
        {"text": "x", **BESIDE},
        {"text": "x", **BESIDE, "thoughtSignature": "c2ln"},
        {"text": "x", "thought": True, **BESIDE, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "look", "args": {}, "id": "c1"}, **BESIDE, "thoughtSignature": "c2ln"},
        {**PICTURE, "thought": True, "thoughtSignature": "c2ln"},
        {**PICTURE, **BESIDE},
        {"text": "", "thoughtSignature": "c2ln"},
        {"text": "", "thought": True, "thoughtSignature": "c2ln"},
    ],
)
def test_a_part_of_an_answer_goes_back_as_it_came(part: dict[str, Any]) -> None:
    """With all that is beside its data, and with a signature even if its text is empty (rules G3 and G12)."""
    found = [part, {"text": "end"}]
    answer = {"candidates": [{"content": {"parts": found}}], "modelVersion": GEMINI_3}

    assert sorted(map(str, found)) == sorted(map(str, first(*read_response(answer).message["content"])))


def test_a_signature_at_the_end_of_an_answer_goes_back() -> None:
    """A stream ends in it: a thought without a text, which leads to nothing (rule G3)."""
    signed = thinking("", "c2ln", "gemini", model="gemini-3-pro-preview")
    body, report = sent("gemini", ["Hi", model("OK", signed), "And?"], "gemini-3-pro-preview")

    assert {"text": "", "thought": True, "thoughtSignature": "c2ln"} == body["contents"][1]["parts"][1]
    assert [] == report


def test_a_function_response_goes_back_as_it_came() -> None:
    """Its scheduling, and whether it continues, are the client's (rule G12)."""
    called = {"functionCall": {"name": "look", "args": {}, "id": "c1"}, "thoughtSignature": "c2ln"}
    response = {
        "name": "look",
        "response": {"result": "x"},
        "id": "c1",
        "scheduling": "WHEN_IDLE",
        "willContinue": True,
    }
    said = {"functionResponse": response, **BESIDE}
    asked = {"role": "user", "parts": [{"text": "Hi"}]}
    body = {"contents": [asked, {"role": "model", "parts": [called]}, {"role": "user", "parts": [said]}]}

    assert [said] == contents(*read_request(body, GEMINI_3).messages)[2]["parts"]


def test_pictures_of_a_result_follow_for_a_model_that_takes_none_in_it() -> None:
    """They are the user's, after all results (rules G7 and X17)."""
    history = ["Hi", model(call("a"), call("b")), tool(result("a", [IMAGE]), result("b", "x"))]
    *_, responses, noted, pictures = contents(*history, named=GEMINI_2)

    assert ["a", "b"] == [part["functionResponse"]["id"] for part in responses["parts"]]
    assert "model" == noted["role"]
    assert ["Media of the result of look (a):", None] == [part.get("text") for part in pictures["parts"]]
