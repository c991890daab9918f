"""Hides checkpoints, and deletes and copies threads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from reel.base.errors import InvalidParams, NotFound
from reel.integrations.langgraph.checkpoints import config_of
from reel.integrations.langgraph.records import Checkpoint
from reel.integrations.langgraph.thread import Thread
from reel.integrations.langgraph.writing import Writer


class Keeper:
    """Hides and copies checkpoints.

    Args:
        writer: adds copies.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._reader = writer.reader
        self._logs = writer.logs

    def delete(self, thread_id: str) -> None:
        """Purge the agent of a thread."""
        thread = self._logs.threads.of(thread_id)
        with thread.lock:
            with suppress(NotFound):
                self._logs.client.purge(thread.name)
            thread.delete()

    def _hide(self, thread: Thread, hidden: Sequence[Checkpoint]) -> None:
        if hidden:
            self._logs.say(thread, {"delete": [[each.space, each.id] for each in hidden]})

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of runs, in all threads."""
        runs = set(run_ids)
        for _, thread in [*self._logs.all()] if runs else []:
            with thread.lock:
                made = [(each, self._reader.metadata(each).get("run_id")) for each in thread.listed(None)]
                self._hide(thread, [each for each, run in made if type(run) is str and run in runs])

    def prune(self, thread_ids: Sequence[str], strategy: str) -> None:
        """Hide all checkpoints but the newest of each namespace, or delete threads."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidParams(f"strategy: expected keep_latest or delete, got {strategy!r}", field="strategy")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete(thread_id)
                continue
            thread = self._logs.threads.of(thread_id)
            with thread.lock:
                self._logs.read(thread)
                newest = [self._reader.latest(thread, space) for space in thread.checkpoints]
                self._hide(thread, [each for each in thread.listed(None) if each not in newest])

    def copy(self, source_id: str, target_id: str) -> None:
        """Copy all checkpoints of a thread to another."""
        source, target = self._logs.threads.of(source_id), self._logs.threads.of(target_id)
        if source is target:
            return
        self._logs.read(source)
        self._logs.read(target)
        if source.agent is None:
            return
        if target.agent is None:
            self._logs.client.clone(source.name, target.name)
            self._logs.client.change(target.name, tags=target.tags)
            if target.tags:
                self._logs.read(target)
                self._logs.say(target, {"thread": target_id})
            return
        for one in sorted(source.listed(None), key=lambda each: each.id):
            with source.lock:
                made = self._reader.tuple_of(source, target_id, one)
                written = source.written(one.space, one.id)
            if made is None:
                continue
            state = made.checkpoint
            self._writer.put(
                made.parent_config or config_of(target_id, one.space, None),
                state,
                made.metadata,
                state["channel_versions"],
            )
            for each in written:
                row = [each.index, each.channel, each.value]
                place = {"to": one.id, "ns": one.space, "task": each.task, "path": each.path}
                self._logs.say(target, {**place, "writes": [row]})
