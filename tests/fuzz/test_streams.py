"""Send a daemon bytes and calls that no sane client sends; other clients must notice nothing.

``make fuzz`` runs the same tests longer. Add its findings below, each as an ``example``.
"""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.hostile import JUNK, LAYOUTS, Call, as_line, calls, queries, streams, texts
from tests.fuzz.target import Target, target
from tests.thoroughness import FUZZ

# Inputs of each kind.
MANY = FUZZ or 120
often = settings(max_examples=MANY, suppress_health_check=list(HealthCheck), print_blob=True, derandomize=MANY == 120)


@pytest.fixture(scope="module")
def shot() -> Iterator[Target]:
    """The daemon that receives all inputs."""
    with target() as made:
        yield made


@often
@given(data=streams(), cuts=st.lists(st.integers(1, 60), max_size=4), listen=st.sampled_from([True, True, True, False]))
@example(data=b"[" * 300 + b'"' + b'\\"' * 300_000 + b"\n", cuts=[], listen=True)
@example(data=b"\x94\x00\x01\xa3add\x92\xa1a" + b"\xdc\xff\xff" * 900, cuts=[1], listen=False)
def test_streams(shot: Target, data: bytes, cuts: list[int], *, listen: bool) -> None:
    """After any bytes the daemon hangs up, reports no internal error, and serves the others."""
    said = shot.shoot(data, cuts, listen=listen)
    shot.check()

    assert b"internal: " not in said


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: junk[:12].hex())
@pytest.mark.parametrize(
    "before", [b"", b'{"id":1,"method":"ping"}\n', b"\x94\x00\x01\xa4ping\x90"], ids=["first", "json", "msgpack"]
)
def test_junk_on_a_connection(shot: Target, junk: bytes, before: bytes) -> None:
    """Junk at the start of a connection, and later, causes no internal error."""
    said = shot.shoot(before + junk * 3, [])
    shot.check()

    assert b"internal: " not in said


@often
@given(call=calls(), lay=st.sampled_from(LAYOUTS))
def test_methods(shot: Target, call: Call, lay: object) -> None:
    """Every method answers any parameters with a result, or with an error that is not internal."""
    shot.was_called = True
    said = shot.shoot(lay(7, call), [])  # type: ignore[operator]
    shot.check()

    assert b"internal: " not in said
    assert said


_NARROWED = st.fixed_dictionaries(
    {},
    optional={
        "order": st.sampled_from(["best", "newest"]),
        "live": st.booleans(),
        "limit": st.integers(1, 3),
        "roles": st.lists(st.sampled_from(["user", "tool"]), max_size=2),
        "tags": st.dictionaries(texts, texts, max_size=2),
        "since": st.integers(0, 1 << 41),
        "after": st.sampled_from(["1", "9.1", "x"]),
    },
)


@often
@given(query=queries, more=_NARROWED)
def test_queries(shot: Target, query: str, more: dict[str, object]) -> None:
    """Every query is answered with hits, or is refused for a parameter that is named."""
    said = shot.shoot(as_line(7, Call("search", [query, more])), [])
    shot.check()

    reply = json.loads(said)
    assert "hits" in reply.get("result", {}) or reply["error"]["data"]["field"] in {"query", *more}


def test_the_state_after_all_that(shot: Target) -> None:
    """The log has no error and no input, and the memory is within its bounds."""
    shot.check_state()
