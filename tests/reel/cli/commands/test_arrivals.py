"""What others say while a line is typed, as the thread that types is told of it."""

import signal
from collections.abc import Iterator
from io import StringIO
from typing import Any

from reel.cli.commands.shared.arrivals import Arrivals
from reel.cli.screen.output import Line, Output


class Nothing:
    """A subscription that ends at once."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def close(self) -> None:
        """Close nothing."""


def test_one_look_at_a_time() -> None:
    """What comes during a look is looked at after it: a request inside another one would take its reply."""
    running, looks = 0, list[int]()

    def look() -> list[Line]:
        nonlocal running
        running += 1
        looks.append(running)
        if len(looks) == 1:
            arrivals._has_come = True
            signal.raise_signal(signal.SIGURG)
        running -= 1
        return []

    arrivals: Any = Arrivals(Nothing(), Output(StringIO(), StringIO()), look)  # type: ignore[arg-type]
    with arrivals:
        arrivals._has_come = True
        arrivals._begin()

    assert [1, 1] == looks
