"""The lines of a snippet around its matches."""

import pytest

from reel.cli.screen.hit_lines import around
from reel.replies import Hit


def hit(snippet: str, *matches: list[int]) -> Hit:
    """Return a hit of a user's message."""
    found = {
        "agent": "a",
        "name": "n",
        "title": None,
        "seq": 2,
        "role": "user",
        "kind": "user",
        "time": 1,
        "sent": None,
    }
    return Hit(**{**found, "live": True, "score": 1.0, "id": 2, "snippet": snippet, "matches": list(matches)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (0, ["b", "--", "e"]),
        (1, ["a", "b", "c", "d", "e"]),
        (10**18, ["a", "b", "c", "d", "e"]),
    ],
)
def test_the_lines_around_matches(lines: int, expected: list[str]) -> None:
    """So many lines are shown on each side as were asked for, and never more than there are."""
    shown = around(hit("a\nb\nc\nd\ne", [2, 3], [8, 9]), lines)

    assert expected == ["".join(one if isinstance(one, str) else one[0] for one in line).strip() for line in shown]
