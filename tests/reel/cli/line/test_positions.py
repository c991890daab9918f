"""Positions, by number or counted from the end of the conversation, and ranges of them."""

import pytest

from reel.base.values import MAX_INTEGER
from reel.cli.line.arguments import UsageError
from reel.cli.line.positions import Range, is_range, parse_range
from reel.reading.positions import FromEnd, parse_position
from tests.reel.cli.conftest import Reel, texts


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("12", 12),
        ("#12", 12),
        ("@last", FromEnd(0)),
        ("@", FromEnd(0)),
        ("-", FromEnd(0)),
        ("@last~3", FromEnd(3)),
        ("@~2", FromEnd(2)),
        ("~2", FromEnd(2)),
        ("~", None),
        ("12~2", None),
        ("@first", None),
        ("demo", None),
        ("-2", None),
        ("9" * 16, None),
        ("~" + "9" * 5, None),
        ("", None),
    ],
)
def test_forms_of_a_position(word: str, expected: int | FromEnd | None) -> None:
    """A position is a number, or the end and how far before it."""
    assert expected == parse_position(word)


@pytest.fixture
def three(reel: Reel, talk: str) -> str:
    """An agent with the messages 3, 4 and 6, and a mark between."""
    reel("mark", talk)
    reel("add", talk, "Why?")
    return talk


def test_positions_from_the_end(reel: Reel, three: str) -> None:
    """They count messages, and are taken wherever a seq is."""
    assert ["What is a tape deck?"] == texts(reel, three, "--at", "@~2")
    assert ["assistant"] == [each["role"] for each in reel("show", three, "@~1", "--json").documents]
    assert ["A machine.", "Why?"] == [
        each["content"][0]["text"] for each in reel("show", three, "@~1..", "--json").documents
    ]
    assert [5, 6] == [event["seq"] for event in reel("log", three, "--since", "~1", "--json").documents]
    assert 0 == reel("clone", three, f"{three}-b", "--at", "@~1").status
    assert "A machine." == texts(reel, f"{three}-b")[-1]
    assert 6 == reel("wait", three, "--since", "@~1", "--json", "--kind", "user").documents[0]["seq"]


def test_a_position_before_the_beginning(reel: Reel, three: str) -> None:
    """There are not so many messages: the error says how many there are."""
    reel("new", f"{three}-b")

    assert f"@~3 is before the beginning: {three} has only 3 messages" in reel("show", three, "--at", "@~3").err
    assert f"@~0 is before the beginning: {three}-b has no messages" in reel("show", f"{three}-b", "--at", "-").err
    assert 2 == reel("restore", three, "@~3").status


def test_a_position_of_all_agents(reel: Reel) -> None:
    """There is no end that all agents share."""
    ran = reel("follow", "--all", "--since", "@last")

    assert 2 == ran.status
    assert "--since from the end needs one conversation; for all of them it is an event id, such as 12" in ran.err


def test_if_seq_may_be_written_as_it_is_shown(reel: Reel, three: str) -> None:
    """#6 is 6; a number that has passed is a conflict."""
    assert [0, 5] == [reel("add", three, "x", "--if-seq", seq).status for seq in ("#6", "#6")]


def resolve(position: int | FromEnd) -> int:
    """Resolve a position in a conversation whose messages are 1 to 30."""
    return position if isinstance(position, int) else 30 - position.later


@pytest.mark.parametrize(
    ("word", "expected", "called"),
    [
        ("12", Range(12, 12), "#12"),
        ("#12", Range(12, 12), "#12"),
        ("12..20", Range(12, 20), "#12-#20"),
        ("#12..#20", Range(12, 20), "#12-#20"),
        ("..20", Range(0, 20), "#0-#20"),
        ("12..", Range(12, MAX_INTEGER), "after #11"),
        ("@last", Range(30, 30), "#30"),
        ("-", Range(30, 30), "#30"),
        ("~2", Range(28, 28), "#28"),
        ("@~2..", Range(28, MAX_INTEGER), "after #27"),
        ("#3..@~1", Range(3, 29), "#3-#29"),
    ],
)
def test_forms_of_a_range(word: str, expected: Range, called: str) -> None:
    """Either end may be omitted, and a number may be written as it is shown."""
    assert is_range(word)
    assert (expected, called) == (parse_range(word, resolve), str(parse_range(word, resolve)))


@pytest.mark.parametrize("word", ["", "..", "demo", "1-2", "1...2", "-1", "1..x", "9" * 17])
def test_what_is_not_a_range(word: str) -> None:
    """Anything else is refused, with an example."""
    assert not is_range(word)
    with pytest.raises(UsageError, match=r"such as 12 or 12\.\.20"):
        parse_range(word, resolve)
