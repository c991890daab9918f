"""Minimal bodies of Google's Interactions API."""

from typing import Any

from tests.formats.cases.case import Case


def body(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"input": list(steps), **more}


def user(*parts: Any) -> dict[str, Any]:
    return {"type": "user_input", "content": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"type": "model_output", "content": list(parts)}


def call(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": of, "name": name, "arguments": {}, **more}


def answer(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function_result", "call_id": of, "name": name, "result": "done", **more}


TEXT = {"type": "text", "text": "Hi"}
HI, OK = user(TEXT), model({"type": "text", "text": "OK"})
IMAGE = {"type": "image", "mime_type": "image/png", "data": "AAAA"}
THOUGHT = {"type": "thought", "signature": "AAAA"}
DUMMY = {"type": "thought", "signature": "skip_thought_signature_validator"}
LOOP = (HI, call(), answer())
SEARCH = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["x"]}}
FOUND = {"type": "google_search_result", "call_id": "s1", "result": []}
LOOK = {"type": "function", "name": "look"}
GEMINI_3 = "gemini-3-pro-preview"

ACCEPTED = [
    Case("empty-history", body(HI)),
    Case("first-step", body(HI, OK, HI)),
    Case("tool-call-unanswered", body(HI, call(), call("c2"), answer("c2"), answer())),
    Case("tool-result-orphan", body(*LOOP)),
    Case("tool-result-duplicate", body(HI, call(), call("c2"), answer(), answer("c2"))),
    Case("tool-call-duplicate", body(HI, call(), call("c2"), answer(), answer("c2"))),
    Case("function-names", body(*LOOP)),
    Case("tool-result-not-first", body(*LOOP, HI)),
    Case("server-tool-after-call", body(HI, THOUGHT, call(), OK, answer())),
    Case("thought-signature", body(HI, DUMMY, call(), answer()), GEMINI_3),
    Case("thought-signature", body(HI, THOUGHT, model(IMAGE), HI), GEMINI_3),
    Case("thought-signature", body(HI, OK, HI), GEMINI_3),
    Case("thought-signature", body(*LOOP), "gemini-2.5-flash"),
    Case("thought-last", body(HI, THOUGHT, OK, HI)),
    Case("server-tool-unanswered", body(HI, THOUGHT, SEARCH, FOUND, OK, HI), GEMINI_3),
    Case("server-tool-orphan", body(HI, SEARCH, FOUND, OK, HI)),
    Case("empty-text", body(user(IMAGE))),
    Case("tool-name", body(HI, call(name="_a.b:c-1"), answer(name="_a.b:c-1"))),
    Case("tool-declared-twice", body(HI, tools=[LOOK, {"type": "google_search"}])),
    Case("last-role", body(HI, OK, HI)),
    Case("shape", body(HI, system_instruction="S", store=False, model="m")),
    Case("shape", body(*LOOP[:2], answer(result=[TEXT, IMAGE], is_error=True))),
    Case("shape", body(*LOOP[:2], answer(result={"a": 1}))),
    Case("shape", body(user({"type": "document", "uri": "https://example.org/a.pdf"}))),
]
CARELESS = [
    Case("first-step", body(OK, HI)),
    Case("tool-call-duplicate", body(*LOOP, call(), answer())),
    Case("function-names", body(HI, call(), answer(name="other"))),
    Case("tool-result-not-first", body(HI, call(), HI, answer())),
    Case("server-tool-after-call", body(HI, call(), SEARCH, FOUND, answer())),
    Case("thought-last", body(HI, OK, THOUGHT, HI)),
    Case("empty-text", body(user({"type": "text", "text": " "}))),
    Case("tool-name", body(HI, call(name="1 look"), answer(name="1 look"))),
    Case("last-role", body(HI, OK)),
    Case("shape", {"input": "Hi"}),
    Case("shape", body(TEXT)),
    Case("shape", {"input": TEXT}),
]
REFUSED = [
    Case("empty-history", body()),
    Case("first-step", body(call(), answer())),
    Case("tool-call-unanswered", body(HI, call(), HI)),
    Case("tool-call-unanswered", body(HI, call())),
    Case("tool-result-orphan", body(HI, answer())),
    Case("tool-result-orphan", body(*LOOP, OK, answer())),
    Case("tool-result-duplicate", body(*LOOP, answer())),
    Case("tool-call-duplicate", body(HI, call(), call(), answer())),
    Case("function-names", body(HI, call(), {key: value for key, value in answer().items() if key != "name"})),
    Case("thought-signature", body(*LOOP), GEMINI_3),
    Case("thought-signature", body(HI, OK, THOUGHT, call(), answer()), GEMINI_3),
    Case("thought-signature", body(HI, model(IMAGE), HI), GEMINI_3),
    Case("thought-signature", body(HI, {"type": "thought", "summary": [TEXT]}, OK, HI)),
    Case("thought-signature", body(HI, {"type": "thought", "signature": ""}, OK, HI)),
    Case("server-tool-unanswered", body(HI, SEARCH, OK, HI)),
    Case("server-tool-orphan", body(HI, FOUND, OK, HI)),
    Case("empty-text", body(user({"type": "text", "text": ""}))),
    Case("tool-name", body(HI, call(name=""), answer(name="x"))),
    Case("tool-declared-twice", body(HI, tools=[LOOK, LOOK])),
    Case("shape", body({"role": "user", "content": "Hi"})),
    Case("shape", body({**HI, "role": "user"})),
    Case("shape", body(HI, call(arguments="{}"), answer())),
    Case("shape", body(HI, call(signature="AAAA"), answer())),
    Case("shape", body(*LOOP[:2], answer(result=1))),
    Case("shape", body(user({"type": "input_text", "text": "x"}))),
    Case("shape", body(user({"type": "image", "mime_type": "image/png"}))),
    Case("shape", body(HI, system_instruction={"parts": [TEXT]})),
    Case("shape", body(HI, contents=[])),
]
