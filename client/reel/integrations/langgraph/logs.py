"""The logs of threads: what is new in them is read, and records are added to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from reel import requests
from reel.errors import NotFound, ReelError
from reel.frames import MAX_MESSAGE
from reel.integrations.langgraph.thread import Post, Thread, Threads
from reel.replies import Added
from reel.sync.client import Client

# The most events on a page.
PAGE: Final = 10_000
# So many bytes may be around the records in a request.
_AROUND: Final = 1 << 14


class Logs:
    """The logs of all threads, as a blocking client reads them and adds to them.

    Args:
        client: the client.
        threads: what was read of the logs.
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
            thread.name, since=thread.head if again else None, limit=PAGE, inherited=None if again else True
        )
        for page in self.client.pages(question):
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

    def add(self, thread: Thread, records: Sequence[Any], **options: Any) -> Added:
        """Add to a thread's log; begin it if it is new."""
        if thread.agent is None:
            options |= {"create": True, "tags": thread.tags or None}
        return self.client.add(thread.name, records, **options)

    def say(self, thread: Thread, data: Mapping[str, Any]) -> None:
        """Add a record that does not depend on what is there."""
        self.say_posted(thread, thread.post(data))

    def say_posted(self, thread: Thread, mine: Post, is_there: Callable[[], bool] = lambda: False) -> None:
        """Add a record that waits, and with it those for which others wait meanwhile.

        Args:
            thread: the thread.
            mine: the record. It was queued before the lock was taken, so the holder of the lock may have added it.
            is_there: whether there is no need to, as far as the log was read.
        """
        with thread.lock:
            try:
                if not thread.is_read:
                    self.read(thread)
                if not mine.is_added and not is_there():
                    self._say_all(thread, mine)
            finally:
                thread.withdraw(mine)

    def _say_all(self, thread: Thread, mine: Post) -> None:
        waiting = [*(each for each in thread.posted(self.room()) if each is not mine), mine]
        while True:
            try:
                added = self.add(thread, [each.record for each in waiting])
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
        self.said(thread, added, waiting, added.head - len(waiting) + 1 if is_next else None)

    @staticmethod
    def said(thread: Thread, added: Added, waiting: Sequence[Post], first: int | None) -> None:
        """Take in records that were added."""
        for number, each in enumerate(waiting):
            each.is_added = True
            thread.withdraw(each)
            if first is not None:
                thread.take(first + number, added.command, each.data)

    def room(self) -> int:
        """Return how many characters fit into one request, whatever they are."""
        return self.limit() // 4

    def limit(self) -> int:
        """Return how many bytes of records fit into one request."""
        server = self.client.server or self.client.connect().server
        return (MAX_MESSAGE if server is None else int(server.limits["message"])) - _AROUND
