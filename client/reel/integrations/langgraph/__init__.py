"""Checkpoints of LangGraph: a thread is an agent of the daemon. docs/frameworks.md has an example.

The modules import LangGraph, and what the integrations share. Begin with :mod:`reel.integrations.langgraph.thread`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from reel.integrations.frameworks import imported

with imported("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from reel.integrations.langgraph.checkpoints import Reader
    from reel.integrations.langgraph.conversations import Conversations
    from reel.integrations.langgraph.logs import Logs
    from reel.integrations.langgraph.records import CLIENT
    from reel.integrations.langgraph.threads import Threads
    from reel.integrations.langgraph.upkeep import Keeper
    from reel.integrations.langgraph.writing import Writer, Written, announced
    from reel.integrations.worker import Worker
    from reel.sync.client import Client


class ReelSaver(BaseCheckpointSaver[Any]):  # type: ignore[misc]
    """A checkpointer of LangGraph, for ``builder.compile(checkpointer=ReelSaver())``; all methods are sync and async.

    It can be used from several event loops, threads and processes. If the daemon is restarted, a call waits for it, and
    is carried out once. A killed agent can be read; writing to it raises :class:`reel.Killed`.

    Args:
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names; the id of the thread follows.
        messages_key: the channel whose messages are the conversation.
        serde: the serializer. Default: the framework's. With any other than a ``JsonPlusSerializer``, such as one that
            encrypts, there is no conversation: messages are stored as it writes them.
    """

    def __init__(
        self,
        *,
        socket: str | None = None,
        autostart: bool = False,
        prefix: str = "langgraph/",
        messages_key: str = "messages",
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._key = messages_key
        self._threads = Threads(prefix)
        self._worker = Worker(socket, autostart=autostart, name=CLIENT)

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """Return a saver with a serializer that may create objects of more types."""
        made = super().with_allowlist(extra_allowlist)
        if isinstance(made, ReelSaver) and made is not self:
            # The threads in memory went through another serializer.
            made._threads = Threads(self._threads.prefix)  # noqa: SLF001 - as above
        return made

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next version of a channel: a number, or a string as in the framework's SQLite saver.

        Args:
            current: the previous version.
            channel: not used.
        """
        if isinstance(current, str):  # the thread began in another saver
            number, _, rest = current.partition(".")
            return f"{int(number) + 1:0{len(number)}}.{rest}"
        return super().get_next_version(current, channel)

    # The framework's methods, sync and async.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, or ``None``. Without an id, the newest, including messages added by others."""
        return self._worker.run_here(lambda client: self._reader(client).get(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return what :meth:`get_tuple` does."""
        return await self._worker.run(lambda client: self._reader(client).get(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the framework's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, the newest first.

        Args:
            config: the thread, and perhaps the namespace and the id. Default: all threads.
            filter: values that their metadata must have.
            before: only those with an older id than this one.
            limit: the maximum number of checkpoints.
        """
        yield from self._worker.run_here(lambda client: self._reader(client).listed(config, filter, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the framework's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield what :meth:`list` does."""
        for found in await self._worker.run(
            lambda client: [*self._reader(client).listed(config, filter, before, limit)]
        ):
            yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, and return its config. When this returns, it is on disk."""
        with announced(self._threads, config):
            return self._worker.run_here(
                lambda client: self._writer(client).put(config, checkpoint, metadata, new_versions)
            )

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do what :meth:`put` does."""
        with ExitStack() as announcement:
            announcement.enter_context(announced(self._threads, config))

            def put(client: Client) -> RunnableConfig:
                with announcement:  # it is over with the checkpoint: the event loop may wait for what is queued
                    return self._writer(client).put(config, checkpoint, metadata, new_versions)

            return await self._worker.run(put)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote after a checkpoint."""
        written = Written(self._threads, self.serde, config, writes, (task_id, task_path))
        try:
            written.leave_to_next()
            self._worker.run_here(lambda client: written.add(Logs(client, self._threads)))
        finally:
            written.withdraw()

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Do what :meth:`put_writes` does."""
        # Queued right away: a checkpoint that is put in the meantime includes it.
        written = Written(self._threads, self.serde, config, writes, (task_id, task_path))
        try:
            try:
                await written.give_way_to_next(self._worker)
            finally:  # also if it was cancelled: its effect is not in doubt
                await self._worker.run(lambda client: written.add(Logs(client, self._threads)))
        finally:
            written.withdraw()

    def delete_thread(self, thread_id: str) -> None:
        """Purge the agent of a thread: nothing of it remains in the daemon's files."""
        self._worker.run_here(lambda client: self._keeper(client).delete(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        """Do what :meth:`delete_thread` does."""
        await self._worker.run(lambda client: self._keeper(client).delete(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of some runs, in all threads, with what only they have; the messages stay."""
        self._worker.run_here(lambda client: self._keeper(client).delete_for_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Do what :meth:`delete_for_runs` does."""
        await self._worker.run(lambda client: self._keeper(client).delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread: a new one is a clone of its agent, and costs one row."""
        self._worker.run_here(lambda client: self._keeper(client).copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Do what :meth:`copy_thread` does."""
        await self._worker.run(lambda client: self._keeper(client).copy(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove all checkpoints of threads but the newest of each namespace, with what only they have.

        Those stay as well that a mark leads to, and what was undone as long as there is something to redo.

        Args:
            thread_ids: the threads.
            strategy: ``keep_latest``; or ``delete``, which does what :meth:`delete_thread` does.
        """
        self._worker.run_here(lambda client: self._keeper(client).prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Do what :meth:`prune` does."""
        await self._worker.run(lambda client: self._keeper(client).prune(thread_ids, strategy))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels that are stored as differences, hidden checkpoints included."""
        return self._worker.run_here(lambda client: self._reader(client).deltas(config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what :meth:`get_delta_channel_history` does."""
        return await self._worker.run(lambda client: self._reader(client).deltas(config, channels))

    def _reader(self, client: Client) -> Reader:
        return Reader(Logs(client, self._threads), Conversations(client, self.serde), self.serde, self._key)

    def _writer(self, client: Client) -> Writer:
        return Writer(self._reader(client))

    def _keeper(self, client: Client) -> Keeper:
        return Keeper(self._writer(client))
