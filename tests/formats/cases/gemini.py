"""Minimal bodies of Gemini generateContent."""

from typing import Any

from tests.formats.cases.case import Case


def body(*contents: Any, **more: Any) -> dict[str, Any]:
    return {"contents": list(contents), **more}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "look", signature: str | None = None, **more: Any) -> dict[str, Any]:
    signed = {"thoughtSignature": signature} if signature else {}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def answer(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {}, **more}}


TEXT = {"text": "Hi"}
HI, OK = user(TEXT), model({"text": "OK"})
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
LOOP = (HI, model(call()), user(answer()))
TWO = (HI, model(call("a", id="1"), call("b", id="2")))
DUMMY = "skip_thought_signature_validator"
LOOK = {"functionDeclarations": [{"name": "look"}]}
GEMINI_3 = "gemini-3-pro-preview"

ACCEPTED = [
    Case("empty-history", body(HI)),
    Case("system-parts", body(HI, systemInstruction={"parts": [TEXT]})),
    Case("role", body(HI, OK, HI)),
    Case("function-call-turn", body(*LOOP)),
    Case("function-call-turn", body(*LOOP, model(call()), user(answer()))),
    Case("function-response-turn", body(*LOOP)),
    Case("function-parity", body(HI, model(call()), model(call()), user(answer(), answer()))),
    Case("tool-result-not-first", body(*LOOP, OK, HI)),
    Case("function-response-mixed", body(*LOOP, OK, HI)),
    Case("function-names", body(*TWO, user(answer("a", id="1"), answer("b", id="2")))),
    Case("function-order", body(*TWO, user(answer("a", id="1"), answer("b", id="2")))),
    Case("function-ids", body(*TWO, user(answer("a", id="1"), answer("b", id="2")))),
    Case("last-role", body(HI, OK, HI)),
    Case("tool-role", body(*LOOP)),
    Case("shape", body(user({"inline_data": {"mime_type": "image/png", "data": "AAAA"}}), system_instruction=HI)),
    Case("empty-parts", body(HI)),
    Case("part-data", body(HI, model({"thoughtSignature": "AAAA"}), HI)),
    Case("part-data", body(user({**IMAGE, "videoMetadata": {}}))),
    Case("empty-text", body(HI, model({"text": "", "thoughtSignature": "AAAA"}), HI)),
    Case("tool-name", body(HI, model(call("_a.b:c-1")), user(answer("_a.b:c-1")))),
    Case("media-resolution", body(user(IMAGE), generationConfig={"mediaResolution": "MEDIA_RESOLUTION_LOW"})),
    Case("tool-declared-twice", body(HI, tools=[LOOK, {"googleSearch": {}}])),
    Case("thought-signature", body(HI, model(call(signature=DUMMY), call()), user(answer(), answer())), GEMINI_3),
    Case("thought-signature", body(*LOOP, OK, HI), GEMINI_3),
    Case("thought-signature", body(*LOOP), "gemini-2.5-flash"),
]
CARELESS = [
    Case("system-parts", body(HI, systemInstruction={"parts": [IMAGE]})),
    Case("role", body({"parts": [TEXT]})),
    Case("role", body(HI, model(call()), {"role": "function", "parts": [answer()]})),
    Case("function-response-mixed", body(HI, model(call()), user(answer(), TEXT))),
    Case("function-names", body(HI, model(call()), user(answer("c1")))),
    Case("function-order", body(*TWO, user(answer("b", id="2"), answer("a", id="1")))),
    Case("function-ids", body(HI, model(call(id="1")), user(answer(id="2")))),
    Case("last-role", body(HI, OK)),
    Case("shape", body({"role": "user", "parts": TEXT})),
    Case("shape", {"contents": HI}),
    Case("empty-text", body(user({"text": ""}))),
    Case("tool-name", body(HI, model(call("1 look")), user(answer("1 look")))),
]
REFUSED = [
    Case("empty-history", body()),
    Case("role", body({"role": "assistant", "parts": [TEXT]})),
    Case("function-call-turn", body(model(call()), user(answer()))),
    Case("function-response-turn", body(user(answer()))),
    Case("function-response-turn", body(*LOOP, OK, user(answer()))),
    Case("function-parity", body(HI, model(call(), call()), user(answer()))),
    Case("function-parity", body(HI, model(call()), HI)),
    Case("tool-result-not-first", body(HI, model(call()), user(TEXT, answer()))),
    Case("tool-role", body(user(call()))),
    Case("tool-role", body(HI, model(answer()), HI)),
    Case("shape", body(HI, model(call(args=[])), user(answer()))),
    Case("shape", body(HI, model(call()), user(answer(response="done")))),
    Case("shape", body(user({**TEXT, "type": "text"}))),
    Case("shape", body({**HI, "content": "x"})),
    Case("shape", body(HI, systemInstruction="S")),
    Case("shape", body(HI, messages=[])),
    Case("empty-parts", body(user())),
    Case("part-data", body(user({}))),
    Case("part-data", body(user({**TEXT, **IMAGE}))),
    Case("tool-name", body(HI, model(call("")), user(answer("")))),
    Case("media-resolution", body(user({**IMAGE, "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}))),
    Case("tool-declared-twice", body(HI, tools=[LOOK, LOOK])),
    Case("thought-signature", body(*LOOP), GEMINI_3),
    Case(
        "thought-signature",
        body(HI, model(call(signature=DUMMY)), user(answer()), model(call()), user(answer())),
        GEMINI_3,
    ),
]
