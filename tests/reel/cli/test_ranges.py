"""A range of messages is one number, or two with dots between."""

import pytest

from reel.cli.arguments import UsageError
from reel.cli.positions import FromEnd
from reel.cli.ranges import Range, is_range, parse_range
from reel.values import MAX_INTEGER


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
