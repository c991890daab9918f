"""Reads the next events of the log, a batch at a time, as the index enters them."""

import sqlite3
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any

from reel.base.batches import some_at_a_time
from reeld.search.attached_log import log_of, reading_the_log
from reeld.search.entries import documents_of, message_of
from reeld.search.touched import Message
from reeld.search.volumes import Document

# Events, characters and seconds of one batch. Each commit leaves a segment that FTS5 has to merge, so batches of
# some hundred events take several times as long; with longer ones, new events would become searchable too late.
_EVENTS = 8000
_CHARACTERS = 4 << 20
_SECONDS = 0.2
# The most events that one statement reads.
_AT_ONCE = 64

# The columns of an event, as :data:`reeld.search.entries.Row` has them.
EVENT = "id, agent, kind, content, data_json, coalesce(sent, time)"
_NEW = f"SELECT {EVENT}, checksum FROM log.events WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608 - columns
_MISSING = f"SELECT {EVENT} FROM log.events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"  # noqa: S608 - columns


class NextEvents:
    """The next events of the log.

    Args:
        connection: to the index.
        event: the newest event that is in the index.
        checksum: its checksum.
    """

    def __init__(self, connection: sqlite3.Connection, event: int, checksum: int) -> None:
        self._connection = connection
        self._ends = time.monotonic() + _SECONDS
        self.event = event
        self.checksum = checksum
        # The messages that may have a call or a result.
        self.touching: list[Message] = []
        # Whether there may be more events.
        self.is_full = False

    def documents(self) -> list[Document]:
        """Return the events that have text; invalid bytes are replaced with U+FFFD.

        Raises:
            LogError: the log cannot be read.
        """
        found: list[Document] = []
        number = characters = 0
        with closing(self._some()) as parts:
            for some in parts:
                self.event, *_, self.checksum = some[-1]
                events = [row[:-1] for row in some]
                messages = [message_of(*event) for event in events]
                self.touching += filter(None, messages)
                documents = documents_of(events, [message and message.blocks for message in messages])
                found += documents
                number += len(some)
                characters += sum(len(document.words) for document in documents)
                if number >= _EVENTS or characters >= _CHARACTERS or time.monotonic() > self._ends:
                    self.is_full = True
                    break
        return found

    def _some(self) -> Generator[list[tuple[Any, ...]], None, None]:
        """Yield the next rows of the log, some at a time."""
        log = log_of(self._connection)
        if log is self._connection:
            yield from iter(self._few, [])
            return
        with reading_the_log(), closing(log.execute(_NEW, (self.event, _EVENTS))) as rows:
            yield from some_at_a_time(rows, _size_of)  # a server may be far away, so it is asked once

    def _few(self) -> list[tuple[Any, ...]]:
        """Return the next few rows of a file: until a statement has ended, the WAL cannot be begun again."""
        with reading_the_log(), closing(self._connection.execute(_NEW, (self.event, _AT_ONCE))) as rows:
            return next(some_at_a_time(rows, _size_of), [])


def _size_of(row: tuple[Any, ...]) -> int:
    """Return how many characters the texts of an event have."""
    content, data = row[3:5]
    return len(content or "") + len(data or "")


def messages_between(connection: sqlite3.Connection, after: int, last: int) -> tuple[list[Message], int]:
    """Return the next messages that may have a call or a result, behind an event and up to another one.

    Returns:
        the messages of a batch, and the event up to which they are all.

    Raises:
        LogError: the log cannot be read.
    """
    ends = time.monotonic() + _SECONDS
    found: list[Message] = []
    with reading_the_log(), closing(log_of(connection).execute(_MISSING, (after, last, _EVENTS))) as rows:
        for number, row in enumerate(rows, 1):
            if (message := message_of(*row)) is not None:
                found.append(message)
            if number == _EVENTS or (not number % 16 and time.monotonic() > ends):
                return found, row[0]
    return found, last
