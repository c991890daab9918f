"""What is left of the records of a thread once checkpoints of it are hidden.

A hidden checkpoint stays as a shell: it tells which messages of its command are the graph's, and it links others. What
else it has goes, unless a checkpoint that is not hidden needs it:

- a value that this one has in common with it, or that grew from its own;
- what tasks wrote after it to a channel whose value this one does not store: the framework makes such a value from the
  writes since the last checkpoint that has it (``get_delta_channel_history``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reel.integrations.langgraph.checkpoints import Reader
from reel.integrations.langgraph.parts import parts_of
from reel.integrations.langgraph.records import (
    INPUT,
    OF_THE_FRAMEWORK,
    Checkpoint,
    FullId,
    are_writes,
    is_part,
    record,
    shell,
)
from reel.integrations.langgraph.thread import Thread

# How the channels begin that say which node is next, for one step only. A graph may have any other name.
_NEXT = "branch:to:"


class Left:
    """What checkpoints of a thread need that are not hidden.

    Args:
        thread: the thread.
        reader: reads its checkpoints.
    """

    def __init__(self, thread: Thread, reader: Reader) -> None:
        self._thread = thread
        self._reader = reader
        # Of records of checkpoints, by their seqs, the channels that are needed; and those that are needed as they are.
        self._channels: dict[int, set[str]] = {}
        self._whole: set[int] = set()
        # The seqs of the parts of texts that are needed.
        self._parts: set[int] = set()
        # What is needed of what tasks wrote after a checkpoint; ``None`` for all of it.
        self._written: dict[FullId, set[str] | None] = {}
        self.kept = [made for made in thread.by_seq.values() if not thread.is_hidden(made)]
        for made in self.kept:
            self._need_all(made)
        for seq, data in thread.records:
            if seq in thread.by_seq or are_writes(data):
                self._parts.update(parts_of(self._left(seq, data)))

    def records(self) -> Iterator[tuple[int, str]]:
        """Yield each record of the thread's own log of which less is left than it has: its seq, and that as JSON."""
        for seq, data in self._thread.records:
            if seq <= self._thread.inherited:
                continue
            left = {} if is_part(data) and seq not in self._parts else self._left(seq, data)
            if left != data:
                yield seq, record(left)["data_json"]

    def _left(self, seq: int, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is left of a record other than a part."""
        if (made := self._thread.by_seq.get(seq)) is not None:
            is_hidden = self._thread.is_hidden(made) and seq not in self._whole
            return shell(data, self._channels.get(seq, set())) if is_hidden else data
        is_hidden = are_writes(data) and (data["ns"], data["to"]) in self._thread.hidden
        return self._writes(data) if is_hidden else data

    def _writes(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        needed = self._written.get((data["ns"], data["to"]), set())
        if needed is None:
            return data
        rows = [row for row in data["writes"] if row[1] in needed]
        parts = {name: data["parts"][name] for row in rows if (name := str(row[0])) in data.get("parts", ())}
        rest = {name: value for name, value in data.items() if name != "parts"}
        return {**rest, "writes": rows, **({"parts": parts} if parts else {})} if rows else {}

    def _need_all(self, made: Checkpoint) -> None:
        """Need what a checkpoint has."""
        stored = _stored(made)
        for channel in stored:
            self._need(made, channel)
        versions = self._reader.versions(made)
        if versions is None:
            self._need_history(made)
            return
        for channel in versions:
            if channel not in stored and not (channel == self._reader.key and "messages" in made.data):
                self._need_writes(made, channel)

    def _need(self, made: Checkpoint | None, channel: str) -> None:
        """Need the value that a checkpoint has of a channel, wherever it is stored."""
        while made is not None and channel not in (there := self._channels.setdefault(made.seq, set())):
            there.add(channel)
            before = made.data["same"].get(channel) or made.data.get("more", {}).get(channel, [None])[0]
            made = None if before is None else self._thread.by_seq.get(before)

    def _need_writes(self, made: Checkpoint, channel: str) -> None:
        """Need what was written to a channel before a checkpoint, back to the last one that has its value."""
        if channel in OF_THE_FRAMEWORK or channel.startswith(_NEXT):
            return
        for before in self._ancestors(made):
            needed = self._written.setdefault(before.full_id, set())
            if needed is None or channel in needed:
                return
            needed.add(channel)
            if channel in _stored(before):
                self._need(before, channel)
                return
            if channel == self._reader.key and "messages" in before.data:
                self._whole.add(before.seq)
                return

    def _need_history(self, made: Checkpoint) -> None:
        """Need all that led to a checkpoint of which this program cannot read which channels it has."""
        for before in self._ancestors(made):
            if before.seq in self._whole:
                return
            self._whole.add(before.seq)
            self._written[before.full_id] = None
            for channel in _stored(before):
                self._need(before, channel)

    def _ancestors(self, made: Checkpoint) -> Iterator[Checkpoint]:
        walked = {made.id}
        before = self._thread.all.get((made.space, made.parent or ""))
        while before is not None and before.id not in walked:
            yield before
            walked.add(before.id)
            before = self._thread.all.get((before.space, before.parent or ""))


def _stored(made: Checkpoint) -> set[str]:
    """Return the channels of which a checkpoint has the values, by itself or together with others."""
    data = made.data
    return {*data["values"], *data["same"], *data.get("more", ()), *data.get("parts", ())} - {INPUT}
