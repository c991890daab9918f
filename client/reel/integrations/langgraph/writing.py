"""Adds checkpoints, and the writes of tasks after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    CheckpointMetadata,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.base import Checkpoint as State
from langgraph.checkpoint.serde.base import SerializerProtocol
from msgpack import packb

from reel.base.errors import Conflict, InvalidParams, NotFound, ReelError
from reel.integrations.awaiting import give_way
from reel.integrations.langgraph import messages, values
from reel.integrations.langgraph.checkpoints import Reader, config_of, where
from reel.integrations.langgraph.conversations import Difference
from reel.integrations.langgraph.copied import with_new
from reel.integrations.langgraph.deleted import SHORT
from reel.integrations.langgraph.logs import PAGE, Logs, Sent
from reel.integrations.langgraph.parts import parts_of
from reel.integrations.langgraph.posts import Post
from reel.integrations.langgraph.records import OF_THE_FRAMEWORK, Checkpoint, growth, record
from reel.integrations.langgraph.thread import Node, Thread
from reel.integrations.langgraph.threads import Threads
from reel.integrations.worker import Worker
from reel.wire.frames import too_large

# What a list has grown by, in characters at most, to be stored without the rest of it.
_LONGEST_GROWTH: Final = 1 << 20
# So many turns an event loop has to begin the next checkpoint, once one is over. The framework takes one.
_TURNS: Final = 4
# The kinds of message events that a thread handles.
_KINDS: Final = {"user": "user", "assistant": "assistant", "tool": "tool_result"}

# A message in the form that is added, and in the form that will be read.
Stored: TypeAlias = tuple[dict[str, Any], messages.Kept]


class Writer:
    """Adds checkpoints.

    Args:
        reader: reads existing ones.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.logs = reader.logs
        self._conversations = reader.conversations
        self._serde = reader.serde
        self._key = reader.key

    def put(
        self,
        config: RunnableConfig,
        checkpoint: State,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Add a checkpoint, and return its config."""
        thread_id, space = where(config)
        thread = self.logs.threads.of(thread_id)
        stripped = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        data: dict[str, Any] = {"put": checkpoint["id"], "ns": space, "parent": get_checkpoint_id(config)}
        data["checkpoint"] = values.dump(self._serde, stripped)
        data["metadata"] = values.dump(self._serde, get_checkpoint_metadata(config, metadata))
        before = _places(config, data["parent"])
        if thread.tags:
            data["thread"] = thread_id
        with thread.lock:
            if not self.logs.is_current(thread):
                self.logs.read(thread)
            sent: Sent = {}
            while True:
                try:
                    thread.posts.wait()
                    self.logs.shrink(thread)
                    if thread.outset is not None and thread.outset.id == data["parent"]:
                        self._add_outset(thread, thread.outset)
                    self._add_checkpoint(thread, data, checkpoint, new_versions, sent, outlives=thread.outlives(before))
                    break
                except (Conflict, NotFound):  # another client has written, or deleted the thread
                    self.logs.read(thread)
        return config_of(thread_id, space, checkpoint["id"])

    def _add_outset(self, thread: Thread, outset: Checkpoint) -> None:
        """Store the messages that a graph received of a conversation begun by others."""
        if ("", outset.id) not in thread.all:
            skip = [node.seq for node in self._conversations.unseen(thread)]
            data = {**outset.data, "messages": {"skip": skip} if skip else {}}
            added = self.logs.add(thread, [record(data)], if_seq=thread.head)
            thread.head = added.head
            thread.take(added.head, added.command, data)
        thread.outset = None

    def _add_checkpoint(
        self,
        thread: Thread,
        begun: Mapping[str, Any],
        checkpoint: State,
        new_versions: ChannelVersions,
        sent: Sent,
        *,
        outlives: bool,
    ) -> None:
        """Add a checkpoint, with the new messages, if no other client wrote in the meantime.

        That of a run which outlives its thread has nothing of what was deleted, as far as the run has not changed it.
        The parts of long values that an earlier attempt has added are in ``sent``.
        """
        data = {**begun, "values": {}, "same": {}}
        parent = thread.all.get((data["ns"], data["parent"] or ""))
        before: Mapping[str, Any] = {} if parent is None else self.reader.versions(parent) or {}
        now = checkpoint["channel_versions"]
        difference = Difference(None, 0)
        given: Sequence[Any] = ()
        for channel, value in checkpoint["channel_values"].items():
            if outlives:
                value = _left(thread, self._serde, value)  # noqa: PLW2901 - what is stored of it
            held = None
            if parent is not None and channel in now and channel not in new_versions:
                held = parent if before.get(channel) == now[channel] else None
            if channel == self._key and self._conversations.is_one(value):
                if data["ns"]:
                    data["messages"] = self._conversations.nested(thread, value)
                elif held is not None and held.data.get("messages") == {} and held.tip == thread.tip:
                    data["messages"] = {}
                else:
                    given, difference = value, self._conversations.difference(thread, value)
                    skip = [node.seq for node in difference.skipped]
                    data["messages"] = {"skip": skip} if skip else {}
                continue
            found = None if held is None else thread.values.holder(held, channel)
            if found is not None and len(found[1]) > SHORT:
                data["same"][channel] = found[0].seq
            elif found is not None or channel in new_versions or not outlives:
                text = values.dump(self._serde, value)
                if not (outlives and thread.deleted.has_value(text)):
                    _store(thread, data, channel, text, parent)
        # A run from an older checkpoint abandons the messages after it; all of them, if it has had none so far.
        newest = self.reader.latest(thread, data["ns"])
        is_newest = parent is not None and parent is newest
        is_silent = not data["ns"] and "messages" not in data
        if is_silent and not is_newest and newest is not None and "messages" in newest.data:
            difference = self._conversations.difference(thread, ())
        data |= thread.copied.said_of(data)
        to_tasks = thread.copied.sent_in(data)
        data = {**self.logs.in_parts(thread, data, sent)}
        difference = difference if is_newest else difference._replace(later=())
        self._commit(thread, data, difference, given[difference.same :], to_tasks)
        if outlives:
            thread.deleted.note((data["ns"], checkpoint["id"]))
        thread.all[data["ns"], checkpoint["id"]].versions = dict(now)

    def _commit(
        self,
        thread: Thread,
        data: Mapping[str, Any],
        difference: Difference,
        given: Sequence[Any],
        to_tasks: Mapping[str, set[str]],
    ) -> None:
        """Write a checkpoint and its new messages as one command, and fold them."""
        own, begin = record(data), difference.begin
        later = [
            {name: message[name] for name in ("role", "content", "provider_metadata")}
            for node in difference.later
            if (message := node.message()) is not None
        ]
        new = [
            messages.stored(self._serde, message, is_first=number == 0)
            for number, message in enumerate(given, difference.same)
        ]
        size = len(own["data_json"]) + sum(len(repr(message)) for message, _ in new)
        if not thread.posts.fit(self.logs.room() - size):
            self.logs.say_queued(thread)  # before the messages, which name them
        *parts, last = [new] if size <= self.logs.room() and len(new) <= PAGE else self._parts(new, [own, *later])
        from_ = None if begin is None else begin.seq
        for part in parts:  # they are too many for one request
            self.logs.add(thread, _named(thread, data, part), from_=from_, if_seq=thread.head)
            self.logs.read(thread)
            thread.given.update(thread.nodes)
            from_ = None
        thread.withdraw_outliving()
        waiting = thread.posts.first(self.logs.room() - size)
        for each in waiting:
            each.name(thread.copied)
        try:
            said = _named(thread, data, last, waiting, is_replaced=from_ is not None)
            told, own = _sending(thread, data, to_tasks, last, len(waiting) + (from_ is not None))
            records = [*(each.record for each in waiting), *said, own, *later]
            added = self.logs.add(thread, records, from_=from_, if_seq=thread.head)
        except (Conflict, NotFound):
            raise
        except ReelError:
            if not waiting:
                raise
            self.logs.say_queued(thread)  # one of these may be the cause
            waiting = []
            told, own = _sending(thread, data, to_tasks, last, from_ is not None)
            records = [*_named(thread, data, last), own, *later]
            added = self.logs.add(thread, records, from_=from_, if_seq=thread.head)
        is_unread = begin is not None and begin.place not in thread.nodes  # in a log that was not read
        if is_unread or later:
            self.logs.said(thread, added, waiting, None)
            if is_unread:
                thread.forget()
            self.logs.read(thread)
            return
        if from_ is not None and begin is not None:
            thread.go_before(begin, added.command)
        thread.agent, thread.head = added.agent, added.head
        first = added.head - len(last)
        self.logs.said(thread, added, waiting, first - len(waiting))
        for number, (message, kept) in enumerate(last, first):
            node = Node((added.agent, number), added.command, {"kind": _KINDS[message["role"]]})
            node.kept = [kept]
            thread.append(node)
        thread.take(added.head, added.command, told)

    def _parts(self, new: Sequence[Stored], others: Sequence[Mapping[str, Any]]) -> list[list[Stored]]:
        """Split messages into as few parts as fit into requests; the last one leaves room for other records.

        Raises:
            TooLarge: a message, or everything else together, does not fit into a request.
        """
        limit = self.logs.limit()
        rest = sum(len(packb(each)) for each in others)
        sizes = [len(packb(message)) for message, _ in new]
        if (largest := max([rest, *sizes])) > limit:
            raise too_large(limit, largest)
        parts: list[list[Stored]] = [[]]
        room = limit
        for one, size in zip(new, sizes, strict=True):
            if size > room or len(parts[-1]) == PAGE:
                parts.append([])
                room = limit
            parts[-1].append(one)
            room -= size
        return parts if rest <= room else [*parts, []]


def _store(thread: Thread, data: dict[str, Any], channel: str, text: str, parent: Checkpoint | None) -> None:
    """Store a new value of a channel: of a list that has grown, only what it has in addition.

    The record of an input is no place to begin with: it is redacted as a whole, with the message that it brought. What
    the framework has for one step is stored whole, so that it can be redacted by itself.
    """
    before = None
    if parent is not None and channel not in OF_THE_FRAMEWORK:
        before = thread.values.holder(parent, channel)
    rest = None if before is None or before[0].is_input() else growth(before[1], text)
    if before is None or rest is None or len(rest) > _LONGEST_GROWTH:
        data["values"][channel] = text
    else:
        data.setdefault("more", {})[channel] = [before[0].seq, rest]


def _sending(
    thread: Thread, data: Mapping[str, Any], to_tasks: Mapping[str, set[str]], new: Sequence[Stored], before: int
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return a checkpoint that names the new messages that it sends to tasks, and its record.

    Args:
        thread: the thread.
        data: the content of the checkpoint's record.
        to_tasks: the ids in what it sends, by channels.
        new: the messages.
        before: how many events of their command come before them, but for the one with which an agent begins.
    """
    first = thread.head + 1 + (thread.agent is None) + before
    found = with_new(data, to_tasks, {kept.id: seq for seq, (_, kept) in enumerate(new, first)})
    return found, record(found)


def _named(
    thread: Thread,
    data: Mapping[str, Any],
    new: Sequence[Stored],
    waiting: Sequence[Post] = (),
    *,
    is_replaced: bool = False,
) -> list[dict[str, Any]]:
    """Return new messages of a checkpoint as they are added: each names the records of the step that brought it.

    Args:
        thread: the thread.
        data: the content of the checkpoint's record.
        new: the messages.
        waiting: the records that come before them in their command.
        is_replaced: whether the command begins with going back.
    """
    parent = thread.all.get((data["ns"], data["parent"] or ""))
    seqs = thread.before_first() if parent is None else thread.step(parent)
    first = thread.head + 1 + (thread.agent is None) + is_replaced  # an agent begins with an event of its own
    for seq, each in enumerate(waiting, first):
        if each.data.get("ns") or (parent is not None and each.data.get("to") == parent.id):
            seqs += [seq, *parts_of(each.data)]
    return [messages.with_copies(message, seqs) for message, _ in new]


def _left(thread: Thread, serde: SerializerProtocol, value: Any) -> Any:
    """Return a value without what was deleted with its thread; the input of a subgraph is a map of channels."""
    if type(value) is not dict:
        return thread.deleted.without(value)
    left = {channel: thread.deleted.without(inside) for channel, inside in value.items()}
    return {
        channel: inside for channel, inside in left.items() if not thread.deleted.has_value(values.dump(serde, inside))
    }


def _places(config: RunnableConfig, checkpoint_id: str | None) -> list[tuple[str, str]]:
    """Return the checkpoints that something follows: its own, and for a subgraph those of the graphs around it."""
    return [(where(config)[1], checkpoint_id or ""), *(config["configurable"].get("checkpoint_map") or {}).items()]


def announced(threads: Threads, config: RunnableConfig) -> AbstractContextManager[None]:
    """Announce that a checkpoint is added in the block, to what is queued meanwhile.

    Args:
        threads: the threads.
        config: the checkpoint that it follows.
    """
    thread_id, _ = where(config)
    return threads.of(thread_id).posts.checkpoint()


class Written:
    """The writes of a task after a checkpoint, queued until somebody adds them.

    Args:
        threads: the threads.
        serde: the serializer.
        config: the checkpoint.
        writes: the channels, and the value written to each.
        task: the id of the task, and its path.
    """

    def __init__(
        self,
        threads: Threads,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task: tuple[str, str],
    ) -> None:
        thread_id, space = where(config)
        checkpoint_id = get_checkpoint_id(config)
        if checkpoint_id is None:
            raise InvalidParams("config: expected the checkpoint_id that the writes follow", field="config")
        self._place = space, checkpoint_id
        self._task, path = task
        self._thread = thread = threads.of(thread_id)
        rows = [(WRITES_IDX_MAP.get(channel, number), channel, value) for number, (channel, value) in enumerate(writes)]
        data = {"to": self._place[1], "ns": space, "task": self._task, "path": path}

        def left() -> dict[str, Any]:
            kept = [[index, channel, values.dump(serde, _left(thread, serde, value))] for index, channel, value in rows]
            return {**data, "writes": [row for row in kept if not thread.deleted.has_value(row[2])]}

        with thread.posts.making():
            if thread.outlives(_places(config, checkpoint_id)):
                self._post = thread.posts.add(left())
            else:
                texts = [[index, channel, values.dump(serde, value)] for index, channel, value in rows]
                self._post = thread.posts.add({**data, "writes": texts}, left)

    def leave_to_next(self) -> None:
        """Leave the writes to the next checkpoint, if it begins soon, and wait until it is over."""
        self._thread.posts.leave_to_next(self._post)

    async def give_way_to_next(self, worker: Worker) -> None:
        """Let the next checkpoint begin, if it does so as soon as the one before is over; it adds the writes.

        Nothing waits for it but these writes: the thread of the worker belongs to all who use the saver.
        """
        if self._post.after:
            await worker.run(lambda _: None)  # until the one before is over
            for _ in range(_TURNS):
                if self._thread.posts.has_next(self._post):
                    break
                await give_way()

    def add(self, logs: Logs) -> None:
        """Add the writes, unless they exist already."""
        logs.say_posted(self._thread, self._post, self._is_there)

    def withdraw(self) -> None:
        """Remove the writes from the queue."""
        self._thread.posts.withdraw(self._post)

    def _is_there(self) -> bool:
        known = self._thread.current.writes.get(self._place, {})
        return all(index >= 0 and (self._task, index) in known for index, _, _ in self._post.data["writes"])
