"""The texts of the values that checkpoints and writes have: whole, in parts, or as what they add to an earlier one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reel.integrations.langgraph.records import grown_by

if TYPE_CHECKING:
    from reel.integrations.langgraph.records import Checkpoint


class StoredValues:
    """The texts of values.

    Args:
        checkpoints: all checkpoints, by the seqs of their records; more may come.
    """

    def __init__(self, checkpoints: Mapping[int, Checkpoint]) -> None:
        self._checkpoints = checkpoints
        # The parts of texts, by their seqs.
        self._parts: dict[int, str] = {}
        # Of each channel whose values grow, the one that was read last: its checkpoint and its text.
        self._grown: dict[tuple[str, str], tuple[int, str]] = {}

    def take_part(self, seq: int, text: str) -> None:
        """Take a part of a text."""
        self._parts[seq] = text

    def holder(self, checkpoint: Checkpoint, channel: str) -> tuple[Checkpoint, str] | None:
        """Return the checkpoint that stores a channel's value, and the value as text, or ``None`` if none stores it."""
        seq = checkpoint.data["same"].get(channel)
        found = checkpoint if seq is None else self._checkpoints.get(seq)
        value = None if found is None else self._value(found, channel)
        return None if found is None or value is None else (found, value)

    def _value(self, checkpoint: Checkpoint, channel: str) -> str | None:
        """Return a value that a checkpoint stores itself, or as what it adds to that of an earlier one."""
        place = checkpoint.space, channel
        rests: list[str] = []
        at: Checkpoint | None = checkpoint
        while at is not None and (grown := at.data.get("more", {}).get(channel)) is not None:
            known, text = self._grown.get(place, (0, ""))
            if at.seq == known:
                break
            rests.append(grown[1])
            at = self._checkpoints.get(grown[0]) if grown[0] < at.seq else None
        else:
            text = "" if at is None else self.text(at, channel)
        if not rests or not text:
            return text or None
        self._grown[place] = checkpoint.seq, grown_by(text, rests[::-1])
        return self._grown[place][1]

    def text(self, checkpoint: Checkpoint, channel: str) -> str:
        """Return the text of a value that a checkpoint stores itself; an empty one if it is not there."""
        seqs = checkpoint.data.get("parts", {}).get(channel)
        return str(checkpoint.data["values"].get(channel, "")) if seqs is None else self.joined(seqs)

    def joined(self, seqs: Iterable[int]) -> str:
        """Return the text whose parts have these seqs; an empty one if it is not there."""
        found = [self._parts.get(seq) for seq in seqs]
        return "" if None in found else "".join(filter(None, found))
