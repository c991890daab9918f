"""The rows of the benchmark and the lines that they print."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from tests.bench.setting import Setting

_GAP = "  "
# The widths of the columns, as wide as the rows need them. They are fixed, because each line is printed as soon as it
# was measured. The last column, whose lengths differ most, has none.
_WHAT, _FIGURE, _GOAL, _RATIO = 45, 12, 17, 8


class Line(NamedTuple):
    """One figure.

    Args:
        what: what was measured.
        figure: the figure, with its unit.
        beside: what it stands beside, with its figure; ``None`` if there is nothing, or it is not installed.
        ratio: ours to theirs; what that means is in ``beside`` or ``goal``.
        goal: what the ratio or the figure should be.
    """

    what: str
    figure: str
    beside: str | None = None
    ratio: float | None = None
    goal: str = ""

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} x"
        columns = f"{self.what:<{_WHAT}}", f"{self.figure:>{_FIGURE}}", f"{self.goal:<{_GOAL}}", f"{ratio:>{_RATIO}}"
        return _GAP.join(("", *columns, self.beside or "")).rstrip()


Measure: TypeAlias = Callable[[Setting], Iterator[Line]]


class Row(NamedTuple):
    """A row: its name, about how many seconds it takes, and the function that measures it."""

    name: str
    seconds: int
    measure: Measure


def median(action: Callable[[], Any], rounds: int) -> float:
    """Return the median of the seconds that an action takes."""
    return statistics.median(timed(action) for _ in range(rounds))


def timed(action: Callable[[], Any]) -> float:
    """Return the seconds that an action takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def in_turns(rounds: int, *actions: Callable[[], float] | None) -> list[float | None]:
    """Measure several things in turns, so that what the machine does meanwhile affects all; return the medians.

    Args:
        rounds: how often.
        actions: each returns a figure; ``None`` stands for something that is not installed.
    """
    figures: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, found in zip(actions, figures, strict=True):
            if action is not None:
                found.append(action())
    return [statistics.median(found) if found else None for found in figures]


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile."""
    return statistics.quantiles(values, n=100)[percent - 1]
