"""Minimal bodies of OpenAI Chat Completions."""

from typing import Any

from tests.formats.cases.case import Case

HI = {"role": "user", "content": "Hi"}
OK = {"role": "assistant", "content": "OK"}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def call(name: str = "c1", tool: str = "look", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def result(of: str = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "done", **more}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def named(name: str) -> dict[str, Any]:
    return {"role": "user", "content": "Hi", "name": name}


TEXT = {"type": "text", "text": "Hi"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
LOOP = (HI, calls(call()), result())

FUNCTIONS = [{"type": "function", "function": {"name": "look"}}]

ACCEPTED = [
    Case("functions-while-reasoning", body(HI, tools=FUNCTIONS), "gpt-5.2"),
    Case("functions-while-reasoning", body(HI, tools=FUNCTIONS, reasoning_effort="none"), "gpt-5.6"),
    Case("empty-history", body(HI)),
    Case("tool-call-unanswered", body(HI, calls(call("a"), call("b")), result("b"), result("a"))),
    Case("tool-result-orphan", body(*LOOP)),
    Case("tool-result-duplicate", body(*LOOP, calls(call()), result())),
    Case("tool-call-duplicate", body(*LOOP, calls(call()), result())),
    Case("null-content", body(HI, {"role": "assistant", "tool_calls": [call()]}, result())),
    Case("null-content", body(HI, {"role": "assistant", "content": None, "refusal": "No"}, HI)),
    Case("empty-content-array", body(user(TEXT))),
    Case("empty-tool-calls", body(*LOOP)),
    Case("empty-text", body(HI, {"role": "assistant", "content": ""}, HI)),
    Case("shape", body({"role": "system", "content": "S"}, OK, OK, HI, HI, {"role": "developer", "content": "S"})),
    Case(
        "shape", body(user(TEXT, IMAGE, AUDIO, {"type": "file", "file": {"file_id": "f"}}), model="gpt-audio", stop="x")
    ),
    Case("arguments-json", body(*LOOP)),
    Case("image-role", body(user(IMAGE))),
    Case("audio-model", body(user(AUDIO)), "gpt-4o-audio-preview"),
    Case("role", body({"role": "system", "content": "S"}, HI), "o1"),
    Case("tool-call-id", body(HI, calls(call("toolu_" + "x" * 34)), result("toolu_" + "x" * 34))),
    Case("tool-name", body(HI, calls(call(tool="Look_at-1")), result())),
    Case("message-name", body(named("Ann-1"))),
]
CARELESS = [
    Case("empty-text", body({"role": "user", "content": ""})),
    Case("empty-text", body(user({"type": "text", "text": ""}))),
    Case("shape", body(HI, {**OK, "annotations": []}, HI)),
    Case("shape", body(HI, {**OK, "refusal": None}, HI)),
    Case("shape", body(HI, calls({**call(), "index": 0}), result())),
    Case("shape", body(HI, calls(call()), result(name="look"))),
    Case("shape", body(user("Hi"))),
    Case("arguments-json", body(HI, calls(call(arguments="[]")), result())),
    Case("arguments-json", body(HI, calls(call(arguments='{"a')), result())),
    Case("image-role", body(HI, calls(call()), result(content=[IMAGE]))),
    Case("tool-name", body(HI, calls(call(tool="a.b")), result())),
    Case("message-name", body(named("Änn"))),
]
REFUSED = [
    Case("functions-while-reasoning", body(HI, tools=FUNCTIONS), "gpt-5.6-mini"),
    Case("functions-while-reasoning", body(HI, tools=FUNCTIONS, reasoning_effort="low"), "gpt-6"),
    Case("empty-history", body()),
    Case("tool-call-unanswered", body(HI, calls(call()), HI)),
    Case("tool-call-unanswered", body(HI, calls(call("a"), call("b")), result("a"), HI, result("b"))),
    Case("tool-call-unanswered", body(HI, calls(call()))),
    Case("tool-result-orphan", body(HI, result())),
    Case("tool-result-orphan", body(HI, calls(call()), result(), HI, result())),
    Case("tool-result-duplicate", body(HI, calls(call()), result(), result())),
    Case("tool-call-duplicate", body(HI, calls(call(), call()), result())),
    Case("null-content", body({"role": "user", "content": None})),
    Case("null-content", body(HI, {"role": "assistant", "content": None})),
    Case("null-content", body(HI, calls(call()), result(content=None))),
    Case("empty-content-array", body(user())),
    Case("empty-tool-calls", body(HI, {**OK, "tool_calls": []})),
    Case("shape", body({"role": "user", "content": {"text": "Hi"}})),
    Case("shape", body(user({"type": "input_text", "text": "Hi"}))),
    Case("shape", body(user({**TEXT, "extra": 1}))),
    Case("shape", body(HI, input=[])),
    Case("shape", body(HI, calls(call(arguments={})), result())),
    Case("shape", body(HI, {**OK, "reasoning_content": "hm"})),
    Case("shape", body({"role": "model", "content": "Hi"})),
    Case("audio-model", body(user(AUDIO)), "gpt-5-mini"),
    Case("role", body({"role": "system", "content": "S"}, HI), "o1-mini"),
    Case("tool-call-id", body(HI, calls(call("x" * 41)), result("x" * 41))),
    Case("tool-name", body(HI, calls(call(tool="a b")), result())),
    Case("tool-name", body(HI, calls(call(tool="x" * 65)), result())),
    Case("message-name", body(named("Ann Lee"))),
]
