"""The checker of the clouds is checked: what each of them refuses (rules A22 and G14)."""

from typing import Any

import pytest

from tests.formats.checker import check
from tests.formats.checker.clouds import CLOUDS, RULES, SIGNED_ELSEWHERE, signed_elsewhere

HISTORIES: dict[str, dict[str, Any]] = {
    "anthropic": {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "gemini-interactions": {"input": [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}]},
}


def broken(name: str, **more: Any) -> list[str]:
    """Return the rules that a body breaks."""
    return [problem.rule for problem in check(name, {**HISTORIES[name.partition("/")[0]], **more})]


@pytest.mark.parametrize("name", CLOUDS)
def test_a_body_that_a_cloud_takes(name: str) -> None:
    """It has what the cloud wants, and nothing else."""
    assert [] == broken(name, **CLOUDS[name][0])


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, (_, keys) in CLOUDS.items() for key in keys])
def test_a_key_that_a_cloud_does_not_know(name: str, key: str) -> None:
    """It is refused."""
    assert RULES[name.partition("/")[0]] in broken(name, **CLOUDS[name][0], **{key: "x"})


@pytest.mark.parametrize("name", [name for name, (wanted, _) in CLOUDS.items() if wanted])
def test_a_key_that_a_cloud_wants(name: str) -> None:
    """Without it, or with that of another API, the body is refused."""
    (key,) = CLOUDS[name][0]
    rule = RULES[name.partition("/")[0]]

    assert [rule] == broken(name)
    assert [rule] == broken(name, **{key: "2026-10-21"})


def test_what_another_cloud_has_signed() -> None:
    """It is found wherever it is, and nothing else is."""
    body = {"contents": [{"role": "model", "parts": [{"thoughtSignature": "ours"}, {"thoughtSignature": "theirs"}]}]}
    made_by = {"ours": "vertex", "theirs": "ai-studio"}

    (problem,) = signed_elsewhere(body, made_by, "vertex")
    assert (SIGNED_ELSEWHERE, "contents[0].parts[1].thoughtSignature") == (problem.rule, problem.where)
    assert [] == signed_elsewhere(body, {"theirs": "vertex"}, "vertex")
