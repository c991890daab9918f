"""Minimal bodies of Amazon Bedrock Converse."""

from typing import Any

from tests.formats.cases.case import Case

CLAUDE, NOVA, LLAMA = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0", "meta.llama3-1-70b"
NEWER = "global.anthropic.claude-opus-5-5"
LOOK = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}


def body(*messages: Any, tools: Any = (LOOK,), **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **({"toolConfig": {"tools": list(tools)}} if tools else {}), **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str = "Hi") -> dict[str, Any]:
    return {"text": words}


def call(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": of, "name": name, "input": {}, **more}}


def result(of: str = "c1", *content: Any, **more: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": of, "content": list(content) or [text("done")], **more}}


def document(name: str = "tape", **source: Any) -> dict[str, Any]:
    return {"document": {"format": "pdf", "name": name, "source": source or {"bytes": "AAAA"}}}


def thought(**more: Any) -> dict[str, Any]:
    return {"reasoningContent": {"reasoningText": {"text": "hm", **more}}}


HI, OK = user(text()), model(text("OK"))
IMAGE = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}
SIGNED = thought(signature="AAAA")
HIDDEN = {"reasoningContent": {"redactedContent": "AAAA"}}
POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}
SEARCH = call("s1", "nova_grounding", type="server_tool_use")
FOUND = result("s1", type="nova_grounding_result")
LOOP = (HI, model(call()), user(result()))
EMPTY = {"toolResult": {"toolUseId": "c1", "content": []}}

ACCEPTED = [
    Case("empty-history", body(HI)),
    Case("alternation", body(HI, OK, HI)),
    Case("first-role", body(HI, OK, HI)),
    Case("last-role", body(HI, OK, HI)),
    Case("tool-call-unanswered", body(HI, model(call("a"), call("b")), user(result("b"), result("a")))),
    Case("tool-result-orphan", body(*LOOP)),
    Case("tool-result-duplicate", body(*LOOP, model(call()), user(result()))),
    Case("tool-call-duplicate", body(HI, model(call("a"), call("b")), user(result("a"), result("b")))),
    Case("server-tool-after-call", body(HI, model(SIGNED, call(), text()), user(result()))),
    Case("server-tool-after-call", body(HI, model(call(), SIGNED, SEARCH, FOUND), user(result()))),
    Case("tool-result-mixed", body(*LOOP)),
    Case("tool-result-mixed", body(HI, model(call()), user(result(), POINT, text())), CLAUDE),
    Case("tool-call-mixed", body(HI, model(call("a"), call("b")), user(result("a"), result("b"))), LLAMA),
    Case("tool-call-mixed", body(HI, model(text(), call()), user(result())), NOVA),
    Case("tool-config", body(HI, tools=())),
    Case("tool-role", body(*LOOP)),
    Case("server-tool-orphan", body(HI, model(SEARCH, FOUND, text()), HI)),
    Case("shape", body(HI, system=[text("S"), {"guardContent": {"text": {"text": "x"}}}], inferenceConfig={})),
    Case("shape", body(user({"document": {"name": "a", "source": {"text": "x"}}}, text()))),
    Case("shape", body(HI, model({"citationsContent": {"content": [text()], "citations": []}}), HI)),
    Case("empty-content", body(*LOOP)),
    Case("blank-text", body(user(text(" x ")))),
    Case(
        "error-result-text", body(HI, model(call()), user(result("c1", text(), {"json": {}}, status="error"))), CLAUDE
    ),
    Case("result-status", body(HI, model(call()), user(result(status="error"))), NOVA),
    Case("result-media", body(HI, model(call()), user(result("c1", IMAGE))), CLAUDE),
    Case("media-role", body(user(IMAGE, text()))),
    Case("document-name", body(user(document("a (1) [2]-x"), document("b"), text()))),
    Case("document-text", body(user(document(), text()))),
    Case("tool-call-id", body(HI, model(call("functions.look:0")), user(result("functions.look:0")))),
    Case("tool-name", body(HI, model(call(name="Look_at-1")), user(result()))),
    Case(
        "tool-declared-twice", body(HI, tools=[LOOK, {"toolSpec": {**LOOK["toolSpec"], "name": "find"}}, POINT]), CLAUDE
    ),
    Case("reasoning-signature", body(HI, model(SIGNED, HIDDEN, text()), HI)),
    Case("reasoning-last", body(HI, model(SIGNED, text()), HI)),
    Case("reasoning-role", body(HI, model(SIGNED, text()), HI)),
    Case("thinking-kind", body(HI, additionalModelRequestFields={"thinking": {"type": "enabled"}}), CLAUDE),
    Case("thinking-kind", body(HI, additionalModelRequestFields={"thinking": {"type": "adaptive"}}), NEWER),
    Case("forced-tool", body(HI, toolConfig={"tools": [LOOK], "toolChoice": {"any": {}}}), CLAUDE),
    Case("forced-tool", body(HI, toolConfig={"tools": [LOOK], "toolChoice": {"auto": {}}}), NEWER),
    Case("cache-points", body(user(text(), POINT, text(), POINT), system=[text(), POINT], tools=[LOOK, POINT]), CLAUDE),
    Case("cache-points", body(user(text(), POINT), system=[text(), POINT]), NOVA),
]
CARELESS = [
    Case("last-role", body(HI, OK)),
    Case("empty-content", body(HI, model(call()), user(EMPTY))),
    Case("error-result-text", body(HI, model(call()), user(result("c1", IMAGE, status="error"))), CLAUDE),
    Case("result-status", body(HI, model(call()), user(result(status="error")))),
    Case("result-media", body(HI, model(call()), user(result("c1", IMAGE)))),
    Case("cache-points", body(user(text(), POINT))),
]
REFUSED = [
    Case("empty-history", body()),
    Case("alternation", body(HI, HI)),
    Case("first-role", body(OK, HI)),
    Case("tool-call-unanswered", body(HI, model(call()), HI)),
    Case("tool-call-unanswered", body(HI, model(call("a"), call("b")), user(result("a")))),
    Case("tool-result-orphan", body(user(result()))),
    Case("tool-result-duplicate", body(HI, model(call()), user(result(), result()))),
    Case("tool-call-duplicate", body(HI, model(call(), call()), user(result()))),
    Case("server-tool-after-call", body(HI, model(call(), SEARCH, FOUND), user(result()))),
    Case("tool-result-mixed", body(HI, model(call()), user(result(), text())), LLAMA),
    Case("tool-result-mixed", body(HI, model(call()), user(text(), result())), CLAUDE),
    Case("tool-call-mixed", body(HI, model(text(), call()), user(result())), LLAMA),
    Case("tool-config", body(*LOOP, tools=())),
    Case("tool-role", body(user(call()))),
    Case("tool-role", body(HI, model(result(), text()), HI)),
    Case("server-tool-orphan", body(HI, model(SEARCH, text()), HI)),
    Case("server-tool-orphan", body(HI, model(FOUND, text()), HI)),
    Case("shape", body({"role": "user", "content": "Hi"})),
    Case("shape", body({"role": "tool", "content": [text()]})),
    Case("shape", body("Hi")),
    Case("shape", body(user({"text": "Hi", "image": {}}))),
    Case("shape", body(user({"text": 1}))),
    Case("shape", body(user({"image": "x"}, text()))),
    Case("shape", body(user({"image": {"format": "bmp", "source": {"bytes": "AAAA"}}}))),
    Case("shape", body(user({"image": {"format": "png", "source": {"bytes": "AAA"}}}))),
    Case("shape", body(user({"image": {"format": "png", "source": {"url": "x"}}}))),
    Case("shape", body(HI, model(call(input=[])), user(result()))),
    Case("shape", body(HI, model({"reasoningContent": {}}, text()), HI)),
    Case("shape", body(HI, model({"reasoningContent": {"reasoningText": "x"}}, text()), HI)),
    Case("shape", body(HI, max_tokens=1)),
    Case("empty-content", body(HI, model(), HI)),
    Case(
        "empty-content",
        body(HI, model(call()), user({"toolResult": {**EMPTY["toolResult"], "status": "error"}})),
        CLAUDE,
    ),
    Case("blank-text", body(user(text(" \n")))),
    Case("blank-text", body(HI, model(call()), user(result("c1", text(""))))),
    Case("blank-text", body(HI, model({"citationsContent": {"content": [text(" ")], "citations": []}}), HI)),
    Case("blank-text", body(HI, system=[{"guardContent": {"text": {"text": ""}}}])),
    Case("result-status", body(HI, model(call()), user(result(status="error"))), LLAMA),
    Case("result-media", body(HI, model(call()), user(result("c1", IMAGE))), LLAMA),
    Case("media-role", body(HI, model(IMAGE, text()), HI)),
    Case("document-name", body(user(document("a.pdf"), text()))),
    Case("document-name", body(user(document("Tape"), document("tape"), text()))),
    Case("document-text", body(user(document()))),
    Case("tool-call-id", body(HI, model(call("a|b")), user(result("a|b")))),
    Case("tool-name", body(HI, model(call(name="a.b")), user(result()))),
    Case("tool-declared-twice", body(HI, tools=[LOOK, LOOK])),
    Case("reasoning-signature", body(HI, model(thought(), text()), HI)),
    Case("reasoning-last", body(HI, model(text(), SIGNED), HI)),
    Case("reasoning-role", body(user(SIGNED, text()))),
    Case("thinking-kind", body(HI, additionalModelRequestFields={"thinking": {"type": "disabled"}}), NEWER),
    Case("forced-tool", body(HI, toolConfig={"tools": [LOOK], "toolChoice": {"any": {}}}), NEWER),
    Case("forced-tool", body(HI, toolConfig={"tools": [LOOK], "toolChoice": {"tool": {"name": "look"}}}), NEWER),
    Case("cache-points", body(user(*[text(), POINT] * 5)), CLAUDE),
    Case("cache-points", body(HI, model(SIGNED, POINT, text()), HI), CLAUDE),
    Case("cache-points", body(user(document(), POINT, text())), CLAUDE),
    Case("cache-points", body(user(text(), POINT)), LLAMA),
    Case("cache-points", body(HI, tools=[LOOK, POINT]), NOVA),
    Case("cache-points", body(user(text(), {"cachePoint": {"type": "default", "ttl": "1h"}})), NOVA),
]
