"""A budget: keeps the newest turns that fit, with a cut that is stable for a while.

Tokens are estimated as bytes / 4. The cut is found by replaying the growth of the history: whenever it no longer fitted
the budget, the oldest turns after the pinned ones were left out until three quarters of the budget were taken. So the
cut depends on the history alone, and moves only when necessary: a cut that moved with every message would change each
request's prefix, and make the provider's cache useless.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reeld.formats.render_state import TurnExtents

BYTES_PER_TOKEN = 4
# After a cut the history takes three quarters of the budget: the last quarter is room to grow until the next cut.
_NUMERATOR, _DENOMINATOR = 3, 4


class Cut(NamedTuple):
    """The turns that are left out, from ``start`` up to ``end``; none if both are the same."""

    start: int
    end: int


def find_cut(turns: TurnExtents, offsets: Sequence[int], pinned: int, base: int, limit: int) -> Cut | None:
    """Return which turns must be left out.

    Args:
        turns: all turns.
        offsets: where the bytes of each turn begin, and where those of the last one end.
        pinned: how many of them must stay, from the first.
        base: the bytes of a body without any turn.
        limit: the bytes that are allowed.

    Returns:
        the cut; ``None`` if not even the newest turn fits.
    """
    start = end = _whole_exchanges(turns, pinned)
    total = base + offsets[start]
    for index in range(start, turns.turns):
        total += offsets[index + 1] - offsets[index]
        if total > limit:
            new_end = _advance(turns, offsets, end, index, total, limit)
            total -= offsets[new_end] - offsets[end]
            end = new_end
    return Cut(start, end) if total <= limit else None


def _whole_exchanges(turns: TurnExtents, pinned: int) -> int:
    """Include what belongs to the pinned turns: the assistant's answer, and its tool loop to the end."""
    while 0 < pinned < turns.turns and not (turns.is_user[pinned] and turns.can_begin[pinned]):
        pinned += 1
    return pinned


def _advance(turns: TurnExtents, offsets: Sequence[int], end: int, newest: int, total: int, limit: int) -> int:
    """Return where the history continues: where the user spoke, else at a step of a tool loop."""
    best = end
    wanted = limit * _NUMERATOR // _DENOMINATOR
    for only_user in (True, False):
        for index in range(end + 1, newest + 1):
            if not turns.can_begin[index] or (only_user and not turns.is_user[index]):
                continue
            best = index
            if total - (offsets[index] - offsets[end]) <= wanted:
                return index
    return best
