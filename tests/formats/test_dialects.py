"""The checker of the servers that speak Chat Completions is checked: what each rule of theirs refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.cases.openai_chat import HI, IMAGE, LOOP, OK, TEXT, body, call, calls, result, user
from tests.formats.checker.chat_dialects import RULES, SERVERS, check_dialect
from tests.formats.test_checker import junk

SYSTEM = {"role": "system", "content": "S"}
THOUGHT = {**OK, "reasoning_content": "hm"}
EMPTY = {**calls(call()), "reasoning_content": ""}
REFUSED: list[tuple[str, str, dict[str, Any], str | None]] = [
    ("dialect-shape", "mistral", body({**HI, "name": "ada"}), None),
    ("dialect-shape", "deepseek", body(user(TEXT, IMAGE)), None),
    ("dialect-shape", "kimi", body({"role": "developer", "content": "S"}, HI), None),
    ("dialect-shape", "xai", body(HI, THOUGHT, HI), None),
    ("dialect-shape", "mistral", body(HI, {**calls({**call("abcdefghi"), "index": 0})}, result("abcdefghi")), None),
    ("system-first", "vllm", body(SYSTEM, SYSTEM, HI), None),
    ("alternation", "llama.cpp", body(HI, HI), None),
    ("alternation", "gemini", body(OK, HI), None),
    ("tool-then-user", "mistral", body(*LOOP, HI), None),
    ("last-message", "mistral", body(HI, OK), None),
    ("short-call-id", "mistral", body(*LOOP), None),
    ("kept-call-id", "kimi", body(HI, calls(call("a b")), result("a b")), None),
    ("empty-message", "xai", body(*LOOP), None),
    ("reasoning-required", "deepseek", body(HI, OK, HI), None),
    ("reasoning-of-calls", "kimi", body(HI, EMPTY, result()), None),
    ("reasoning-outside-loop", "qwen", body(HI, THOUGHT, HI), None),
    ("no-null-content", "mimo", body(HI, {**calls(call()), "reasoning_content": "a"}, result()), None),
    ("call-signature", "gemini", body(*LOOP), None),
    ("picture-bytes", "lm-studio", body(user(TEXT, IMAGE)), None),
    ("picture-data", "kimi", body(user(TEXT, IMAGE)), None),
]
SIGNED = {"extra_content": {"google": {"thought_signature": "s"}}}
ACCEPTED: list[tuple[str, dict[str, Any], str | None]] = [
    ("mistral", body(SYSTEM, HI, calls(call("abcDEF123")), result("abcDEF123"), {**OK}, HI), None),
    (
        "deepseek",
        body(HI, {**OK, "reasoning_content": ""}, HI, {**calls(call()), "reasoning_content": "a"}, result()),
        None,
    ),
    ("kimi", body(HI, {**calls(call("functions.look:0")), "reasoning_content": " "}, result("functions.look:0")), None),
    ("qwen", body(HI, THOUGHT, HI, preserve_thinking=True), None),
    ("glm", body(HI, THOUGHT, HI, thinking={"type": "enabled", "clear_thinking": False}), None),
    ("minimax", body(HI, {**calls(call()), "reasoning_details": [{"type": "reasoning.text"}]}, result()), None),
    ("mimo", body(HI, {**calls(call()), "content": "", "reasoning_content": " "}, result()), None),
    ("perplexity", body(SYSTEM, HI, OK, HI), None),
    ("openrouter", body(HI, {**OK, "reasoning_details": []}, HI), None),
    ("gemini", body(HI, calls({**call(), **SIGNED}), result(), OK, HI), None),
    *((name, body(*LOOP), "gemini-2.5-flash") for name in ("gemini", "vertex", "ai-studio")),
    ("xai", body(HI, {**calls(call()), "content": ""}, result()), None),
    ("vllm", body(SYSTEM, HI, calls(call()), result(), {**OK, "reasoning": "hm"}, HI), None),
    ("llama.cpp", body(HI, THOUGHT, HI), None),
    ("lm-studio", body(user(TEXT, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}})), None),
]


@pytest.mark.parametrize(("rule", "dialect", "given_body", "model"), REFUSED)
def test_a_forbidden_body_breaks_its_rule(
    rule: str, dialect: str, given_body: dict[str, Any], model: str | None
) -> None:
    """It is refused under that rule's name."""
    assert rule in {problem.rule for problem in check_dialect(dialect, given_body, model)}


@pytest.mark.parametrize(("dialect", "given_body", "model"), ACCEPTED)
def test_a_permitted_body_breaks_no_rule(dialect: str, given_body: dict[str, Any], model: str | None) -> None:
    """Each server has a body that it takes."""
    assert [] == check_dialect(dialect, given_body, model)


def test_every_rule_has_a_forbidden_body() -> None:
    """Of the rules of OpenAI's the checker of Chat Completions has some."""
    assert set(RULES) == {rule for rule, *_ in REFUSED}
    assert set(SERVERS) == {dialect for dialect, *_ in ACCEPTED}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", list(SERVERS))
@given(history=junk, extra=st.booleans())
def test_any_json_is_judged_without_an_error(dialect: str, history: Any, *, extra: bool) -> None:
    """The checker judges a history of whatever JSON and never raises."""
    found = check_dialect(dialect, {"messages": history, "preserve_thinking": extra})

    assert all(problem.rule and problem.where for problem in found)
