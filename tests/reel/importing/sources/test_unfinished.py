"""Whether an answer is still being written."""

import time

import pytest

from reel.importing.sources.unfinished import LEFT, may_go_on


@pytest.mark.parametrize(("ago", "expected"), [(0, True), (LEFT // 2, True), (2 * LEFT, False), (-2 * LEFT, False)])
def test_when_an_answer_was_last_written(ago: int, *, expected: bool) -> None:
    """One of another day is not waited for: neither if it was left, nor if the clock was ahead when it was written."""
    assert expected == may_go_on(time.time_ns() // 1_000_000 - ago)
