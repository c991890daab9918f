"""The checker of the clouds is checked: what each of them refuses (rule A22)."""

from typing import Any

import pytest

from tests.formats.checker import check
from tests.formats.checker.clouds import CLOUDS

HISTORY: dict[str, Any] = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize("name", CLOUDS)
def test_a_body_that_a_cloud_takes(name: str) -> None:
    """It has what the cloud wants, and nothing else."""
    assert [] == check(name, {**CLOUDS[name][0], **HISTORY})


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, (_, keys) in CLOUDS.items() for key in keys])
def test_a_key_that_a_cloud_does_not_know(name: str, key: str) -> None:
    """It is refused."""
    found = check(name, {**CLOUDS[name][0], **HISTORY, key: "x"})

    assert ["model-in-url"] == [problem.rule for problem in found]


@pytest.mark.parametrize("name", [name for name, (wanted, _) in CLOUDS.items() if wanted])
def test_a_key_that_a_cloud_wants(name: str) -> None:
    """Without it, or with that of another API, the body is refused."""
    (key,) = CLOUDS[name][0]

    assert ["model-in-url"] == [problem.rule for problem in check(name, HISTORY)]
    assert ["model-in-url"] == [problem.rule for problem in check(name, {**HISTORY, key: "2026-10-21"})]
