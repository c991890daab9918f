"""What a thread was at each point of its log, for when another program takes the conversation back.

An undo, a rewind or a restore moves the conversation to where it was. A graph is more than its messages: the values of
its other channels, what its tasks wrote, and which node is next. So all records that were written since are taken back
with the messages. A later redo, or another restore, moves to a point at which they were there.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from reel.base.light_typing import NamedTuple

if TYPE_CHECKING:
    from reel.integrations.langgraph.records import Checkpoint
    from reel.reading.log_tree import Place
    from reel.said.messages import Event


class _Gone(NamedTuple):
    """Records that are taken back.

    Args:
        after: the seq after which they begin.
        until: the seq of the event that took them back.
        step: the checkpoint whose step is taken back, if any: what its tasks wrote may be in the log before it.
    """

    after: int
    until: int
    step: str | None

    def has(self, seq: int, data: Mapping[str, Any]) -> bool:
        """Whether a record is one of them."""
        is_written = self.step is not None and data.get("to") == self.step and data.get("ns") == ""
        return seq <= self.until and (seq > self.after or is_written)


class _Point(NamedTuple):
    """A point of the log.

    Args:
        seq: its seq.
        newest: the newest checkpoint of the graph there; ``None`` before the first.
        gone: what is taken back there.
    """

    seq: int
    newest: Checkpoint | None
    gone: tuple[_Gone, ...]


_BEGIN = _Point(0, None, ())


def is_undo(event: Event) -> bool:
    """Whether an event that moved the conversation is an undo or a redo: only after these can there be one to redo."""
    data = json.loads(event["data_json"] or "{}") if event["kind"] == "restore" else {}
    return "undoes" in data or "redoes" in data


class Past:
    """The points of a log, in its order."""

    def __init__(self) -> None:
        self._points: list[_Point] = [_BEGIN]
        self._gone: tuple[_Gone, ...] = ()
        # The last point at which the conversation ended with a node.
        self._at: dict[Place | None, _Point] = {}
        # The checkpoints of the graph after which a step was put.
        self._followed: set[str | None] = set()

    def has(self, seq: int, data: Mapping[str, Any]) -> bool:
        """Whether a record is not taken back now."""
        return not any(gone.has(seq, data) for gone in self._gone)

    def put(self, checkpoint: Checkpoint) -> None:
        """Take note of a checkpoint, of the graph or of a subgraph."""
        if not checkpoint.space and not checkpoint.is_input():
            self._followed.add(checkpoint.parent)

    def note(self, seq: int, tip: Place | None, newest: Checkpoint | None) -> None:
        """Note what a thread is at a seq.

        Args:
            seq: the seq.
            tip: the last node of the conversation.
            newest: the newest checkpoint of the graph.
        """
        self._points.append(_Point(seq, newest, self._gone))
        self._at[tip] = self._points[-1]

    def go(self, event: Event, tip: Place | None, newest: Checkpoint | None) -> bool:
        """Follow an event by which another program has moved the conversation; return whether anything changed.

        Args:
            event: the event.
            tip: the last node of the conversation after it.
            newest: the newest checkpoint of the graph before it.
        """
        found = self._point(event, tip)
        if found is None:
            return False
        # Within a step, an undo takes back what a person said: what tasks have done goes on. A restore means the step.
        is_within = event["kind"] != "restore" or is_undo(event) or found is self._points[-1]
        if is_within and found.newest is newest and found.gone == self._gone:
            return False
        wanted, end, step = self._place_to_stay(found)
        # What is taken back again is kept once, however often a step is undone and tried again.
        self._gone = (*(each for each in found.gone if each.after < end), _Gone(end, event["seq"], step))
        self.note(event["seq"], tip, wanted)
        return True

    def _point(self, event: Event, tip: Place | None) -> _Point | None:
        """Return the point that an event leads to; ``None`` if the graph has not been there, or stays where it is."""
        if event["kind"] == "restore":
            data = json.loads(event["data_json"] or "{}")
            # A redo leads to where the undo came from, which may be some steps after the last message.
            return self._at_seq(data["undo"] - 1 if "undo" in data else data["to"])
        if event["kind"] == "rewind" and tip is None:
            return _BEGIN
        return self._at.get(tip) if event["kind"] in ("rewind", "clone") else None

    def newest_at(self, tip: Place, checkpoints: Iterable[Checkpoint]) -> Collection[Checkpoint]:
        """Return the newest checkpoint of each namespace that going back to a node of the conversation leads to.

        Args:
            tip: the node.
            checkpoints: the checkpoints, in the order of their seqs.
        """
        return self._newest(self._at[tip], checkpoints)

    def newest_at_seq(self, seq: int, checkpoints: Iterable[Checkpoint]) -> Collection[Checkpoint]:
        """Return what :meth:`newest_at` does, for going back to a seq."""
        return self._newest(self._at_seq(seq), checkpoints)

    def _newest(self, found: _Point, checkpoints: Iterable[Checkpoint]) -> Collection[Checkpoint]:
        _, end, _ = self._place_to_stay(found)
        newest: dict[str, Checkpoint] = {}
        for made in takewhile(lambda each: each.seq <= end, checkpoints):
            known = newest.get(made.space)
            is_there = not any(gone.has(made.seq, made.data) for gone in found.gone)
            if is_there and (known is None or made.id >= known.id):
                newest[made.space] = made
        return newest.values()

    def stretches(self, is_among: Callable[[Checkpoint], bool], nested: Sequence[Checkpoint]) -> list[tuple[int, int]]:
        """Return the stretches of the log that lead back to some checkpoints: the first and the last seq.

        The end of the log is in none.

        Args:
            is_among: whether a checkpoint is one of them.
            nested: those of subgraphs that may be, in the order of their seqs.
        """
        made: list[tuple[int, int]] = []
        for point, following in pairwise(self._points):
            wanted, _, _ = self._place_to_stay(point)
            if point.seq == following.seq or wanted is None:
                continue
            if is_among(wanted) or any(map(is_among, self._newest(point, nested))):
                begin = made.pop()[0] if made and made[-1][1] == point.seq - 1 else point.seq
                made.append((begin, following.seq - 1))
        return made

    def _place_to_stay(self, point: _Point) -> tuple[Checkpoint | None, int, str | None]:
        """Return the checkpoint at which the graph stays at a point, the last seq that it has then, and its next step.

        The input of a turn is no place to stay: going on from there would bring the message back that was undone.
        """
        wanted, end = point.newest, point.seq
        while wanted is not None and wanted.is_input() and wanted.id in self._followed:
            # What tasks asked a person before stays asked, though the turn gave up waiting for an answer.
            end = wanted.seq - 1
            wanted = self._before(wanted)
        if wanted is None:
            return None, 0, None
        # What its tasks wrote is a part of the step after it.
        return (wanted, wanted.seq, wanted.id) if wanted.id in self._followed else (wanted, end, None)

    def _before(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Return the newest checkpoint before another one was put."""
        return self._at_seq(checkpoint.seq - 1).newest

    def _at_seq(self, seq: int) -> _Point:
        return self._points[bisect_right(self._points, seq, key=lambda point: point.seq) - 1]
