"""No test waits, or gives up, by how fast the machine is: rules 4 and 5 of ``tests/README.md``."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_TESTS = Path(__file__).parent
# A benchmark measures, and so does the soak test.
_MEASURING = ("bench", "soak")
# Of the limits of a test, those that it reaches on purpose are the only ones that are not PATIENCE.
_LIMIT = re.compile(r"\b(?:timeout|patience)=[\d.]*[1-9]|(?:fail_after|settimeout|\.result)\([\d.]*[1-9]")
_SLEEP = re.compile(r"\btime\.sleep\(")
_SPEED = re.compile(r"deadline=(?!None\b)|suppress_health_check=(?!SHARED\b|_SPEED\b|list\(HealthCheck\))")


def lines() -> Iterator[tuple[str, str]]:
    """Yield each line of the tests, with its place."""
    for path in sorted(_TESTS.rglob("*.py")):
        if path.relative_to(_TESTS).parts[0] not in _MEASURING and path != Path(__file__):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                yield f"{path.relative_to(_TESTS)}:{number}", line


@pytest.mark.parametrize("pattern", [_LIMIT, _SLEEP], ids=["limit", "sleep"])
def test_each_limit_and_each_sleep_has_its_reason(pattern: re.Pattern[str]) -> None:
    """A comment says why a test sleeps, or gives up after so many seconds: a busy machine may need more."""
    assert [] == [place for place, line in lines() if pattern.search(line) and "  # " not in line]


def test_no_property_is_measured() -> None:
    """No property has a time limit for an example, nor for the draws: its own settings leave out what measures them."""
    assert [] == [place for place, line in lines() if _SPEED.search(line)]
