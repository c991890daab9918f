"""Minimal bodies of Anthropic Messages."""

from typing import Any

from tests.formats.cases.case import Case


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str = "Hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(of: str = "c1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": of, "name": name, "input": {}, **more}


def result(of: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": of, "content": "done", **more}


def system(words: str = "Be brief") -> dict[str, Any]:
    return {"role": "system", "content": words}


HI = {"role": "user", "content": "Hi"}
OK = {"role": "assistant", "content": "OK"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "AAAA"}
HIDDEN = {"type": "redacted_thinking", "data": "AAAA"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
RUN = {"type": "server_tool_use", "id": "s2", "name": "code_execution", "input": {}}
BY_RUN = {"type": "code_execution_20260120", "tool_id": "s2"}
MARK = {"type": "ephemeral"}
TAKEOVER = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
LOOK = {"name": "look", "input_schema": {"type": "object"}}
ENABLED = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
LOOP = (HI, model(call()), user(result()))
OLD, RECENT = "claude-haiku-4-5", "claude-opus-4-8"
ADAPTIVE_ONLY = ("fable-5-1", "mythos-5", "opus-5-5-20260922", "sonnet-5-5")

SUMMARY = {"type": "compaction", "content": "S", "signature": "AAAA"}

ACCEPTED = [
    Case("history-elsewhere", body(HI)),
    Case("compaction-not-first", body(model(SUMMARY), HI)),
    Case("compaction-not-first", body(HI, model({**SUMMARY, "signature": None}), HI)),
    Case("empty-history", body(HI)),
    Case("alternation", body(HI, OK, HI)),
    Case("first-role", body(HI, OK, HI)),
    Case("tool-call-unanswered", body(HI, model(call("a")), model(call("b")), user(result("b")), user(result("a")))),
    Case("tool-result-orphan", body(*LOOP)),
    Case("tool-result-duplicate", body(*LOOP)),
    Case("tool-call-duplicate", body(HI, model(call("a"), call("b")), user(result("a"), result("b")))),
    Case("server-tool-after-call", body(HI, model(call("a"), text(), call("b")), user(result("a"), result("b")))),
    Case("server-tool-after-call", body(HI, model(call(), THOUGHT, SEARCH, FOUND), user(result()))),
    Case("server-tool-after-call", body(HI, model(SEARCH, FOUND, call(), text()), user(result()))),
    Case("tool-result-not-first", body(HI, model(call()), user(result(), text()))),
    Case("server-tool-unanswered", body(HI, model(SEARCH, FOUND, text()), HI)),
    Case("server-tool-unanswered", body(HI, model(SEARCH))),
    Case("server-tool-unanswered", body(HI, model(SEARCH, call()), user(result()), model(FOUND, text()), HI)),
    Case(
        "server-tool-unanswered",
        body(HI, model(RUN, call(caller=BY_RUN)), user(result()), model(call("c2", caller=BY_RUN)), user(result("c2"))),
    ),
    Case("server-tool-orphan", body(HI, model(SEARCH, FOUND, text()), HI)),
    Case("fallback-declined", body(HI, model(text(), SEARCH, FOUND, TAKEOVER, THOUGHT, text()), HI)),
    Case("system-role", body(HI, system(), OK, HI), RECENT),
    Case("system-role", body(HI, model(SEARCH, FOUND), system()), "claude-fable-5"),
    Case("prefill", body(HI, OK, HI), RECENT),
    Case("prefill", body(HI, model(SEARCH)), RECENT),
    Case("empty-content", body(HI, {"role": "assistant", "content": ""})),
    Case("empty-content", body(HI, model(call()), user(result(content="")))),
    Case("empty-text", body(user(text()), system=[text()])),
    Case("empty-text", body(HI, model({"type": "connector_text", "connector_text": "", "signature": "AAAA"}), HI)),
    Case("blank-text", body(user(text(" x ")))),
    Case("trailing-whitespace", body(HI, {"role": "assistant", "content": "OK "}, HI)),
    Case("error-result-text", body(HI, model(call()), user(result(content=[text()], is_error=True)))),
    Case("error-result-text", body(HI, model(call()), user(result(content=[IMAGE], is_error=False)))),
    Case("media-role", body(user(IMAGE))),
    Case("tool-role", body(*LOOP)),
    Case(
        "shape", body(HI, model({**call(), "cache_control": None}), user({"type": "tool_result", "tool_use_id": "c1"}))
    ),
    Case("tool-call-id", body(HI, model(call("call_A-1")), user(result("call_A-1")))),
    Case("tool-name", body(HI, model(call(name="Look_at-1")), user(result()))),
    Case(
        "cache-marks",
        body(user(*[text(cache_control=MARK)] * 3, text(cache_control=None)), tools=[{**LOOK, "cache_control": MARK}]),
    ),
    Case("tool-declared-twice", body(HI, tools=[LOOK, {**LOOK, "name": "find"}])),
    Case("thinking-signature", body(HI, model(THOUGHT, text()), HI)),
    Case("thinking-first", body(HI, model(THOUGHT, call()), user(result()), **ENABLED)),
    Case("thinking-first", body(*LOOP, thinking={"type": "adaptive"})),
    Case("thinking-first", body(*LOOP, OK, HI, **ENABLED)),
    Case("thinking-last", body(HI, model(THOUGHT, text()), HI)),
    Case("thinking-disabled", body(HI, model(THOUGHT, text()), HI, thinking={"type": "disabled"})),
    Case("thinking-role", body(HI, model(HIDDEN, text()), HI)),
    Case("thinking-kind", body(HI, **ENABLED), RECENT),
    Case("thinking-kind", body(HI, thinking={"type": "disabled"}), "claude-haiku-5-5"),
    Case("thinking-kind", body(HI, thinking={"type": "adaptive"}), "claude-opus-5-5"),
    Case("forced-tool", body(HI, tools=[LOOK], tool_choice={"type": "any"}), "claude-opus-5"),
    Case("forced-tool", body(HI, tools=[LOOK], tool_choice={"type": "auto"}, **ENABLED), RECENT),
    Case("forced-tool", body(HI, tools=[LOOK], tool_choice={"type": "none"}), "claude-opus-5-5"),
]
CARELESS = [
    Case("history-elsewhere", body(HI, thread={"id": "t"})),
    Case("alternation", body(HI, HI)),
    Case("first-role", body(OK, HI)),
    Case("tool-call-duplicate", body(*LOOP, model(call()), user(result()))),
    Case("prefill", body(HI, OK), OLD),
    Case("thinking-first", body(HI, model(THOUGHT, call("a")), user(result("a")), *LOOP[1:], **ENABLED)),
    Case("thinking-first", body(*LOOP, model(THOUGHT, call("b")), user(result("b")), **ENABLED)),
    Case("blank-text", body(HI, model(text("Hi"), text(" ")), HI)),
    Case("tool-call-id", body(HI, model(call("x" * 65)), user(result("x" * 65)))),
    Case("tool-name", body(HI, model(call(name="x" * 128)), user(result()))),
]
REFUSED = [
    Case("compaction-not-first", body(HI, model(SUMMARY), HI)),
    Case("compaction-not-first", body(model(text(), SUMMARY), HI)),
    Case("empty-history", body()),
    Case("tool-call-unanswered", body(HI, model(call()), HI)),
    Case("tool-call-unanswered", body(HI, model(call("a"), call("b")), user(result("a")))),
    Case("tool-call-unanswered", body(HI, model(call()))),
    Case("tool-result-orphan", body(user(result()))),
    Case("tool-result-orphan", body(HI, model(call()), user(result()), OK, user(result()))),
    Case("tool-result-duplicate", body(HI, model(call()), user(result()), user(result()))),
    Case("tool-call-duplicate", body(HI, model(call(), call()), user(result()))),
    Case("server-tool-after-call", body(HI, model(call(), SEARCH, FOUND), user(result()))),
    Case("server-tool-after-call", body(HI, model(call(), text(), SEARCH, FOUND), user(result()))),
    Case("tool-result-not-first", body(HI, model(call()), user(text(), result()))),
    Case("server-tool-unanswered", body(HI, model(SEARCH, text()), HI)),
    Case(
        "server-tool-unanswered", body(HI, model(SEARCH, call()), user(result()), model(call("c2")), user(result("c2")))
    ),
    Case("server-tool-orphan", body(HI, model(FOUND, text()), HI)),
    Case("fallback-declined", body(HI, model(THOUGHT, TAKEOVER, text()), HI)),
    Case("fallback-declined", body(HI, model(THOUGHT, text(), TAKEOVER, TAKEOVER, text()), HI)),
    Case("fallback-declined", body(HI, model(call(), TAKEOVER, text()), user(result()))),
    Case("system-role", body(HI, system(), OK, HI), OLD),
    Case("system-role", body(system(), HI), RECENT),
    Case("system-role", body(HI, system(), HI), RECENT),
    Case("prefill", body(HI, OK), RECENT),
    Case("empty-content", body({"role": "user", "content": ""})),
    Case("empty-content", body(HI, model(), HI)),
    Case("empty-content", body(HI, model(call()), user(result(content=[])))),
    Case("empty-content", body(HI, model(call()), user(result(content="", is_error=True)))),
    Case("empty-text", body(user(text("")))),
    Case("empty-text", body(HI, system=[text("")])),
    Case("empty-text", body(HI, model({"type": "connector_text", "connector_text": ""}), HI)),
    Case("empty-text", body(HI, model(call()), user(result(content=[text("")])))),
    Case("blank-text", body({"role": "user", "content": " \n"})),
    Case("blank-text", body(HI, model(text(" "), call()), user(result()))),
    Case("trailing-whitespace", body(HI, {"role": "assistant", "content": "OK "})),
    Case("error-result-text", body(HI, model(call()), user(result(content=[text(), IMAGE], is_error=True)))),
    Case("media-role", body(HI, model(IMAGE, text()), HI)),
    Case("tool-role", body(user(call()))),
    Case("shape", body(HI, model(call(input=[])), user(result()))),
    Case("shape", body({**HI, "name": "x"})),
    Case("shape", body(user(text(extra=1)))),
    Case("shape", body(HI, max_completion_tokens=1)),
    Case("shape", body({"role": "user", "content": {"type": "text"}})),
    Case("shape", body({"role": "tool", "content": "x"})),
    Case("tool-call-id", body(HI, model(call("functions.look:0")), user(result("functions.look:0")))),
    Case("tool-name", body(HI, model(call(name="a.b")), user(result()))),
    Case("cache-marks", body(user(*[text(cache_control=MARK)] * 4), system=[text(cache_control=MARK)])),
    Case("tool-declared-twice", body(HI, tools=[LOOK, LOOK])),
    Case("thinking-signature", body(HI, model({"type": "thinking", "thinking": "hm"}, text()), HI)),
    Case("thinking-first", body(*LOOP, **ENABLED)),
    Case("thinking-first", body(*LOOP, model(text(), call("b")), user(result("b")), **ENABLED)),
    Case("thinking-last", body(HI, model(text(), THOUGHT), HI)),
    Case("thinking-disabled", body(HI, model(THOUGHT, text()), thinking={"type": "disabled"})),
    Case("thinking-role", body(user(THOUGHT, text()))),
    Case("thinking-kind", body(HI, **ENABLED), "claude-haiku-5-5"),
    Case("forced-tool", body(HI, tools=[LOOK], tool_choice={"type": "any"}), "claude-opus-5-5"),
    Case("forced-tool", body(HI, tools=[LOOK], tool_choice={"type": "tool", "name": "look"}), "claude-fable-5-1"),
    Case("forced-tool", body(HI, tools=[LOOK], tool_choice={"type": "any"}, **ENABLED), RECENT),
    *(Case("thinking-kind", body(HI, thinking={"type": "disabled"}), f"claude-{name}") for name in ADAPTIVE_ONLY),
]
