"""The usage of answers in a log, which may have been counted before they were complete.

A file that is read while an answer is written to it has a first count of its tokens. The log keeps that, and a later
count takes its place (:func:`reel.reading.tokens.replaced_by`).
"""

import json
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from reel.base.number_arrays import inserted, numbers, replaced
from reel.importing.steps import Kept
from reel.reading.tokens import REPLACES, tokens_in

_REF = "ref"
# Anybody may add a count of any size.
_MOST = (1 << 63) - 1


class Usages:
    """The newest count of each answer: its seq, and how many tokens it has.

    An answer is known by the seq of its first count, as the log knows that by the answer's id.
    """

    def __init__(self) -> None:
        # The first counts, in ascending order, and the tokens of the newest ones; and the seqs of those that are not
        # the first ones.
        self._firsts, self._tokens = numbers(), numbers()
        self._newest: dict[int, int] = {}

    def note(self, event: Any, place_of: Callable[[str], int | None]) -> None:
        """Take note of a ``usage`` event of the log.

        Args:
            event: the event.
            place_of: returns the seq of the event with a ref, if there is one in the log so far.
        """
        try:
            data = json.loads(event.get("data_json") or "{}")
        except (ValueError, RecursionError):  # anybody may add such an event
            return
        earlier = data.get(REPLACES) if isinstance(data, dict) else None
        ref = earlier.get(_REF) if isinstance(earlier, dict) else event.get("ref")
        first = place_of(ref) if isinstance(ref, str) else None
        if first is not None:
            self.add(first, event["seq"], data)

    def add(self, first: int, seq: int, data: Any) -> None:
        """Take note of a count.

        Args:
            first: the seq of the first count of its answer.
            seq: its own.
            data: its data.
        """
        index, tokens = bisect_left(self._firsts, first), _total(data)
        if index < len(self._firsts) and self._firsts[index] == first:
            self._tokens = replaced(self._tokens, index, tokens)
        else:
            self._firsts = inserted(self._firsts, index, first)
            self._tokens = inserted(self._tokens, index, tokens)
        if seq != first:
            self._newest[first] = seq

    def smaller(self, first: int, data: Any) -> int | None:
        """Return the seq of the count that a larger one of the same answer takes the place of, if there is one.

        A smaller one is from an older copy of the source.
        """
        index = bisect_left(self._firsts, first)
        if index == len(self._firsts) or self._firsts[index] != first or self._tokens[index] >= _total(data):
            return None
        return self._newest.get(first, first)


def replacing(kept: Kept, ref: str, earlier: Any) -> Kept:
    """Return the count of an answer as one that takes the place of an earlier one.

    Args:
        kept: the count.
        ref: the id of the answer, as it is in the log.
        earlier: the event with the earlier one.
    """
    was = json.loads(earlier["data_json"])["usage"]
    data = {**kept.data, REPLACES: {_REF: ref, "usage": was}}
    return kept._replace(ref=f"{kept.ref}@{_total(kept.data)}", data=data)


def _total(data: Any) -> int:
    tokens = tokens_in(data)
    return 0 if tokens is None else max(min(tokens.read + tokens.written, _MOST), -_MOST)
