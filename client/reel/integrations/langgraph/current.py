"""What a thread has now: the checkpoints that are neither hidden nor taken back, and what tasks wrote after them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reel.integrations.langgraph.records import Write, is_value

if TYPE_CHECKING:
    from reel.integrations.langgraph.records import Checkpoint, FullId
    from reel.integrations.langgraph.stored_values import StoredValues


class Current:
    """The checkpoints and writes that a graph goes on from."""

    def __init__(self) -> None:
        # By namespace and id.
        self.checkpoints: dict[str, dict[str, Checkpoint]] = {}
        # By namespace: the one with the newest record, and the one with the greatest id.
        self.newest: dict[str, Checkpoint] = {}
        self._latest: dict[str, Checkpoint] = {}
        # What tasks wrote after a checkpoint, by the task and the number of the write.
        self.writes: dict[FullId, dict[tuple[str, int], Write]] = {}

    def put(self, made: Checkpoint) -> None:
        """Take a checkpoint."""
        self.checkpoints.setdefault(made.space, {})[made.id] = self.newest[made.space] = made
        known = self._latest.get(made.space)
        if known is None or made.id >= known.id:
            self._latest[made.space] = made

    def write(self, data: Mapping[str, Any], values: StoredValues) -> None:
        """Take the writes of a task.

        Args:
            data: the content of their record.
            values: has the texts that are in parts.
        """
        written = self.writes.setdefault((data["ns"], data["to"]), {})
        task = data["task"]
        for index, channel, text in data["writes"]:
            seqs = data.get("parts", {}).get(str(index))
            value = text if seqs is None else values.joined(seqs)
            # The first write counts, except for special channels, such as that of an error.
            if is_value(value) and (index < 0 or (task, index) not in written):
                written[task, index] = Write(task, data["path"], index, channel, value)

    def hide(self, space: str, name: str) -> None:
        """Have a checkpoint no longer, if there is one."""
        there = self.checkpoints.get(space, {})
        if there.pop(name, None) is not None and self._latest[space].id == name:
            if there:
                self._latest[space] = there[max(there)]
            else:
                del self._latest[space]

    def drop(self, checkpoint: Checkpoint) -> None:
        """Skip an unreadable checkpoint."""
        space = checkpoint.space
        self.hide(space, checkpoint.id)
        if self.newest[space] is checkpoint:
            del self.newest[space]
            if there := self.checkpoints[space]:
                self.newest[space] = max(there.values(), key=lambda each: each.seq)

    def latest(self, space: str) -> Checkpoint | None:
        """Return the checkpoint of a namespace with the greatest id."""
        return self._latest.get(space)

    def listed(self, space: str | None) -> list[Checkpoint]:
        """Return the checkpoints of a namespace, or of all."""
        spaces = self.checkpoints.values() if space is None else [self.checkpoints.get(space, {})]
        return [made for there in spaces for made in there.values()]

    def written(self, space: str, checkpoint_id: str) -> list[Write]:
        """Return the writes of tasks after a checkpoint, in the order in which the framework applies them."""
        found = self.writes.get((space, checkpoint_id), {})
        return sorted(found.values(), key=lambda write: (write.path, write.task, write.index))
