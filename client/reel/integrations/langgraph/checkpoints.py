"""Reads checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, empty_checkpoint, get_checkpoint_id
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from reel.base.errors import InvalidParams
from reel.base.garbage import uncollected
from reel.integrations.langgraph import values
from reel.integrations.langgraph.conversations import Conversations
from reel.integrations.langgraph.logs import Logs
from reel.integrations.langgraph.records import Checkpoint
from reel.integrations.langgraph.thread import Thread

# The prefix of the id of a checkpoint that nobody has put: the messages that exist before the first turn of a graph. It
# is older than any other one. It precedes the first checkpoint that is put, and is stored together with that.
_OUTSET: Final = "00000000-0000-6000-8000-"


class Reader:
    """Reads checkpoints.

    Args:
        logs: the logs that hold them.
        conversations: the messages in them.
        serde: the serializer.
        key: the channel whose messages are the conversation.
    """

    def __init__(self, logs: Logs, conversations: Conversations, serde: SerializerProtocol, key: str) -> None:
        self.logs = logs
        self.conversations = conversations
        self.serde = serde
        self.key = key

    def get(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; without an id the newest, including messages added by others."""
        thread_id, space = where(config)
        thread = self.logs.threads.of(thread_id)
        wanted = get_checkpoint_id(config)
        with thread.lock:
            self.logs.read(thread)  # it may wait for the daemon, and others make garbage meanwhile
            with uncollected():
                found = thread.current.checkpoints.get(space, {}).get(wanted) if wanted else self.latest(thread, space)
                if found is None and not space and (outset := self._outset(thread)) is not None:
                    found = outset if not wanted or wanted == outset.id else None
                made = None if found is None else self.tuple_of(thread, thread_id, found, is_live=not wanted)
        return made._replace(config=config) if made is not None and wanted else made

    def latest(self, thread: Thread, space: str) -> Checkpoint | None:
        """Return the newest checkpoint of a namespace that can be read."""
        while (found := thread.current.latest(space)) is not None and self.versions(found) is None:
            thread.current.drop(found)
        return found

    def _outset(self, thread: Thread) -> Checkpoint | None:
        """Return the checkpoint that a graph begins with if others have begun the conversation; see :data:`_OUTSET`."""
        if "" in thread.current.newest or not isinstance(self.serde, JsonPlusSerializer):
            return None
        path = self.conversations.current(thread)
        if not path:
            return None
        name = _OUTSET + f"{path[-1].seq:012x}"
        if thread.outset is None or thread.outset.id != name:
            time = datetime.fromtimestamp(path[-1].record.get("time", 0) / 1000, UTC).isoformat()
            state = empty_checkpoint() | {"id": name, "ts": time, "channel_versions": {self.key: 1}}
            del state["channel_values"]
            data: dict[str, Any] = {"put": name, "ns": "", "parent": None, "values": {}, "same": {}, "messages": {}}
            data["checkpoint"] = values.dump(self.serde, state)
            data["metadata"] = values.dump(self.serde, {"source": "update", "step": -2, "parents": {}})
            thread.outset = Checkpoint(thread.head, data, thread.tip)
        return thread.outset

    def listed(
        self,
        config: RunnableConfig | None,
        wanted: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the newest first.

        Args:
            config: the thread, and perhaps the namespace and the id; ``None`` for all threads.
            wanted: values that their metadata must have.
            before: only those with an older id than this one.
            limit: the maximum number of checkpoints.
        """
        if config is None:
            threads, space, name = [*self.logs.all()], None, None
        else:
            thread_id, _ = where(config)
            threads = [(thread_id, self.logs.threads.of(thread_id))]
            self.logs.read(threads[0][1])
            space, name = config["configurable"].get("checkpoint_ns"), get_checkpoint_id(config)
        end = get_checkpoint_id(before) if before else None
        found = []
        for thread_id, thread in threads:
            with thread.lock:
                there = thread.current.listed(space)
                if not space and (outset := self._outset(thread)) is not None:
                    there.append(outset)
                for made in there:
                    is_there = (not name or made.id == name) and (not end or made.id < end)
                    if is_there and self._matches(made, wanted or {}):
                        found.append((made.id, made.space, thread_id, thread, made))
        found.sort(key=lambda one: one[:3], reverse=True)
        for _, _, thread_id, thread, made in found if limit is None else found[: max(limit, 0)]:
            with thread.lock:
                one = self.tuple_of(thread, thread_id, made)
            if one is not None:
                yield one

    def _matches(self, checkpoint: Checkpoint, wanted: Mapping[str, Any]) -> bool:
        if not wanted:
            return True
        metadata = self.metadata(checkpoint)
        return all(metadata.get(key) == value for key, value in wanted.items())

    def metadata(self, checkpoint: Checkpoint) -> Mapping[str, Any]:
        """Return the metadata of a checkpoint."""
        if checkpoint.metadata is None:
            checkpoint.metadata = self._map(checkpoint.data["metadata"])
        return checkpoint.metadata

    def versions(self, checkpoint: Checkpoint) -> Mapping[str, Any] | None:
        """Return the versions of the channels of a checkpoint; ``None`` if it cannot be read."""
        if checkpoint.versions is None and (state := self._state(checkpoint)) is not None:
            checkpoint.versions = state["channel_versions"]
        return checkpoint.versions

    def _state(self, checkpoint: Checkpoint) -> dict[str, Any] | None:
        """Return a checkpoint without its values; ``None`` if it cannot be read."""
        found = self._map(checkpoint.data["checkpoint"])
        versions, seen = found.get("channel_versions"), found.setdefault("versions_seen", {})
        if (
            type(versions) is not dict
            or type(seen) is not dict
            or any(type(each) is not dict for each in seen.values())
        ):
            return None
        return found | {"id": checkpoint.id}

    def _map(self, text: str) -> dict[str, Any]:
        """Return a stored map; an empty one if it was redacted, or is something else."""
        found = self._loaded(text)
        return found if type(found) is dict else {}

    def _loaded(self, text: str) -> Any:
        """Return a stored value; ``None`` if it was redacted."""
        try:
            return values.load(self.serde, text)
        except values.NotAValue:
            return None

    def tuple_of(
        self, thread: Thread, thread_id: str, checkpoint: Checkpoint, *, is_live: bool = False
    ) -> CheckpointTuple | None:
        """Return a checkpoint in the framework's form; ``None`` if it cannot be read.

        Args:
            thread: the thread that it is in.
            thread_id: the id of the thread in the config.
            checkpoint: the checkpoint.
            is_live: whether the newest includes messages added by others since.
        """
        data, space = checkpoint.data, checkpoint.space
        state: Any = self._state(checkpoint)
        if state is None:
            return None
        state["channel_values"] = self._values(thread, checkpoint)
        if "messages" in data:
            state["channel_values"][self.key] = self.conversations.of(thread, space, checkpoint, is_live=is_live)
        elif is_live and not space:
            self._begin(thread, checkpoint, state)
        parent = checkpoint.parent
        return CheckpointTuple(
            config_of(thread_id, space, checkpoint.id),
            state,
            self._map(data["metadata"]),
            config_of(thread_id, space, parent) if parent else None,
            self._pending(thread, checkpoint),
        )

    def _begin(self, thread: Thread, checkpoint: Checkpoint, state: dict[str, Any]) -> None:
        """Put what others have said into a checkpoint whose graph has had no messages so far."""
        versions = state["channel_versions"]
        if self.key in versions or not isinstance(self.serde, JsonPlusSerializer):
            return
        if said := self.conversations.of(thread, "", checkpoint, is_live=True):
            state["channel_values"][self.key] = said
            versions[self.key] = max(versions.values(), default=1)

    def _values(self, thread: Thread, checkpoint: Checkpoint) -> dict[str, Any]:
        found = {}
        data = checkpoint.data
        for channel in (*checkpoint.stored(), *data["same"], *data.get("more", ())):
            held = thread.values.holder(checkpoint, channel)
            with suppress(values.NotAValue):  # it was redacted
                if held is not None:
                    found[channel] = values.load(self.serde, held[1])
        return found

    def _pending(self, thread: Thread, checkpoint: Checkpoint) -> list[tuple[str, str, Any]]:
        return [
            (write.task, write.channel, self._loaded(write.value))
            for write in thread.current.written(checkpoint.space, checkpoint.id)
        ]

    def deltas(self, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels up to a checkpoint, since the last one that holds their values."""
        thread_id, space = where(config)
        thread = self.logs.threads.of(thread_id)
        written: dict[str, list[tuple[str, str, Any]]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        with thread.lock:
            self.logs.read(thread)
            wanted = get_checkpoint_id(config)
            target = thread.all.get((space, wanted)) if wanted else self.latest(thread, space)
            walked = set()
            while target is not None and target.id not in walked and len(seeds) < len(written):
                walked.add(target.id)
                target = thread.all.get((space, target.parent or ""))
                if target is None:
                    break
                for write in reversed(thread.current.written(space, target.id)):
                    if write.channel in written and write.channel not in seeds:
                        value = self._loaded(write.value)
                        written[write.channel].append((write.task, write.channel, value))
                there_now = self._values(thread, target)
                if "messages" in target.data and self.key in written and self.key not in seeds:
                    there_now[self.key] = self.conversations.of(thread, space, target, is_live=False)
                seeds |= {key: there_now[key] for key in written if key in there_now and key not in seeds}
        made: dict[str, DeltaChannelHistory] = {}
        for channel, found in written.items():
            made[channel] = {"writes": found[::-1]}
            if channel in seeds:
                made[channel]["seed"] = seeds[channel]
        return made


def where(config: RunnableConfig) -> tuple[str, str]:
    """Return the id of a thread, and the namespace."""
    found = config.get("configurable", {})
    if found.get("thread_id") is None:
        raise InvalidParams('config: expected {"configurable": {"thread_id": …}}', field="config")
    return str(found["thread_id"]), found.get("checkpoint_ns") or ""


def config_of(thread_id: str, space: str, name: str | None) -> RunnableConfig:
    """Return the config of a checkpoint, or of a namespace."""
    found: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": space}
    return {"configurable": found if name is None else {**found, "checkpoint_id": name}}
