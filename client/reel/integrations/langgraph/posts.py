"""The records of a thread that are queued: whoever holds the thread's lock next adds them, together with its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from reel.integrations.langgraph.copied import Copied
from reel.integrations.langgraph.records import record
from reel.said.item_forms import COPIES_OF

# How long a thread waits for the next checkpoint, in seconds. The framework begins it 0.4 ms after the one before.
_NEXT: Final = 0.002


class Post:
    """A record queued for being added, together with others.

    Args:
        data: the content of the record.
        left: returns the content that is left of it if the thread is deleted before it is added.
        after: the number of the newest checkpoint, in progress or over; 0 if there was none.
    """

    __slots__ = ("after", "data", "is_added", "left", "record")

    def __init__(
        self, data: Mapping[str, Any], left: Callable[[], Mapping[str, Any]] | None = None, after: int = 0
    ) -> None:
        self.data = data
        self.left = left
        self.after = after
        self.record = record(data)
        self.is_added = False

    def name(self, copied: Copied) -> None:
        """Name the messages whose content the record repeats, if they are known by now."""
        said = copied.said_of(self.data)
        if said and said[COPIES_OF] != self.data.get(COPIES_OF):
            self.data = {**self.data, **said}
            self.record = record(self.data)

    def leave(self) -> None:
        """Keep only what is left of it after the thread was deleted."""
        if self.left is not None:
            self.data, self.left = self.left(), None
            self.record = record(self.data)


class Posts:
    """The queue. Threads of the process add to it without the lock of the thread of the graph.

    A step of a graph ends with what its tasks wrote, and with a checkpoint, which adds what is queued. The framework
    gives the former to a saver first, while it adds the checkpoint before or right after that, and then the latter. So
    what is queued after a checkpoint is left to the next one, if that comes soon: a command of its own would take as
    long as the checkpoint, and hold it up. In a third of the turns of a small graph the one before is over by then.
    """

    def __init__(self) -> None:
        self._posts: list[Post] = []
        self._made = threading.Condition()
        self._in_making: set[object] = set()
        # How many checkpoints were begun, and are over.
        self._begun = self._over = 0

    @contextmanager
    def making(self) -> Iterator[None]:
        """Announce a record whose content is being made, which takes a while for large values."""
        mine = object()
        with self._made:
            self._in_making.add(mine)
        try:
            yield
        finally:
            with self._made:
                self._in_making.remove(mine)
                self._made.notify_all()

    def wait(self) -> None:
        """Wait until what is being made now is queued: the messages of a checkpoint name what its tasks wrote."""
        with self._made:
            begun = {*self._in_making}
            self._made.wait_for(lambda: begun.isdisjoint(self._in_making))

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        """Announce a checkpoint, which is added in the block."""
        with self._made:
            self._begun += 1
            self._made.notify_all()
        try:
            yield
        finally:
            with self._made:
                self._over += 1
                self._made.notify_all()

    def has_next(self, post: Post) -> bool:
        """Whether the checkpoint has begun that adds a record which was queued after the one before."""
        return post.is_added or self._begun > post.after

    def leave_to_next(self, post: Post) -> None:
        """Leave a record to the next checkpoint, if one begins soon, and wait until that is over.

        The lock of the thread must not be held: checkpoints wait for it.
        """
        if post.after:
            with self._made:
                self._made.wait_for(lambda: self.has_next(post) or self._begun == self._over)
                self._made.wait_for(lambda: self.has_next(post), _NEXT)
                self._made.wait_for(lambda: post.is_added or self._begun == self._over)

    def add(self, data: Mapping[str, Any], left: Callable[[], Mapping[str, Any]] | None = None) -> Post:
        """Queue a record; see :class:`Post`."""
        with self._made:
            made = Post(data, left, self._begun)
        self._posts.append(made)
        return made

    def fit(self, size: int) -> bool:
        """Return whether all records together have at most this many characters."""
        return sum(len(each.record["data_json"]) for each in self.all()) <= size

    def first(self, size: int) -> list[Post]:
        """Return the first records, up to this many characters in total."""
        found = []
        for each in self.all():
            size -= len(each.record["data_json"])
            if size < 0:
                break
            found.append(each)
        return found

    def all(self) -> list[Post]:
        """Return all records."""
        return [*self._posts]

    def withdraw(self, post: Post) -> None:
        """Remove a record."""
        with suppress(ValueError):
            self._posts.remove(post)
