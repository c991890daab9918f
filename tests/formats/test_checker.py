"""The checker itself is checked: each rule has minimal bodies that it accepts, tolerates and refuses."""

import ast
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.cases import (
    ai_sdk,
    anthropic,
    bedrock_converse,
    gemini,
    gemini_interactions,
    langchain,
    ollama,
    openai_chat,
    openai_responses,
)
from tests.formats.cases.case import Case
from tests.formats.checker import CHECKS, check
from tests.formats.checker import ai_sdk as ai_sdk_rules
from tests.formats.checker import anthropic as anthropic_rules
from tests.formats.checker import bedrock_converse as bedrock_converse_rules
from tests.formats.checker import gemini as gemini_rules
from tests.formats.checker import gemini_interactions as gemini_interactions_rules
from tests.formats.checker import langchain as langchain_rules
from tests.formats.checker import ollama as ollama_rules
from tests.formats.checker import openai_chat as openai_chat_rules
from tests.formats.checker import openai_responses as openai_responses_rules
from tests.formats.checker.betas import undeclared
from tests.formats.checker.binding import prefix_changed

CASES: dict[str, ModuleType] = {
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "gemini_interactions": gemini_interactions,
    "ollama": ollama,
    "bedrock_converse": bedrock_converse,
    "ai_sdk": ai_sdk,
    "langchain": langchain,
}
RULES: dict[str, ModuleType] = {
    "openai_chat": openai_chat_rules,
    "openai_responses": openai_responses_rules,
    "anthropic": anthropic_rules,
    "gemini": gemini_rules,
    "gemini_interactions": gemini_interactions_rules,
    "ollama": ollama_rules,
    "bedrock_converse": bedrock_converse_rules,
    "ai_sdk": ai_sdk_rules,
    "langchain": langchain_rules,
}
HISTORY = {
    "openai_chat": "messages",
    "openai_responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
    "gemini_interactions": "input",
    "ollama": "messages",
    "bedrock_converse": "messages",
    "ai_sdk": "messages",
    "langchain": "messages",
}
WORDS = [
    *("user", "assistant", "model", "system", "tool", "text", "thinking", "tool_use", "tool_result", "reasoning"),
    *("user_input", "model_output", "thought", "function_call", "function_result", "google_search_call"),
    *("tool-call", "tool-result", "file"),
]
KEYS = ["role", "type", "content", "parts", "text", "id", "call_id", "tool_calls", "functionCall", "function", "output"]


each_provider = pytest.mark.parametrize("provider", list(CASES))


def cases(kind: str, provider: str) -> list[Case]:
    """Return a provider's cases of a kind."""
    found: list[Case] = getattr(CASES[provider], kind)
    return found


def rules_of(kind: str, provider: str) -> set[str]:
    """Return the rules that a provider's cases of a kind are about."""
    return {case.rule for case in getattr(CASES[provider], kind)}


@each_provider
def test_a_permitted_body_breaks_no_rule(provider: str) -> None:
    """A body that a rule permits breaks that rule in no way, and no other rule except carelessly."""
    for case in cases("ACCEPTED", provider):
        found = check(provider, case.body, case.model)

        assert [] == [problem for problem in found if problem.rule == case.rule or not problem.careless], case


@each_provider
def test_a_careless_body_is_only_careless(provider: str) -> None:
    """A body that some API tolerates is found careless, and nothing worse."""
    for case in cases("CARELESS", provider):
        found = check(provider, case.body, case.model)

        assert {True} == {problem.careless for problem in found}, case
        assert case.rule in {problem.rule for problem in found}, case


@each_provider
def test_a_forbidden_body_breaks_its_rule(provider: str) -> None:
    """A body that breaks a rule is refused under that rule's name."""
    for case in cases("REFUSED", provider):
        found = check(provider, case.body, case.model)

        assert case.rule in {problem.rule for problem in found if not problem.careless}, case


@each_provider
def test_every_rule_has_a_permitted_and_a_forbidden_body(provider: str) -> None:
    """Each rule has at least one body that it permits and one that it does not."""
    rules = {rule.__name__.replace("_", "-") for rule in RULES[provider].RULES}

    assert rules == rules_of("ACCEPTED", provider)
    assert rules == rules_of("REFUSED", provider) | rules_of("CARELESS", provider)


@pytest.mark.parametrize("model", ["claude-3-5-sonnet-20241022", "claude-opus-4-20250514", "claude-haiku-4.5"])
def test_older_models_accept_a_prefill(model: str) -> None:
    """The version is read from every form of a model's name, and a date is not taken for one."""
    found = check("anthropic", anthropic.body(anthropic.HI, anthropic.OK), model)

    assert [("prefill", True)] == [(problem.rule, problem.careless) for problem in found]


def test_the_model_of_the_body_decides() -> None:
    """Without a given model, the model in the body decides the rules that depend on it."""
    found = check("anthropic", anthropic.body(anthropic.HI, anthropic.OK, model="claude-sonnet-4-6"))

    assert [("prefill", False)] == [(problem.rule, problem.careless) for problem in found]


def thought(*, words: str = "Hi", after: str = "", **more: Any) -> dict[str, Any]:
    """Return a body in which a thinking block follows some words and is followed by others."""
    said = anthropic.model(anthropic.THOUGHT, anthropic.text("OK"))
    return anthropic.body({"role": "user", "content": words}, said, anthropic.user(anthropic.text(after)), **more)


def test_bound_thinking_allows_changes_after_it() -> None:
    """Messages after a thinking block, and cache breakpoints anywhere, may change."""
    later = thought(after="more", system=[anthropic.text("S", cache_control=anthropic.MARK)])

    assert [] == prefix_changed(thought(after="x", system=[anthropic.text("S")]), later)


@pytest.mark.parametrize("later", [thought(words="Ho"), thought(tools=[anthropic.LOOK]), thought(system="S")])
def test_bound_thinking_forbids_changes_before_it(later: dict[str, Any]) -> None:
    """No message, tool or system prompt before a thinking block may change."""
    found = prefix_changed(thought(), later)

    assert ["prefix-changed"] == [problem.rule for problem in found]


def test_a_block_needs_its_beta_in_the_header() -> None:
    """Any version of it counts, and other blocks need none."""
    takeover = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    body = anthropic.body(anthropic.HI, anthropic.model(takeover, anthropic.text("OK")), anthropic.HI)

    assert ["beta-undeclared"] == [problem.rule for problem in undeclared(body, ["compact-2026-09-04"])]
    assert [] == undeclared(body, ["server-side-fallback-2026-07-01"])


scalars = st.none() | st.booleans() | st.integers() | st.sampled_from(["", *WORDS])
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@pytest.mark.parametrize("provider", list(CHECKS))
@given(history=junk)
def test_any_json_is_judged_without_an_error(provider: str, history: Any) -> None:
    """The checker judges a history of whatever JSON and never raises."""
    found = check(provider, {HISTORY[provider]: history})

    assert all(problem.rule and problem.where for problem in found)


@each_provider
def test_no_case_is_listed_twice(provider: str) -> None:
    """No body is listed twice under one rule."""
    every = list(chain.from_iterable(getattr(CASES[provider], kind) for kind in ("ACCEPTED", "CARELESS", "REFUSED")))

    assert [] == [case for index, case in enumerate(every) if case in every[:index]]


def test_the_checker_imports_no_code_of_the_daemon() -> None:
    """The checker imports nothing of what it judges."""
    sources = sorted((Path(__file__).parent / "checker").glob("*.py"))
    nodes = [node for path in sources for node in ast.walk(ast.parse(path.read_bytes()))]
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}

    assert set() == {module.partition(".")[0] for module in modules} & {"reel", "reeld"}
