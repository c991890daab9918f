"""Minimal bodies of Ollama's ``/api/chat``."""

from typing import Any

from tests.formats.cases.case import Case


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def user(words: str = "Hi", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": words, **more}


def model(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls), **more}


def call(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"id": of, "function": {"name": name, "arguments": {}, **more}}


def result(of: str | None = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_name": "look", "tool_call_id": of, "content": "done", **more}


OK = {"role": "assistant", "content": "OK"}
PNG = "iVBORw0KGgo="
LOOP = (user(), model(call()), result())

ACCEPTED = [
    Case("empty-history", body(user())),
    Case("shape", body({"role": "system", "content": "Be brief"}, user(), model=None, stream=False)),
    Case("shape", body(user(), {**OK, "thinking": "hm"}, user())),
    Case("role", body(user(), OK, user())),
    Case("arguments-object", body(*LOOP)),
    Case("image-data", body(user(images=[PNG]))),
    Case("image-role", body(user(images=[PNG]))),
    Case("tool-call-unanswered", body(user(), model(call("a"), call("b")), result("b"), result("a"))),
    Case("tool-result-orphan", body(*LOOP)),
    Case("tool-result-duplicate", body(*LOOP, model(call()), result())),
    Case("tool-call-duplicate", body(user(), model(call("a"), call("b")), result("a"), result("b"))),
    Case("tool-result-name", body(*LOOP)),
]
CARELESS = [
    Case("shape", body(user(name="Ann"))),
    Case("image-role", body(user(), {**OK, "images": [PNG]}, user())),
    Case("tool-call-unanswered", body(user(), model(call()), user())),
    Case("tool-result-orphan", body(user(), result())),
    Case("tool-result-duplicate", body(*LOOP, result())),
    Case("tool-call-duplicate", body(user(), model(call(), call()), result())),
    Case("tool-result-name", body(user(), model(call()), result(tool_name=""))),
]
REFUSED = [
    Case("empty-history", body()),
    Case("shape", body(user(), {"role": "assistant", "content": [{"type": "text", "text": "OK"}]}, user())),
    Case("shape", body(user(), {**OK, "tool_calls": [{"function": "look"}]}, user())),
    Case("shape", body(user(), {**OK, "tool_calls": [{"function": {"name": 1, "arguments": {}}}]}, user())),
    Case("shape", body(user(images="x"))),
    Case("shape", body("Hi")),
    Case("role", body({"role": "developer", "content": "Be brief"}, user())),
    Case("arguments-object", body(user(), model(call(arguments="{}")), result())),
    Case("image-data", body(user(images=[f"data:image/png;base64,{PNG}"]))),
    Case("image-data", body(user(images=["iVBORw0KGgo"]))),
]
