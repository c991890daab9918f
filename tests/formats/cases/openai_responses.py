"""Minimal bodies of OpenAI Responses."""

from typing import Any

from tests.formats.cases.case import Case

HI = {"role": "user", "content": "Hi"}
OK = {"role": "assistant", "content": "OK"}


def body(*items: Any, **more: Any) -> dict[str, Any]:
    return {"input": list(items), **more}


def call(of: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": of, "name": "look", "arguments": "{}", **more}


def output(name: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": "done", **more}


def reasoning(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [], "encrypted_content": "AAAA", **more}


def said(role: str, *kinds: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind, "text": "Hi"} for kind in kinds]}


def answer(name: str) -> dict[str, Any]:
    return {**said("assistant", "output_text"), "type": "message", "id": name, "status": "completed"}


CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "look", "input": "x"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
SEARCH = {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {}, "status": "completed"}

COMPACTION = {"type": "compaction", "encrypted_content": "x"}

ACCEPTED = [
    Case("history-elsewhere", body(HI)),
    Case("compaction-not-first", body(COMPACTION, HI)),
    Case("compaction-not-first", body(HI, HI, COMPACTION, HI)),
    Case("empty-history", {"input": "Hi"}),
    Case("empty-history", body(previous_response_id="resp_1")),
    Case("tool-call-unanswered", body(call("a"), call("b"), HI, output("b"), output("a"))),
    Case("tool-call-unanswered", body(HI, {**SEARCH, "execution": "server"})),
    Case("tool-result-orphan", body(CUSTOM, CUSTOM_OUTPUT)),
    Case("tool-result-orphan", body(SEARCH, output())),
    Case("tool-result-orphan", body(output(), previous_response_id="resp_1")),
    Case("tool-result-duplicate", body(call(), output())),
    Case("tool-call-duplicate", body(call("a"), output("a"), call("b"), output("b"))),
    Case("tool-call-id", body(call("toolu_" + "x" * 58), output("toolu_" + "x" * 58))),
    Case("tool-name", body(call(), output())),
    Case("item-id", body(call(id="fc_1"), output(), answer("msg_1"), HI)),
    Case("item-id-duplicate", body(answer("msg_1"), HI, answer("msg_2"), HI)),
    Case("part-role", body(said("user", "input_text"), said("assistant", "output_text"), said("system", "input_text"))),
    Case("role", body({"role": "system", "content": "S"}, HI, OK, {"role": "developer", "content": "S"})),
    Case("empty-content-array", body(said("user", "input_text"))),
    Case("shape", body({"role": "user", "content": ""}, call(), output(output=[{"type": "input_text", "text": "x"}]))),
    Case("arguments-json", body(call(), output())),
    Case("reasoning-unpaired", body(HI, reasoning(id="rs_1"), answer("msg_1"), HI)),
    Case("reasoning-unpaired", body(HI, reasoning(id="rs_1"), reasoning(id="rs_2"), call(), output())),
    Case("reasoning-unpaired", body(HI, reasoning(), OK, HI)),
    Case("reasoning-unpaired", body(HI, reasoning(id="rs_1"), OK, HI, store=False)),
    Case("reasoning-not-stored", body(HI, reasoning(), OK, HI, store=False)),
    Case("reasoning-not-stored", body(HI, {"type": "item_reference", "id": "rs_1"}, OK, HI)),
    Case("reasoning-output-only", body(HI, reasoning(content=[]), OK, HI)),
]
CARELESS = [
    Case("history-elsewhere", body(HI, previous_response_id="resp_1")),
    Case("history-elsewhere", body(HI, conversation="conv_1")),
    Case("compaction-not-first", body(HI, OK, COMPACTION, HI)),
    Case("tool-call-unanswered", body(HI, SEARCH)),
    Case("tool-call-duplicate", body(call(), output(), call(), output())),
    Case("tool-name", body(call(name="a b"), output())),
    Case("item-id-duplicate", body(answer("msg_1"), HI, answer("msg_1"), HI, store=False)),
    Case("shape", body({"type": "compaction", "encrypted_content": "AAAA", "created_by": "x"}, HI)),
    Case("shape", body({**CUSTOM, "status": "completed"}, CUSTOM_OUTPUT)),
    Case("arguments-json", body(call(arguments=""), output())),
    Case("reasoning-unpaired", body(HI, reasoning(id="rs_1"), HI), "o3-mini"),
]
REFUSED = [
    Case("empty-history", body()),
    Case("tool-call-unanswered", body(HI, call(), HI)),
    Case("tool-result-orphan", body(HI, output())),
    Case("tool-result-orphan", body(CUSTOM, output())),
    Case("tool-result-duplicate", body(call(), output(), output())),
    Case("tool-call-duplicate", body(call(), call(), output())),
    Case("tool-call-id", body(call("x" * 65), output("x" * 65))),
    Case("tool-call-id", body(call(""), output(""))),
    Case("item-id", body(call(id="call_1"), output())),
    Case("item-id", body(HI, reasoning(id="rs 1"), call(), output())),
    Case("item-id", body(answer("msg_" + "x" * 61), HI)),
    Case("item-id-duplicate", body(answer("msg_1"), HI, answer("msg_1"), HI)),
    Case("item-id-duplicate", body(call("a", id="fc_1"), call("b", id="fc_1"), output("a"), output("b"), store=False)),
    Case("part-role", body(said("assistant", "input_text"))),
    Case("part-role", body(said("user", "output_text"))),
    Case("part-role", body({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]})),
    Case("role", body({"role": "tool", "content": "x"})),
    Case("empty-content-array", body({"role": "user", "content": []})),
    Case("shape", body(HI, messages=[])),
    Case("shape", body(HI, response_format={})),
    Case("shape", body(HI, max_tokens=1)),
    Case("shape", body(call(arguments={}), output())),
    Case("shape", body(call(), output(output={"a": 1}))),
    Case("shape", body({"type": "thinking"})),
    Case("shape", body({**HI, "tool_calls": []})),
    Case("reasoning-unpaired", body(HI, reasoning(id="rs_1"), OK, HI), "gpt-5"),
    Case("reasoning-unpaired", body(HI, reasoning(id="rs_1"), HI), "gpt-5"),
    Case("reasoning-unpaired", body(HI, reasoning()), "gpt-5"),
    Case("reasoning-not-stored", body(HI, reasoning(encrypted_content=None), OK, HI, store=False)),
    Case("reasoning-not-stored", body(HI, {"type": "item_reference", "id": "rs_1"}, OK, HI, store=False)),
    Case("reasoning-output-only", body(HI, reasoning(status="completed"), OK, HI)),
    Case("reasoning-output-only", body(HI, reasoning(content=[{"type": "reasoning_text", "text": "x"}]), OK, HI)),
]
