"""Bytes on the socket that nobody in their right mind would send; whoever else is there notices nothing.

``make fuzz`` runs the same for as long as is asked for. What it finds stands below as an ``example`` from then on.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.hostile import JUNK, LAYOUTS, Call, calls, streams
from tests.fuzz.target import Target, target

# Inputs of each kind.
MANY = int(os.environ.get("FUZZ", "250"))
often = settings(
    max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=MANY == 250
)


@pytest.fixture(scope="module")
def shot() -> Iterator[Target]:
    """A daemon that all inputs go to."""
    with target() as made:
        yield made


@often
@given(data=streams(), cuts=st.lists(st.integers(1, 60), max_size=4), listen=st.sampled_from([True, True, True, False]))
@example(data=b"[" * 300 + b'"' + b'\\"' * 300_000 + b"\n", cuts=[], listen=True)
@example(data=b"\x94\x00\x01\xa3add\x92\xa1a" + b"\xdc\xff\xff" * 900, cuts=[1], listen=False)
def test_streams(shot: Target, data: bytes, cuts: list[int], *, listen: bool) -> None:
    """Whatever somebody sends, they are hung up on in the end, nothing fails inside, and others are served."""
    said = shot.shoot(data, cuts, listen=listen)
    shot.check()

    assert b"internal: " not in said


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: junk[:12].hex())
@pytest.mark.parametrize(
    "before", [b"", b'{"id":1,"method":"ping"}\n', b"\x94\x00\x01\xa4ping\x90"], ids=["first", "json", "msgpack"]
)
def test_junk(shot: Target, junk: bytes, before: bytes) -> None:
    """What a reader could stumble over, at the beginning of a connection and later."""
    said = shot.shoot(before + junk * 3, [])
    shot.check()

    assert b"internal: " not in said


@often
@given(call=calls(), lay=st.sampled_from(LAYOUTS))
def test_methods(shot: Target, call: Call, lay: object) -> None:
    """Every method answers every parameters, with a result or with an error that says whose fault it is."""
    said = shot.shoot(lay(7, call), [])  # type: ignore[operator]
    shot.check()

    assert b"internal: " not in said
    assert said


def test_the_state_after_all_that(shot: Target) -> None:
    """No error stands in the log and nothing of what was said, and the memory is within its bounds."""
    shot.check_state()
