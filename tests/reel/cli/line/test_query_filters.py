"""Filters that mean nothing, and what was probably meant."""

import pytest

from reel.cli.line.query_filters import why_meaningless

NOW = 1_795_870_800.0


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("deck froom:x", "froom: is no filter (did you mean role:?); the filters are role:, "),
        ("since:yesterday", "since: is no filter (did you mean after:?)"),
        ("agnet:demo", "agnet: is no filter (did you mean agent:?)"),
        ("qqqq:x", "qqqq: is no filter; the filters are "),
        ("role:usr", "role:usr means nothing (did you mean role:user?); it is one of user, assistant, tool, system"),
        ("role:robot", "role:robot means nothing; it is one of "),
        ("live:maybe", "live:maybe means nothing; it is one of yes, no, true, false"),
        ("after:yestrday", "after:yestrday is no time (did you mean after:yesterday?); write after:2026-11-"),
        ("before:soon", "before:soon is no time (did you mean before:today?)"),
        ("agent:", "agent: has no value"),
        ("tag:=x", "a tag has a name"),
    ],
)
def test_filters_that_mean_nothing(query: str, said: str) -> None:
    """The message says which filter it is, what may be meant, and how to search for it as text."""
    message = why_meaningless(query, NOW) or ""

    assert message.startswith(said)
    assert message.endswith(f"put it in quotes: '\"{query.rsplit(maxsplit=1)[-1]}\"'")


@pytest.mark.parametrize(
    "query",
    [
        "role:USER live:no agent:demo tag:a=b tag:a before:7d after:2026-11-01 in:. here:",
        "http://x.de localhost:8080 std::string C:x NOTE: 'a:b' a_b:c \"froom:x\" -froom:x 12:30",
    ],
)
def test_filters_and_code(query: str) -> None:
    """What has a meaning is no error, and neither is what looks like code, an address or text in quotes."""
    assert why_meaningless(query, NOW) is None
