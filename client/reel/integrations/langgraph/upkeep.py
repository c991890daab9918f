"""Hides checkpoints, and deletes and copies threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from msgpack import packb

from reel.base.errors import Conflict, InvalidParams, NotFound
from reel.integrations.langgraph.checkpoints import config_of
from reel.integrations.langgraph.left import Left
from reel.integrations.langgraph.records import Checkpoint
from reel.integrations.langgraph.thread import Thread
from reel.integrations.langgraph.writing import Writer

# The most seqs, and the most records, that one request names.
MAX_KEPT: Final = 65_536
# How often a prune is tried while others write to the thread.
_ATTEMPTS: Final = 10


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

    def _free(self, thread: Thread, *, messages: bool) -> None:
        """Remove what only hidden checkpoints have, for good.

        A daemon that cannot do so leaves it in the log. If another program writes in the meantime, it is found anew.

        Args:
            thread: the thread.
            messages: whether messages go as well that neither a checkpoint nor anything else has.

        Raises:
            Conflict: others wrote to the thread during each attempt; the next prune removes it.
        """
        server = self._logs.client.server or self._logs.client.connect().server
        if server is None or "gone" not in server.features or thread.agent is None:
            return
        is_done, attempts = False, 0
        while not is_done:
            self._logs.read(thread)
            attempts += 1
            try:
                self._free_at(thread, messages=messages)
                is_done = True
            except Conflict as error:
                if attempts == _ATTEMPTS:
                    raise Conflict(
                        f"others wrote to {thread.name} during each of {_ATTEMPTS} attempts: its old checkpoints are"
                        " hidden, and still in the file; prune it again",
                        **error.data,
                    ) from None

    def _free_at(self, thread: Thread, *, messages: bool) -> None:
        """Remove it if the log is still as it was read."""
        left, gone = Left(thread, self._reader), thread.gone()
        keep = thread.tips(left.kept) if messages else []
        messages = messages and len(keep) <= MAX_KEPT
        head, before = thread.head, thread.head + 1 if messages else 1
        for part in self._parts(left.records(), self._logs.limit() - len(packb([keep, gone]))):
            done = self._logs.client.prune(
                thread.name, before, keep=keep if messages else [], records=part, gone=gone, if_seq=head
            )
            head, gone = done.head, []

    @staticmethod
    def _parts(records: Iterable[tuple[int, str]], room: int) -> Iterator[list[tuple[int, str]]]:
        """Yield records in parts that fit into requests: one at least, which may be empty."""
        part: list[tuple[int, str]] = []
        rest = room
        for each in records:
            size = len(packb(each))
            if part and (size > rest or len(part) == MAX_KEPT):
                yield part
                part, rest = [], room
            if size <= rest:  # else it stays as it is
                part.append(each)
                rest -= size
        yield part

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs, in all threads; their messages stay.

        Raises:
            Conflict: others wrote to a thread all the time.
        """
        runs = set(run_ids)
        for _, thread in [*self._logs.all()] if runs else []:
            with thread.lock:
                made = [(each, self._reader.metadata(each).get("run_id")) for each in thread.current.listed(None)]
                hidden = [each for each, run in made if type(run) is str and run in runs]
                self._hide(thread, hidden)
                if hidden:
                    self._free(thread, messages=False)

    def prune(self, thread_ids: Sequence[str], strategy: str) -> None:
        """Remove all checkpoints but the newest of each namespace, or delete threads.

        Those that a mark or a redo leads to stay.

        Raises:
            Conflict: others wrote to a thread all the time.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidParams(f"strategy: expected keep_latest or delete, got {strategy!r}", field="strategy")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete(thread_id)
                continue
            thread = self._logs.threads.of(thread_id)
            with thread.lock:
                self._logs.read(thread)
                newest = [self._reader.latest(thread, space) for space in thread.current.checkpoints]
                kept = {each.seq for each in (*newest, *thread.marked()) if each is not None}
                there = [*thread.current.listed(None), *([] if thread.is_undone else thread.taken_back())]
                self._hide(
                    thread,
                    [each for each in there if each.seq not in kept and not thread.is_hidden(each)],
                )
                self._free(thread, messages=True)

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
        for one in sorted(source.current.listed(None), key=lambda each: each.id):
            with source.lock:
                made = self._reader.tuple_of(source, target_id, one)
                written = source.current.written(one.space, one.id)
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
