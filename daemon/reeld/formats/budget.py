"""A budget: the newest turns that fit, cut so that the cut then stands still for a while.

Tokens are estimated as bytes / 4. The cut is found by going through the history as it grew: whenever it no longer
fitted, the oldest turns after what is pinned were left out until three quarters of the budget were taken. So the cut
depends on the history alone, and moves only when it must.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reeld.formats.roll import Span

TOKEN = 4
_KEEP, _OF = 3, 4


class Cut(NamedTuple):
    """The spans that are left out, from ``start`` up to ``end``; none where both are the same."""

    start: int
    end: int


def cut(spans: Sequence[Span], pinned: int, base: int, limit: int) -> Cut | None:
    """Find what must be left out.

    Args:
        spans: all turns.
        pinned: how many of them must stay, from the first.
        base: the bytes that are there without any turn.
        limit: the bytes that there may be.

    Returns:
        the cut, or ``None`` where not even the newest turn fits.
    """
    start = end = _whole(spans, pinned)
    total = base + sum(span.size for span in spans[:start])
    for index in range(start, len(spans)):
        total += spans[index].size
        if total > limit:
            further = _advance(spans, end, index, total, limit)
            total -= sum(span.size for span in spans[end:further])
            end = further
    return Cut(start, end) if total <= limit else None


def _whole(spans: Sequence[Span], pinned: int) -> int:
    """Take in what belongs to the pinned turns: the assistant's answer, and its tool loop to the end."""
    while 0 < pinned < len(spans) and not (spans[pinned].is_user and spans[pinned].begins):
        pinned += 1
    return pinned


def _advance(spans: Sequence[Span], end: int, newest: int, total: int, limit: int) -> int:
    """Give where the history goes on: where the user spoke, else at a step of a tool loop, as far as must be."""
    found = end
    wanted = limit * _KEEP // _OF
    for only_user in (True, False):
        left = total
        for index in range(end + 1, newest + 1):
            left -= spans[index - 1].size
            if not spans[index].begins or (only_user and not spans[index].is_user):
                continue
            found = index
            if left <= wanted:
                return index
    return found
