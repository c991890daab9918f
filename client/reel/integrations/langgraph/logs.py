"""Reads new events from the logs of threads, and adds records to the logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

from reel import requests
from reel.base.errors import Conflict, InvalidParams, NotFound, ReelError, TooLarge
from reel.integrations.langgraph.parts import in_parts, pieces
from reel.integrations.langgraph.posts import Post
from reel.integrations.langgraph.records import copies_of, record
from reel.integrations.langgraph.thread import Thread
from reel.integrations.langgraph.threads import Threads
from reel.integrations.unchanged import after_events, is_unchanged
from reel.replies import Added, HistoryPage
from reel.said.item_forms import COPIES_OF
from reel.sync.client import Client
from reel.wire.frames import MAX_MESSAGE

# The parts of texts that were added, each with the id of the agent that has it, and their seqs.
Sent: TypeAlias = dict[tuple[str | None, str], int]
# The maximum number of events on a page.
PAGE: Final = 10_000
# The maximum number of bytes around the records in a request.
_AROUND: Final = 1 << 14


class Logs:
    """The logs of all threads, as a blocking client reads them and adds to them.

    Args:
        client: the client.
        threads: the threads as read so far.
    """

    def __init__(self, client: Client, threads: Threads) -> None:
        self.client = client
        self.threads = threads

    def all(self) -> Iterator[tuple[str, Thread]]:
        """Yield the id of each thread, and the thread."""
        for agent in self.client.iter_agents(self.threads.prefix, alive=True):
            thread = self.threads.named(agent.name, agent.tags)
            self.read(thread)
            shown = agent.tags.get("session_id", agent.name[len(self.threads.prefix) :])
            yield thread.thread_id or shown, thread

    def read(self, thread: Thread) -> None:
        """Read the new events of a thread's log."""
        with thread.lock:
            was_read = thread.agent is not None
            try:
                self._read_on(thread)
            except NotFound:
                thread.delete()
            except BaseException:
                if not was_read:  # inherited events may be missing
                    thread.forget()
                raise
            thread.is_read = True

    def _read_on(self, thread: Thread) -> None:
        again = thread.agent is not None
        if self._is_unchanged(thread):
            thread.settle()
            return
        # Before the request: what changes later is noticed.
        server = self.client.server
        fingerprint = self.client.fingerprint(server, thread.agent) if thread.agent is not None else None
        question = requests.history(
            thread.name, since=thread.head if again else None, limit=PAGE, inherited=None if again else True
        )
        for page in self.client.pages(question):
            redacted = any(event["kind"] == "redacted" for event in page.events)
            if again and page.agent != thread.agent:  # the name has a new agent
                thread.delete()
                self._read_on(thread)
                return
            if again and (page.head < thread.head or redacted or self._may_differ(thread, page)):
                thread.forget()
                self._read_on(thread)
                return
            thread.agent = page.agent
            if thread.read_from is None or thread.read_from[1] is None:
                thread.read_from = self.client.server, page.erasures
            for event in page.events:
                thread.fold(event)
            thread.head = page.events[-1]["seq"] if page.more else page.head
        thread.seen = thread.head, fingerprint if self.client.server is server else None
        thread.settle()

    def _is_unchanged(self, thread: Thread) -> bool:
        """Return whether a thread is known up to its head, and nothing has changed since, without a request."""
        head, fingerprint = thread.seen
        if thread.agent is None or thread.read_from is None or thread.head != head:
            return False
        return is_unchanged(self.client, thread.read_from[0], thread.agent, fingerprint)

    def is_current(self, thread: Thread) -> bool:
        """Return whether a thread was read, on the connection that is there now."""
        server = None if thread.read_from is None else thread.read_from[0]
        return thread.is_read and (thread.agent is None or self.client.is_still(server))

    def _may_differ(self, thread: Thread, page: HistoryPage) -> bool:
        """Whether a log may differ from what a thread has of it, although it does not say so.

        Behind another connection there may be a backup, which has come to the same number since. What was erased by way
        of a clone, or of the source of one, is in the log of that one; a daemon counts all erasures from its start.
        """
        if thread.read_from is None:
            return False
        server, erasures = thread.read_from
        return self.client.server is not server or erasures not in (None, page.erasures)

    def add(self, thread: Thread, records: Sequence[Any], **options: Any) -> Added:
        """Add to a thread's log; begin it if it is new."""
        if thread.agent is None:
            options |= {"create": True, "tags": thread.tags or None}
        added = self.client.add(thread.name, records, **options)
        head, fingerprint = thread.seen
        if thread.agent == added.agent and thread.read_from is not None and head == thread.head == added.command - 1:
            after = after_events(fingerprint, added.head - head)
            thread.seen = added.head, after  # if the caller folds what it added, and comes to this head
        if thread.read_from is None:
            thread.read_from = self.client.server, None  # the next reading says how many
        return added

    def say(self, thread: Thread, data: Mapping[str, Any]) -> None:
        """Add a record that does not depend on the state of the log."""
        self.say_posted(thread, thread.posts.add(data))

    def say_posted(self, thread: Thread, mine: Post, is_there: Callable[[], bool] = lambda: False) -> None:
        """Add a queued record, together with those that others have queued.

        Args:
            thread: the thread.
            mine: the record. It was queued before the lock was taken, so the holder of the lock may have added it.
            is_there: returns whether the log, as read so far, already has it.
        """
        with thread.lock:
            try:
                if not thread.is_read:
                    self.read(thread)
                thread.withdraw_outliving()
                if not mine.is_added and not is_there():
                    self.shrink(thread)
                    self._say_all(thread, mine)
            finally:
                thread.posts.withdraw(mine)

    def say_queued(self, thread: Thread) -> None:
        """Add all queued records. One that is refused stays in the queue, and raises its error where it was queued.

        Raises:
            NotFound: another client has deleted the thread, so what was to follow the records does not fit any more.
        """
        begun = thread.agent
        for each in thread.posts.all():
            if not each.is_added:
                with suppress(TooLarge, InvalidParams):
                    self._say_all(thread, each)
        if begun is not None and thread.agent != begun:
            raise NotFound(f"thread {thread.name} was deleted")

    def shrink(self, thread: Thread) -> None:
        """Put the long texts of queued records that do not fit into a request into parts of their own."""
        sent: Sent = {}
        for each in thread.posts.all():
            while not each.is_added and self._is_large(each.record):
                try:
                    each.name(thread.copied)
                    each.data = self.in_parts(thread, each.data, sent)
                    each.record = record(each.data)
                    break
                except (Conflict, NotFound):  # another client has written, or deleted the thread
                    self.read(thread)
                    thread.withdraw_outliving()

    def in_parts(self, thread: Thread, data: Mapping[str, Any], sent: Sent) -> Mapping[str, Any]:
        """Return the content of a record, with its longest texts in parts if they do not fit into a request.

        Args:
            thread: the thread, as it is now.
            data: the content.
            sent: the parts that were added; what is added here is put into it, and not added again.

        Raises:
            Conflict: another client has written in the meantime.
        """
        if not self._is_large(record(data)):
            return data

        def add(text: str) -> list[int]:
            around = {"ns": data["ns"]} if data.get("ns") else {}
            if copied := copies_of(data, text):
                around[COPIES_OF] = copied
            return [self._add_part(thread, around, piece, sent) for piece in pieces(text)]

        return in_parts(data, self.room() // 4, add)

    def _add_part(self, thread: Thread, around: Mapping[str, Any], piece: str, sent: Sent) -> int:
        known = sent.get((thread.agent, piece))
        if known is None:
            part = {"part": piece, **around}
            added = self.add(thread, [record(part)], if_seq=thread.head)
            thread.agent, thread.head = added.agent, added.head
            thread.take(added.head, added.command, part)
            known = sent[added.agent, piece] = added.head
        return known

    def _is_large(self, made: Mapping[str, Any]) -> bool:
        """Return whether a record takes so much of a request that its texts had better be parts."""
        text, most = made["data_json"], self.limit() // 2
        return 4 * len(text) > most and len(text.encode()) > most

    def _say_all(self, thread: Thread, mine: Post) -> None:
        waiting = [*(each for each in thread.posts.first(self.room()) if each is not mine), mine]
        while True:
            for each in waiting:
                each.name(thread.copied)
            try:
                added = self.add(thread, [each.record for each in waiting])
                break
            except NotFound:
                if thread.agent is None:
                    raise
                thread.delete()  # another client has: start over
                thread.withdraw_outliving()
                waiting = [each for each in waiting if not each.is_added]
                if not waiting:
                    return
            except ReelError:
                if len(waiting) == 1:
                    raise
                waiting = [mine]  # the others may be the cause
        is_next = added.command == thread.head + 1  # otherwise they are read in order
        if is_next:
            thread.agent, thread.head = added.agent, added.head
        self.said(thread, added, waiting, added.head - len(waiting) + 1 if is_next else None)

    @staticmethod
    def said(thread: Thread, added: Added, waiting: Sequence[Post], first: int | None) -> None:
        """Fold records that were added."""
        for number, each in enumerate(waiting):
            each.is_added = True
            thread.posts.withdraw(each)
            if first is not None:
                thread.take(first + number, added.command, each.data)

    def room(self) -> int:
        """Return how many characters of any kind fit into one request."""
        return self.limit() // 4

    def limit(self) -> int:
        """Return how many bytes of records fit into one request."""
        server = self.client.server or self.client.connect().server
        return (MAX_MESSAGE if server is None else int(server.limits["message"])) - _AROUND
