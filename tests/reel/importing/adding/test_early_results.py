"""Results that an import saw before their calls."""

from typing import Any

from reel.importing.adding.early_results import is_early, results_of
from reel.importing.steps import Part
from tests.reel.importing.adding.test_conversation import answer, said


def test_results_of_calls() -> None:
    """They are the messages with a result of one of the calls; without calls, nothing is asked for."""
    blocks = [{"type": "tool_call", "id": "c1"}, {"type": "text", "text": "c3"}, {"type": "tool_call", "id": "c2"}]
    stored = {
        3: [{"type": "tool_result", "tool_call_id": "c0"}, {"type": "tool_result", "tool_call_id": "c2"}],
        4: [{"type": "text", "text": "c1"}],
        5: [{"type": "tool_result", "tool_call_id": "c3"}],
    }

    def blocks_of(places: list[int]) -> list[Any]:
        return [block for place in places for block in stored.pop(place)]

    assert [] == results_of(answer("a1"), [3, 4, 5], blocks_of)
    assert [3] == results_of(answer("a1")._replace(parts=(Part("a1", blocks),)), [3, 4, 5], blocks_of)
    assert {} == stored


def test_results_that_were_early() -> None:
    """The log has them before the answer; what else it has there is none."""
    assert is_early(said("r1", role="tool"), 3, 4)
    assert not is_early(said("r1", role="tool"), 5, 4)
    assert not is_early(said("r1", role="tool"), 3, None)
    assert not is_early(said("r1"), 3, 4)
