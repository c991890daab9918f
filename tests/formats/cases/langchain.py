"""Minimal bodies of LangChain's messages."""

from typing import Any

from tests.formats.cases.case import Case


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def human(content: Any = "Hi", **more: Any) -> dict[str, Any]:
    return {"type": "human", "content": content, **more}


def ai(*calls: Any, **more: Any) -> dict[str, Any]:
    return {"type": "ai", "content": "", "tool_calls": list(calls), **more}


def call(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"name": name, "args": {}, "id": of, "type": "tool_call", **more}


def result(of: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool", "content": "done", "tool_call_id": of, **more}


LOOP = (human(), ai(call()), result())
IMAGE = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}

ACCEPTED = [
    Case("empty-history", body(human())),
    Case("shape", body({"type": "system", "content": "S"}, human(name="ada"), *LOOP, {"type": "ai", "content": "OK"})),
    Case("block-shape", body(human([{"type": "text", "text": "Hi"}, IMAGE, {"type": "server_tool_use"}]))),
    Case("arguments-object", body(*LOOP)),
    Case("tool-call-id", body(human(), ai(call("functions.look:0")), result("functions.look:0"))),
    Case("tool-call-unanswered", body(human(), ai(call("a"), call("b")), result("b"), result("a"))),
    Case("tool-result-orphan", body(*LOOP)),
    Case("tool-result-duplicate", body(*LOOP, ai(call()), result())),
    Case("tool-call-duplicate", body(*LOOP, ai(call()), result())),
]
CARELESS: list[Case] = []
REFUSED = [
    Case("empty-history", body()),
    Case("shape", body({"type": "remove", "content": "", "id": "x"})),
    Case("shape", body(human({"text": "Hi"}))),
    Case("shape", body(human(thinking="x"))),
    Case("shape", body(human(), ai(call()), result(status="failed"))),
    Case("block-shape", body(human([{"text": "Hi"}]))),
    Case("block-shape", body(human([{"type": "image"}]))),
    Case("arguments-object", body(human(), ai(call(args="{}")), result())),
    Case("tool-call-id", body(human(), ai(call("")), result(""))),
    Case("tool-call-unanswered", body(human(), ai(call()), human())),
    Case("tool-result-orphan", body(human(), result())),
    Case("tool-result-duplicate", body(*LOOP, result())),
    Case("tool-call-duplicate", body(human(), ai(call(), call()), result())),
]
