"""A budget: keeps the newest turns that fit, with a cut that is stable for a while.

Tokens are estimated as bytes / 4. The cut is found by replaying the growth of the history: whenever it no longer fitted
the budget, the oldest turns after the pinned ones were left out until three quarters of the budget were taken. So the
cut depends on the history alone, and moves only when necessary: a cut that moved with every message would change each
request's prefix, and make the provider's cache useless.
"""

from collections.abc import Sequence

from reel.base.errors import TooLarge
from reel.base.light_typing import NamedTuple
from reel.providers.changes import Change
from reeld.core.recent import Recent
from reeld.formats.encoded_turns import EncodedTurns, TurnExtents
from reeld.formats.format import Format
from reeld.formats.history import History
from reeld.formats.model import RenderContext, UserTurn, placeholder

BYTES_PER_TOKEN = 4
# After a cut the history takes three quarters of the budget: the last quarter is room to grow until the next cut.
_NUMERATOR, _DENOMINATOR = 3, 4


class TooRecent(Exception):
    """A budget has room for more than the entries that were given."""


class Budget(NamedTuple):
    """The size that is allowed.

    Args:
        tokens: the estimated tokens.
        pin: the seq of the mark up to which everything must stay; 0 for no mark.
        base: the bytes of the body without its history.
    """

    tokens: int
    pin: int
    base: int


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


def fit_budget(
    budget: Budget, target: Format, history: History, recent: Recent, report: list[Change]
) -> tuple[History, list[Change]]:
    """Leave out the turns that exceed a budget, and what was reported about them.

    Raises:
        TooLarge: not even the newest turn fits.
        TooRecent: there is room for what comes before the entries that were given.
    """
    tokens, pin, base = budget
    turns = history.extents
    pinned = sum(seq <= pin for seq in turns.seqs)
    filler = _placeholder_turn(target)
    cut = find_cut(turns, history.offsets, pinned, base + len(filler.data), tokens * BYTES_PER_TOKEN)
    if cut is None:
        raise TooLarge(
            f"budget: the newest turn does not fit {tokens} tokens (of {BYTES_PER_TOKEN} bytes) together with the "
            "prompt, extra and the pinned messages; raise the budget, or leave the pin out",
            budget=tokens,
        )
    if cut.start == cut.end:
        if recent.earlier is not None:
            raise TooRecent
        return history, report
    first, after = turns.seqs[cut.start], turns.seqs[cut.end]
    why = f"over the budget: {recent.messages(first, after)} messages, before seq {after}"
    if recent.earlier is not None:
        first = recent.earlier.first
    kept = [change for change in report if change.seq is None or not first <= change.seq < after]
    needed = target.alternates and not turns.is_user[cut.end]
    return _drop_range(history, cut, filler if needed else EncodedTurns()), [Change(first, None, "dropped", why), *kept]


def _placeholder_turn(target: Format) -> EncodedTurns:
    """Return the user turn that comes first if a history continues with the assistant's turn after a cut."""
    filler = EncodedTurns()
    if target.alternates:
        items = target.write_turn(UserTurn([], [placeholder()]), RenderContext(None))
        filler.add(items, 0, is_user=True, can_begin=True)
    return filler


def _drop_range(history: History, cut: Cut, filler: EncodedTurns) -> History:
    """Return the history without the turns of a cut, which may extend into the open turns."""
    border = history.settled.extents.turns
    settled = history.settled.slice(0, min(cut.start, border))
    rest = history.open.slice(0, max(cut.start - border, 0))
    (settled if cut.end < border else rest).extend(filler)
    settled.extend(history.settled.slice(min(cut.end, border), border))
    rest.extend(history.open.slice(max(cut.end - border, 0), history.open.extents.turns))
    return History(settled, rest)
