"""The usage of answers in a log, which may have been counted before they were complete.

A file that is read while an answer is written to it has a first count of its tokens. The log keeps that, and a later
count takes its place (:func:`reel.reading.tokens.replaced_by`).
"""

import json
from array import array
from typing import Any

from reel.importing.id_tables import Ids
from reel.importing.steps import Kept
from reel.reading.tokens import REPLACES, tokens_in

_REF = "ref"


class Usages:
    """The newest count of each answer: its seq, and how many tokens it has."""

    def __init__(self) -> None:
        self._answers = Ids()
        self._places, self._tokens = array("q"), array("q")

    def note(self, event: Any) -> None:
        """Take note of a ``usage`` event of the log."""
        try:
            data = json.loads(event.get("data_json") or "{}")
        except (ValueError, RecursionError):  # anybody may add such an event
            return
        earlier = data.get(REPLACES) if isinstance(data, dict) else None
        ref = earlier.get(_REF) if isinstance(earlier, dict) else event.get("ref")
        if isinstance(ref, str) and ref:
            self.add(ref, event["seq"], data)

    def add(self, ref: str, seq: int, data: Any) -> None:
        """Take note of a count, by the id of its answer."""
        number = self._answers.add(ref)
        if number == len(self._places):
            self._places.append(seq)
            self._tokens.append(_total(data))
        else:
            self._places[number], self._tokens[number] = seq, _total(data)

    def smaller(self, ref: str, data: Any) -> int | None:
        """Return the seq of the count that a larger one of the same answer takes the place of, if there is one.

        A smaller one is from an older copy of the source.
        """
        number = self._answers.find(ref)
        return None if number is None or self._tokens[number] >= _total(data) else self._places[number]


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
    return 0 if tokens is None else tokens.read + tokens.written
