"""Ids of calls: kept where everybody takes them, else the same other one every time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.naming import sent_id


@pytest.mark.parametrize("given_id", ["c1", "toolu_01A-b", "x" * 40])
def test_what_everybody_takes_is_kept(given_id: str) -> None:
    """Letters, digits, underscores and hyphens, forty of them at most."""
    assert given_id == sent_id(given_id, {}, 1, 0)


@pytest.mark.parametrize("given_id", ["functions.look:0", "a|b", "x" * 41, "ü", ""])
def test_what_somebody_refuses_is_hashed(given_id: str) -> None:
    """The hash is of the id alone, so a clone sends the same."""
    assert sent_id(given_id, {}, 1, 0) == sent_id(given_id, {}, 7, 3)
    assert sent_id(given_id, {}, 1, 0).startswith("call_")


@given(st.lists(st.sampled_from(["c1", "c2", "a|b", "ü"]), max_size=12))
def test_none_is_sent_twice(ids: list[str]) -> None:
    """Calls have ids of their own over the whole history, and all are plain."""
    used: dict[str, None] = {}
    for seq, given_id in enumerate(ids):
        sent = sent_id(given_id, used, seq, 0)

        assert sent not in used
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", sent)
        used[sent] = None
