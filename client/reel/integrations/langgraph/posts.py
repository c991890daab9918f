"""The records of a thread that are queued: whoever holds the thread's lock next adds them, together with its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from reel.integrations.langgraph.records import record


class Post:
    """A record queued for being added, together with others.

    Args:
        data: the content of the record.
        left: returns the content that is left of it if the thread is deleted before it is added.
    """

    __slots__ = ("data", "is_added", "left", "record")

    def __init__(self, data: Mapping[str, Any], left: Callable[[], Mapping[str, Any]] | None = None) -> None:
        self.data = data
        self.left = left
        self.record = record(data)
        self.is_added = False

    def leave(self) -> None:
        """Keep only what is left of it after the thread was deleted."""
        if self.left is not None:
            self.data, self.left = self.left(), None
            self.record = record(self.data)


class Posts:
    """The queue. Threads of the process add to it without the lock of the thread of the graph."""

    def __init__(self) -> None:
        self._posts: list[Post] = []

    def add(self, data: Mapping[str, Any], left: Callable[[], Mapping[str, Any]] | None = None) -> Post:
        """Queue a record; see :class:`Post`."""
        made = Post(data, left)
        self._posts.append(made)
        return made

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
