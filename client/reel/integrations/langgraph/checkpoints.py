"""Checkpoints, read from the logs of agents and added to them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.base import Checkpoint as State
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from msgpack import packb

from reel import requests
from reel.errors import Conflict, InvalidParams, NotFound, ReelError
from reel.frames import too_large
from reel.integrations.langgraph import messages, values
from reel.integrations.langgraph.thread import Checkpoint, Node, Place, Post, Thread, Threads, record
from reel.replies import Added
from reel.sync.client import Client

# The most events on a page.
_PAGE: Final = 10_000
# Characters of messages in one request, and of records that waited; the protocol's limit is 16 MiB for all of it.
_REQUEST: Final = 4 << 20
# So many bytes may be around a record in a request.
_AROUND: Final = 1 << 12
# A value with no more characters is stored again, rather than a reference to it.
_SHORT: Final = 24
# The kinds of events that messages are, as far as a thread looks at them.
_KINDS: Final = {"user": "user", "assistant": "assistant", "tool": "tool_result"}


class _Difference(NamedTuple):
    """How a conversation differs from a list of messages.

    Args:
        begin: the first message that is not as in the list; ``None`` if all are.
        same: so many messages of the list are in the conversation.
        skipped: messages of the conversation that stay, and are not in the list.
        later: messages after ``begin`` that the framework has not seen.
    """

    begin: Node | None
    same: int
    skipped: Sequence[Node] = ()
    later: Sequence[Node] = ()


class Checkpoints:
    """The checkpoints of all threads, as a blocking client reads and adds them.

    Args:
        client: the client.
        serde: the serializer.
        threads: what was read of the logs.
        key: the channel whose messages are the conversation.
    """

    def __init__(self, client: Client, serde: SerializerProtocol, threads: Threads, key: str) -> None:
        self._client = client
        self._serde = serde
        self._threads = threads
        self._key = key

    def _all_threads(self) -> Iterator[tuple[str, Thread]]:
        """Yield the id of each thread, and the thread."""
        for agent in self._client.iter_agents(self._threads.prefix, alive=True):
            thread = self._threads.named(agent.name, agent.tags)
            self._read(thread)
            shown = agent.tags.get("session_id", agent.name[len(self._threads.prefix) :])
            yield thread.thread_id or shown, thread

    def _read(self, thread: Thread) -> None:
        """Take in what is new in a thread's log."""
        with thread.lock:
            was_read = thread.agent is not None
            try:
                self._read_on(thread)
            except NotFound:
                thread.forget()
            except BaseException:
                if not was_read:  # what it inherited may be missing
                    thread.forget()
                raise
            thread.is_read = True

    def _read_on(self, thread: Thread) -> None:
        again = thread.agent is not None
        question = requests.history(
            thread.name, since=thread.head if again else None, limit=_PAGE, inherited=None if again else True
        )
        for page in self._client.pages(question):
            redacted = any(event["kind"] == "redacted" for event in page.events)
            if again and (page.agent != thread.agent or page.head < thread.head or redacted):
                # A new agent has the name, or a backup was restored, or what was said is not what it was.
                thread.forget()
                self._read_on(thread)
                return
            thread.agent = page.agent
            for event in page.events:
                thread.fold(event)
            thread.head = page.events[-1]["seq"] if page.more else page.head

    # Messages.

    def _is_conversation(self, value: Any) -> bool:
        return isinstance(self._serde, JsonPlusSerializer) and messages.is_history(value)

    def _kept(self, thread: Thread, node: Node) -> Sequence[messages.Kept]:
        """Return what a message of the log is for the framework: one message, or none, or several."""
        if node.kept is None:
            node.kept = self._read_message(thread, node.message())
        return node.kept

    def _read_message(self, thread: Thread, message: Any) -> list[messages.Kept]:
        if message is None:
            return []
        own = messages.restored(self._serde, message)
        return messages.converted(self._serde, message, thread.agent or "") if own is None else [own]

    def _path(self, thread: Thread, tip: Place | None, at: int) -> list[Node]:
        """Return the messages of a conversation, of the log that was read or as the daemon knows them."""
        found = thread.path() if tip == thread.tip else thread.path_to(tip)
        if found is not None:
            return found
        nodes = []
        for message in self._client.iter_messages(thread.name, at=at):
            nodes.append(Node(("", message["seq"]), None, 0, message))
            nodes[-1].kept = self._read_message(thread, message)
        return nodes

    def _messages(self, thread: Thread, space: str, checkpoint: Checkpoint, *, is_live: bool) -> Any:
        """Return the messages of a checkpoint; those of the last one go on with what others have added since."""
        found = checkpoint.data["messages"]
        if is_live and not space and thread.newest.get(space) is checkpoint:
            path = self._in_turn(thread, self._path(thread, thread.tip, thread.head))
            thread.given.update(node.place for node in path if thread.is_foreign(node))
        else:
            skipped = frozenset(found.get("skip", ()))
            path = self._path(thread, checkpoint.tip, checkpoint.seq)
            path = [node for node in path if node.seq not in skipped] if skipped else path
        kept = [each for node in path for each in self._kept(thread, node)]
        if space:
            more = json.loads(found.get("more", "[]"))
            kept = kept[: found["keep"]] + [messages.kept_from(self._serde, item) for item in more]
        return [each.copy() for each in kept]

    def _in_turn(self, thread: Thread, path: list[Node]) -> list[Node]:
        """Return a conversation in which no message of others is between a call of the graph's and its result.

        Providers refuse that. Such a message comes after the result, and is left out until that is there.
        """
        if not any(map(thread.is_foreign, path)):
            return path
        ordered: list[Node] = []
        waiting: list[Node] = []
        calls: set[str] = set()
        for node in path:
            made = [each.copy() for each in self._kept(thread, node)]
            results = {message.tool_call_id for message in made if isinstance(message, ToolMessage)}
            is_foreign = thread.is_foreign(node)
            if calls and is_foreign and not results:
                waiting.append(node)
                continue
            if not results:
                ordered += waiting
                calls, waiting = set(), []
            ordered.append(node)
            calls -= results
            if not is_foreign:
                calls |= {call["id"] for message in made for call in getattr(message, "tool_calls", ())}
            if not calls:
                ordered += waiting
                waiting = []
        return ordered

    def _difference(self, thread: Thread, given: Sequence[Any]) -> _Difference:
        """Compare the conversation with a list of messages.

        A message of somebody else that the framework has not seen yet stays: it is there when a thread is loaded next.
        """
        skipped: list[Node] = []
        same = 0
        path = self._path(thread, thread.tip, thread.head)
        for number, node in enumerate(path):
            kept = self._kept(thread, node)
            end = same + len(kept)
            if kept and end <= len(given) and all(map(messages.Kept.is_like, kept, given[same:end])):
                same = end
            elif not kept or thread.is_unseen(node):
                skipped.append(node)
            else:
                return _Difference(node, same, skipped, [*filter(thread.is_unseen, path[number:])])
        return _Difference(None, same, skipped)

    def _nested(self, thread: Thread, given: Sequence[Any]) -> dict[str, Any]:
        """Return the messages of a subgraph: how many are as in the conversation, and the others."""
        path = self._path(thread, thread.tip, thread.head)
        kept = [each for node in path for each in self._kept(thread, node)]
        same = 0
        for each, message in zip(kept, given, strict=False):
            if not each.is_like(message):
                break
            same += 1
        more = [messages.item_of(self._serde, message) for message in given[same:]]
        return {"keep": same, **({"more": values.to_json(more)} if more else {})}

    # Writing.

    def _add(self, thread: Thread, records: Sequence[Any], **options: Any) -> Added:
        """Add to a thread's log; begin it if it is new."""
        if thread.agent is None:
            options |= {"create": True, "tags": thread.tags or None}
        return self._client.add(thread.name, records, **options)

    def _say(self, thread: Thread, data: Mapping[str, Any]) -> None:
        """Add a record that does not depend on what is there, and with it those for which others wait meanwhile."""
        mine = thread.post(data)
        with thread.lock:
            try:
                if not mine.is_added:
                    self._say_all(thread, mine)
            finally:
                thread.withdraw(mine)

    def _say_all(self, thread: Thread, mine: Post) -> None:
        waiting = [*(each for each in thread.posted(_REQUEST) if each is not mine), mine]
        while True:
            try:
                added = self._add(thread, [each.record for each in waiting])
                break
            except NotFound:
                if thread.agent is None:
                    raise
                thread.forget()  # somebody has deleted the thread: begin it again
            except ReelError:
                if len(waiting) == 1:
                    raise
                waiting = [mine]  # it may not be its fault
        is_next = added.command == thread.head + 1  # else they are read in their turn
        if is_next:
            thread.agent, thread.head = added.agent, added.head
        self._said(thread, added, waiting, added.head - len(waiting) + 1 if is_next else None)

    @staticmethod
    def _said(thread: Thread, added: Added, waiting: Sequence[Post], first: int | None) -> None:
        """Take in records that were added."""
        for number, each in enumerate(waiting):
            each.is_added = True
            thread.withdraw(each)
            if first is not None:
                thread.take(first + number, added.command, each.data)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: State,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Add a checkpoint, and return its config."""
        thread_id, space = _where(config)
        thread = self._threads.of(thread_id)
        stripped = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        data: dict[str, Any] = {"put": checkpoint["id"], "ns": space, "parent": get_checkpoint_id(config)}
        data["checkpoint"] = values.dump(self._serde, stripped)
        data["metadata"] = values.dump(self._serde, get_checkpoint_metadata(config, metadata))
        if thread.tags:
            data["thread"] = thread_id
        with thread.lock:
            if not thread.is_read:
                self._read(thread)
            while True:
                try:
                    self._add_checkpoint(thread, data, checkpoint, new_versions)
                    break
                except (Conflict, NotFound):  # somebody else has written, or deleted the thread
                    self._read(thread)
        return _config(thread_id, space, checkpoint["id"])

    def _add_checkpoint(
        self, thread: Thread, begun: Mapping[str, Any], checkpoint: State, new_versions: ChannelVersions
    ) -> None:
        """Add a checkpoint, with the messages that are new, if nobody else has written meanwhile."""
        data = {**begun, "values": {}, "same": {}}
        parent = thread.all.get((data["ns"], data["parent"] or ""))
        before, now = self._versions(parent), checkpoint["channel_versions"]
        difference = _Difference(None, 0)
        given: Sequence[Any] = ()
        for channel, value in checkpoint["channel_values"].items():
            held = None
            if parent is not None and channel in now and channel not in new_versions:
                held = parent if before.get(channel) == now[channel] else None
            if channel == self._key and self._is_conversation(value):
                if data["ns"]:
                    data["messages"] = self._nested(thread, value)
                elif held is not None and held.data.get("messages") == {} and held.tip == thread.tip:
                    data["messages"] = {}
                else:
                    given, difference = value, self._difference(thread, value)
                    skip = [node.seq for node in difference.skipped]
                    data["messages"] = {"skip": skip} if skip else {}
                continue
            found = None if held is None else thread.holder(held, channel)
            if found is not None and len(found[1]) > _SHORT:
                data["same"][channel] = found[0].seq
            else:
                data["values"][channel] = values.dump(self._serde, value)
        # A run from an older checkpoint leaves what was said after it.
        is_newest = parent is not None and parent.id == max(thread.checkpoints.get(data["ns"], {}), default="")
        self._commit(thread, data, difference if is_newest else difference._replace(later=()), given[difference.same :])
        thread.all[data["ns"], checkpoint["id"]].versions = dict(now)

    def _commit(self, thread: Thread, data: Mapping[str, Any], difference: _Difference, given: Sequence[Any]) -> None:
        """Write a checkpoint and its new messages as one command, and take them in."""
        *parts, last = _parts(messages.stored(self._serde, message) for message in given)
        own, begin = record(data), difference.begin
        later = [
            {name: message[name] for name in ("role", "content", "provider_metadata")}
            for node in difference.later
            if (message := node.message()) is not None
        ]
        if parts:
            self._require_size([own, *(message for part in [*parts, last] for message, _ in part)])
        from_ = None if begin is None else begin.seq
        for part in parts:  # there are too many for one request
            self._add(thread, [message for message, _ in part], from_=from_, if_seq=thread.head)
            self._read(thread)
            thread.given.update(thread.nodes)
            from_ = None
        said = [message for message, _ in last]
        waiting = thread.posted(_REQUEST - len(own["data_json"]))
        try:
            records = [*(each.record for each in waiting), *said, own, *later]
            added = self._add(thread, records, from_=from_, if_seq=thread.head)
        except (Conflict, NotFound):
            raise
        except ReelError:
            if not waiting:
                raise
            waiting = []  # it may be the fault of what others wait for
            added = self._add(thread, [*said, own, *later], from_=from_, if_seq=thread.head)
        is_unread = begin is not None and begin.place not in thread.nodes  # in a log that was not read
        if is_unread or later:
            self._said(thread, added, waiting, None)
            if is_unread:
                thread.forget()
            self._read(thread)
            return
        if from_ is not None and begin is not None:
            thread.move(begin.parent)
        thread.agent, thread.head = added.agent, added.head
        first = added.head - len(last)
        self._said(thread, added, waiting, first - len(waiting))
        for number, (message, kept) in enumerate(last, first):
            node = Node((added.agent, number), thread.tip, added.command, {"kind": _KINDS[message["role"]]})
            node.kept = [kept]
            thread.append(node)
        thread.take(added.head, added.command, data)

    def _require_size(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Require that each record fits into a request, before any is added."""
        server = self._client.server or self._client.connect().server
        limit = server.limits["message"] - _AROUND if server is not None else math.inf
        for each in records:
            size = len(packb(each))
            if size > limit:
                raise too_large(int(limit), size)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        """Add what a task wrote, unless it is there."""
        thread_id, space = _where(config)
        name = config["configurable"]["checkpoint_id"]
        rows: list[tuple[int, str, str]] = [
            (WRITES_IDX_MAP.get(channel, number), channel, values.dump(self._serde, value))
            for number, (channel, value) in enumerate(writes)
        ]
        data = {"to": name, "ns": space, "task": task_id, "path": task_path, "writes": rows}
        thread = self._threads.of(thread_id)
        with thread.lock:
            if not thread.is_read:
                self._read(thread)
            known = thread.writes.get((space, name), {})
            if not all(index >= 0 and (task_id, index) in known for index, _, _ in rows):
                self._say(thread, data)

    # Reading.

    def get(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; without an id the newest, with what others have added to its messages."""
        thread_id, space = _where(config)
        thread = self._threads.of(thread_id)
        wanted = get_checkpoint_id(config)
        with thread.lock:
            self._read(thread)
            there = thread.checkpoints.get(space, {})
            found = there.get(wanted or max(there, default=""))
            if found is None:
                return None
            made = self._tuple(thread, thread_id, found, is_live=not wanted)
        return made._replace(config=config) if wanted else made

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
            wanted: what their metadata must have.
            before: only those with an older id than this one.
            limit: the most.
        """
        if config is None:
            threads, space, name = [*self._all_threads()], None, None
        else:
            thread_id, _ = _where(config)
            threads = [(thread_id, self._threads.of(thread_id))]
            self._read(threads[0][1])
            space, name = config["configurable"].get("checkpoint_ns"), get_checkpoint_id(config)
        end = get_checkpoint_id(before) if before else None
        found = []
        for thread_id, thread in threads:
            with thread.lock:
                for made in thread.listed(space):
                    is_there = (not name or made.id == name) and (not end or made.id < end)
                    if is_there and self._matches(made, wanted or {}):
                        found.append((made.id, made.space, thread_id, thread, made))
        found.sort(key=lambda one: one[:3], reverse=True)
        for _, _, thread_id, thread, made in found if limit is None else found[: max(limit, 0)]:
            with thread.lock:
                one = self._tuple(thread, thread_id, made)
            yield one

    def _matches(self, checkpoint: Checkpoint, wanted: Mapping[str, Any]) -> bool:
        if not wanted:
            return True
        metadata = self._metadata(checkpoint)
        return all(metadata.get(key) == value for key, value in wanted.items())

    def _metadata(self, checkpoint: Checkpoint) -> Mapping[str, Any]:
        if checkpoint.metadata is None:
            checkpoint.metadata = self._loaded(checkpoint.data["metadata"], {})
        found: Mapping[str, Any] = checkpoint.metadata
        return found

    def _versions(self, checkpoint: Checkpoint | None) -> Mapping[str, Any]:
        if checkpoint is None:
            return {}
        if checkpoint.versions is None:
            checkpoint.versions = self._loaded(checkpoint.data["checkpoint"], {}).get("channel_versions", {})
        return checkpoint.versions or {}

    def _loaded(self, text: str, default: Any) -> Any:
        """Return a stored value; the default if it was redacted."""
        try:
            return values.load(self._serde, text)
        except ValueError:
            return default

    def _tuple(
        self, thread: Thread, thread_id: str, checkpoint: Checkpoint, *, is_live: bool = False
    ) -> CheckpointTuple:
        data, space = checkpoint.data, checkpoint.space
        state = self._loaded(data["checkpoint"], {"id": checkpoint.id})
        state["channel_values"] = self._values(thread, checkpoint)
        if "messages" in data:
            state["channel_values"][self._key] = self._messages(thread, space, checkpoint, is_live=is_live)
        parent = data["parent"]
        return CheckpointTuple(
            _config(thread_id, space, checkpoint.id),
            state,
            self._loaded(data["metadata"], {}),
            _config(thread_id, space, parent) if parent else None,
            self._pending(thread, checkpoint),
        )

    def _values(self, thread: Thread, checkpoint: Checkpoint) -> dict[str, Any]:
        found = {}
        for channel in (*checkpoint.data["values"], *checkpoint.data["same"]):
            held = thread.holder(checkpoint, channel)
            with suppress(ValueError):  # it was redacted
                if held is not None:
                    found[channel] = values.load(self._serde, held[1])
        return found

    def _pending(self, thread: Thread, checkpoint: Checkpoint) -> list[tuple[str, str, Any]]:
        return [
            (write.task, write.channel, self._loaded(write.value, None))
            for write in thread.written(checkpoint.space, checkpoint.id)
        ]

    def deltas(self, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels up to a checkpoint, since the last one that has their values."""
        thread_id, space = _where(config)
        thread = self._threads.of(thread_id)
        written: dict[str, list[tuple[str, str, Any]]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        with thread.lock:
            self._read(thread)
            there = thread.checkpoints.get(space, {})
            target = thread.all.get((space, get_checkpoint_id(config) or max(there, default="")))
            walked = set()
            while target is not None and target.id not in walked and len(seeds) < len(written):
                walked.add(target.id)
                target = thread.all.get((space, target.data["parent"] or ""))
                if target is None:
                    break
                for write in reversed(thread.written(space, target.id)):
                    if write.channel in written and write.channel not in seeds:
                        value = self._loaded(write.value, None)
                        written[write.channel].append((write.task, write.channel, value))
                there_now = self._values(thread, target)
                if "messages" in target.data and self._key in written and self._key not in seeds:
                    there_now[self._key] = self._messages(thread, space, target, is_live=False)
                seeds |= {key: there_now[key] for key in written if key in there_now and key not in seeds}
        made: dict[str, DeltaChannelHistory] = {}
        for channel, found in written.items():
            made[channel] = {"writes": found[::-1]}
            if channel in seeds:
                made[channel]["seed"] = seeds[channel]
        return made

    # Deleting and copying.

    def delete(self, thread_id: str) -> None:
        """Purge the agent of a thread."""
        thread = self._threads.of(thread_id)
        with thread.lock:
            with suppress(NotFound):
                self._client.purge(thread.name)
            thread.forget()

    def _hide(self, thread: Thread, hidden: Sequence[Checkpoint]) -> None:
        if hidden:
            self._say(thread, {"delete": [[each.space, each.id] for each in hidden]})

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of runs, in all threads."""
        runs = set(run_ids)
        for _, thread in [*self._all_threads()] if runs else []:
            with thread.lock:
                found = [each for each in thread.listed(None) if self._metadata(each).get("run_id") in runs]
                self._hide(thread, found)

    def prune(self, thread_ids: Sequence[str], strategy: str) -> None:
        """Hide all checkpoints but the newest of each namespace, or delete threads."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidParams(f"strategy: expected keep_latest or delete, got {strategy!r}", field="strategy")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete(thread_id)
                continue
            thread = self._threads.of(thread_id)
            with thread.lock:
                self._read(thread)
                newest = {space: max(there, default="") for space, there in thread.checkpoints.items()}
                self._hide(thread, [each for each in thread.listed(None) if each.id != newest[each.space]])

    def copy(self, source_id: str, target_id: str) -> None:
        """Copy all checkpoints of a thread to another."""
        source, target = self._threads.of(source_id), self._threads.of(target_id)
        if source is target:
            return
        self._read(source)
        self._read(target)
        if source.agent is None:
            return
        if target.agent is None:
            self._client.clone(source.name, target.name)
            self._client.change(target.name, tags=target.tags)
            if target.tags:
                self._read(target)
                self._say(target, {"thread": target_id})
            return
        for one in sorted(source.listed(None), key=lambda each: each.id):
            with source.lock:
                made = self._tuple(source, target_id, one)
                written = source.written(one.space, one.id)
            state = made.checkpoint
            self.put(
                made.parent_config or _config(target_id, one.space, None),
                state,
                made.metadata,
                state["channel_versions"],
            )
            for each in written:
                row = [each.index, each.channel, each.value]
                place = {"to": one.id, "ns": one.space, "task": each.task, "path": each.path}
                self._say(target, {**place, "writes": [row]})


def _where(config: RunnableConfig) -> tuple[str, str]:
    """Return the id of a thread, and the namespace."""
    found = config.get("configurable", {})
    if found.get("thread_id") is None:
        raise InvalidParams('config: expected {"configurable": {"thread_id": …}}', field="config")
    return str(found["thread_id"]), found.get("checkpoint_ns") or ""


def _config(thread_id: str, space: str, name: str | None) -> RunnableConfig:
    found: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": space}
    return {"configurable": found if name is None else {**found, "checkpoint_id": name}}


def _parts(added: Iterable[tuple[dict[str, Any], messages.Kept]]) -> list[list[tuple[dict[str, Any], messages.Kept]]]:
    """Return messages in parts that fit into a request: one at least, which may be empty."""
    parts: list[list[tuple[dict[str, Any], messages.Kept]]] = [[]]
    size = 0
    for one in added:
        size += len(repr(one[0]))
        if parts[-1] and (size > _REQUEST or len(parts[-1]) == _PAGE):
            parts.append([])
            size = 0
        parts[-1].append(one)
    return parts
