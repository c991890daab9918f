"""Every rule of the checker: a history that breaks it as it is does not when it is rendered, in any format."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_request
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.cases.case import Case
from tests.formats.checker import check
from tests.formats.checker.binding import prefix_changed
from tests.formats.rules import RULES
from tests.formats.test_checker import CASES
from tests.reeld.formats.histories import entries_of, model, prompt_in, thinking, user
from tests.reeld.formats.test_recordings import MODELS, NAMES, begins_outside

Json = dict[str, Any]
# What `extra` alone can break: it is the caller's, and goes out as it came.
BESIDE = {"tool-declared-twice"}
# What only the bodies of two requests show.
BETWEEN = {"prefix-changed"}
# What is not a history: nothing, roles that no API has, a tool without a name, a prompt that is not text. It is
# refused, with its place.
REFUSED = {
    *("shape", "role", "empty-history", "part-data", "empty-parts", "tool-name", "system-parts"),
    "history-elsewhere",
}
BROKEN = [
    pytest.param(provider, rule, id=f"{provider}-{rule}")
    for provider, rules in RULES.items()
    if provider in CASES
    for rule in sorted(rules - BESIDE - BETWEEN)
]


def cases(provider: str, rule: str) -> list[Case]:
    """Return the bodies that break a rule."""
    module = CASES[provider]
    return [case for kind in ("CARELESS", "REFUSED") for case in getattr(module, kind) if case.rule == rule]


@pytest.mark.parametrize(("provider", "rule"), BROKEN)
def test_a_broken_rule_is_repaired_in_every_format(provider: str, rule: str) -> None:
    """What breaks a rule is repaired in rendering, or refused as a history."""
    rendered = 0
    broken = cases(provider, rule)
    for case in broken:
        assert rule in {problem.rule for problem in check(provider, case.body, case.model)}
        try:
            entries = entries_of(read_request(NAMES[provider], json.dumps(case.body), case.model).messages)
        except InvalidMessage as error:
            if rule not in REFUSED and not begins_outside(case.body):
                raise AssertionError(case) from error
            continue
        rendered += 1
        for format in FORMATS:  # noqa: A001 - the protocol's word
            target = case.model if format == NAMES[provider] and case.model else MODELS.get(format)
            found, _ = render(RenderRequest(format, target), entries, prompt_in(entries))
            problems = check(format.replace("-", "_"), json.loads(found.body), target)

            assert not found.ready or [] == problems, case

    assert broken
    assert rendered or rule in REFUSED


def test_bound_thinking_stays_valid_as_a_history_grows() -> None:
    """What is added later changes nothing before a thinking block (rule A8)."""
    history: list[Any] = [user("Hi"), model(thinking(), "OK"), user("Go on"), model("There"), user("And?")]
    bodies = []
    for end in (3, 5):
        entries = entries_of(history[:end])
        found, _ = render(RenderRequest("anthropic", MODELS["anthropic"]), entries)
        bodies.append(json.loads(found.body))

    assert [] == prefix_changed(*bodies)
