"""Names of tools: kept where everybody takes them, else readable and the same every time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.naming import sent_name


@pytest.mark.parametrize(
    ("given_name", "begins"), [("look", "look"), ("a.b", "a_b_"), ("1st", "_1st_"), ("ü", "__"), ("-x", "_-x_")]
)
def test_what_it_becomes(given_name: str, begins: str) -> None:
    """What can be read of a name stays."""
    assert sent_name(given_name).startswith(begins)


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_everybody_takes_it(one: str, other: str) -> None:
    """Any name gives one that all four take, and two names give two."""
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", sent_name(one))
    assert (one == other) == (sent_name(one) == sent_name(other))
    assert sent_name(sent_name(one)) == sent_name(one)
