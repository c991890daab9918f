"""Minimal conversations of the AI SDK."""

from typing import Any

from tests.formats.cases.case import Case


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def tool(*parts: Any) -> dict[str, Any]:
    return {"role": "tool", "content": list(parts)}


def call(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": of, "toolName": name, "input": {}, **more}


def answer(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {
        "type": "tool-result",
        "toolCallId": of,
        "toolName": name,
        "output": {"type": "text", "value": "done"},
        **more,
    }


TEXT = {"type": "text", "text": "Hi"}
HI, OK = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "OK"}
FILE = {"type": "file", "data": "AAAA", "mediaType": "image/png"}
LOOP = (HI, model(call()), tool(answer()))
SERVED = call("s1", "web_search", providerExecuted=True)
FOUND = answer("s1", "web_search")

ACCEPTED = [
    Case("empty-history", body(HI)),
    Case("role", body(HI, OK, HI)),
    Case("tool-call-unanswered", body(HI, model(call(), call("c2")), tool(answer("c2")), tool(answer()))),
    Case("tool-result-orphan", body(*LOOP, OK, HI)),
    Case("tool-result-duplicate", body(*LOOP)),
    Case("tool-call-duplicate", body(*LOOP, model(call("c2")), tool(answer("c2")))),
    Case("server-tool-unanswered", body(HI, model(SERVED, FOUND, TEXT), HI)),
    Case("server-tool-orphan", body(HI, model(SERVED, FOUND, TEXT), HI)),
    Case("server-tool-after-call", body(HI, model(call(), TEXT, call("c2")), tool(answer(), answer("c2")))),
    Case("tool-name", body(*LOOP)),
    Case("tool-call-id", body(*LOOP)),
    Case("empty-text", body(user(FILE))),
    Case("last-role", body(*LOOP)),
    Case("shape", body(user(TEXT, FILE), system="S")),
    Case("shape", body(*LOOP[:2], tool(answer(output={"type": "content", "value": [TEXT]})))),
    Case("shape", body(HI, model({"type": "reasoning", "text": "", "providerOptions": {"anthropic": {}}}, TEXT), HI)),
]
CARELESS = [
    Case("server-tool-after-call", body(HI, model(call(), SERVED, FOUND), tool(answer()))),
    Case("tool-name", body(HI, model(call(name="a.b")), tool(answer(name="a.b")))),
    Case("tool-call-id", body(HI, model(call("a b")), tool(answer("a b")))),
    Case("empty-text", body(user({"type": "text", "text": " "}))),
    Case("empty-text", body({"role": "user", "content": ""})),
    Case("empty-text", body(HI, model(), HI)),
    Case("last-role", body(HI, OK)),
    Case("shape", body({**HI, "id": "m1"})),
    Case("shape", body(user({**TEXT, "state": "done"}))),
    Case("shape", body(HI, system={"role": "system", "content": "S"})),
]
REFUSED = [
    Case("empty-history", body()),
    Case("role", body({"role": "system", "content": "S"}, HI)),
    Case("role", body({"role": "model", "content": "S"})),
    Case("tool-call-unanswered", body(HI, model(call()), HI)),
    Case("tool-call-unanswered", body(HI, model(call()))),
    Case("tool-result-orphan", body(HI, tool(answer()))),
    Case("tool-result-orphan", body(*LOOP, OK, tool(answer()))),
    Case("tool-result-duplicate", body(*LOOP[:2], tool(answer(), answer()))),
    Case("tool-call-duplicate", body(HI, model(call(), call()), tool(answer()))),
    Case("tool-call-duplicate", body(*LOOP, model(call()), tool(answer()))),
    Case("server-tool-unanswered", body(HI, model(SERVED, TEXT), HI)),
    Case("server-tool-orphan", body(HI, model(FOUND, TEXT), HI)),
    Case("shape", body({"role": "user", "parts": [TEXT]})),
    Case("shape", body(user({"type": "image_url"}))),
    Case("shape", body(user({"type": "text", "text": 1}))),
    Case("shape", body(user({**FILE, "providerOptions": {"anthropic": 1}}))),
    Case("shape", body(*LOOP[:2], tool(answer(output="done")))),
    Case("shape", body(*LOOP[:2], tool(answer(output={"type": "text", "value": {}})))),
    Case("shape", body(*LOOP[:2], tool(answer(output={"type": "content", "value": "x"})))),
    Case("shape", body(*LOOP[:2], tool(answer(output={"type": "x", "value": "x"})))),
    Case("shape", body(*LOOP[:2], tool(TEXT, answer()))),
    Case("shape", body(HI, model({"type": "file", "data": "AAAA"}), HI)),
]
