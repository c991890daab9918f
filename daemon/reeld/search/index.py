"""The index of all texts: a separate file beside the database, derived from the log, so it may be deleted.

It has the words of all events (:mod:`reeld.search.volumes`), how many events have each
(:mod:`reeld.search.vocabulary`), and what calls did (:mod:`reeld.search.touched`), but no copy of the texts: the text
of a hit is read from the log, which is attached read-only.

Events are indexed in the order of their ids. The position is written in the same transaction as the words. So the index
is complete up to that position, even if the process was killed.

What reads events is imported when there are some: a daemon at rest needs none of it.
"""
# ruff: noqa: PLC0415 - as above

import sqlite3
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

from reel.base.errors import Storage
from reel.base.light_typing import NamedTuple
from reel.touches.describing import Described
from reeld.search import attached_log, touched, trigrams, vocabulary, volumes
from reeld.search.attached_log import WRITING, OpenLog, attach, log_of, reading_the_log
from reeld.search.index_file import APPLICATION_ID, application_of
from reeld.search.texts import Text, text_of
from reeld.search.volumes import Document, Volume
from reeld.store.connection import transaction
from reeld.store.room import require_room
from reeld.store.sweep import clean

# A new number forces a rebuild of every index: for changes of the tables, of what counts as a word, or what is indexed.
VERSION = 11
# The room that an erasure needs in a volume, which is written again: in the WAL, and beside the old one.
_ROOM = 64 << 20
# Pages of the WAL that are copied into the file at once, as of the log: what the disk has to write for that, a commit
# of the log may wait for.
_COPIED = 250

_TABLES = """
CREATE TABLE progress (event INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
INSERT INTO progress VALUES (0, 0);
-- How many events are in the index, and how many words they have together.
CREATE TABLE totals (events INTEGER NOT NULL, words INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES (0, 0);
"""
_TEXTS = "SELECT id, kind, content, data_json FROM log.events WHERE id > ? AND id <= ? ORDER BY id LIMIT 128"
_NO_OTHERS = Described()


class Outdated(Exception):
    """The index is of another version or of another database, or damaged; it has to be built again.

    The text of the exception follows the path of the index in a sentence.
    """


def prepare(connection: sqlite3.Connection, database: str | OpenLog, described: Described = _NO_OTHERS) -> None:
    """Set up the writing connection: create the tables, and attach the log.

    Args:
        connection: to the index.
        database: the log.
        described: the tools whose calls are known.

    Raises:
        Outdated: the index must be rebuilt.
        Storage: the file belongs to another program.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    application = application_of(connection)
    if application not in (None, APPLICATION_ID):
        raise Storage("it is not a search index of reel's; move it away")
    if application is not None and version != VERSION:
        raise Outdated("is of another version")
    connection.text_factory = _decoded
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before the file is in WAL mode
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_COPIED}")
    connection.execute("PRAGMA secure_delete = FAST")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA journal_size_limit = {16 << 20}")
    if application is None:
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
        vocabulary.create(connection)
        volumes.create(connection)
        trigrams.create(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    touched.prepare(connection, described)
    touched.know(connection, described)
    attach(connection, database)
    _cut_back(connection)


def prepare_reader(connection: sqlite3.Connection, database: str | OpenLog, described: Described = _NO_OTHERS) -> None:
    """Set up a reading connection."""
    touched.know(connection, described)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cache_size = -4096")
    connection.text_factory = _decoded
    attach(connection, database)


class _Progress(NamedTuple):
    """The position of an index: its newest event with its checksum."""

    event: int
    checksum: int


def _progress(connection: sqlite3.Connection) -> _Progress:
    return _Progress(*connection.execute("SELECT event, checksum FROM progress").fetchone() or (0, 0))


def progress(connection: sqlite3.Connection) -> int:
    """Return the id of the newest event that is in the index."""
    return _progress(connection).event


class Filled(NamedTuple):
    """How far an index is.

    Args:
        event: its newest event.
        more: whether there may be more events.
        touched: the newest event in its table of touches.
        without_trigrams: how many events are in no group of trigrams yet.
    """

    event: int
    more: bool
    touched: int
    without_trigrams: int


def _cut_back(connection: sqlite3.Connection) -> None:
    """Remove the events that a server has lost, if the log no longer has the newest event of the index.

    Raises:
        LogError: the log cannot be read.
        Outdated: the index is of another log.
    """
    event, checksum = _progress(connection)
    if not event or attached_log.checksum_of(connection, event) == checksum:
        return
    survivor = attached_log.survivor(connection, event)
    if survivor is None:
        raise Outdated("is of another database")
    with transaction(connection):
        # FTS5 finds what to delete by its words, which are gone. So whole volumes are read again.
        emptied = volumes.from_event(connection, survivor)
        for volume in emptied[:-1]:  # the words of the last one are not in the table
            vocabulary.remove(connection, volumes.words_of(connection, volume))
        for volume in emptied:
            trigrams.forget(connection, volume.number)
        event, checksum = attached_log.newest(connection, volumes.cut(connection, emptied))
        connection.execute("UPDATE totals SET (events, words) = (SELECT count(*), coalesce(sum(length), 0) FROM facts)")
        connection.execute("UPDATE progress SET event = ?, checksum = ?", (event, checksum))
        touched.cut(connection, event)


def fill(connection: sqlite3.Connection) -> Filled:
    """Add the next events to the index.

    Raises:
        LogError: the log cannot be read.
        Outdated: the index is of another log.
    """
    _cut_back(connection)
    event, checksum = _progress(connection)
    with reading_the_log():
        newest = log_of(connection).execute("SELECT coalesce(max(id), 0) FROM log.events").fetchone()[0]
    if newest <= event:
        return Filled(event, False, touched.position(connection), trigrams.lacking(connection))
    volume = volumes.last(connection)
    if volume.is_full:
        with transaction(connection, WRITING):
            volumes.merge(connection, volume)
            vocabulary.settle(connection, volumes.counts_of(volume.number))
            volumes.begin(connection, volume.number + 1, event + 1)
        more = True
    else:
        event, more = _fill_next(connection, volume, event, checksum)
    return Filled(event, more, touched.position(connection), trigrams.lacking(connection))


def _fill_next(connection: sqlite3.Connection, volume: Volume, event: int, checksum: int) -> tuple[int, bool]:
    """Add a batch of events to a volume; return how far the index is, and whether there may be more events."""
    from reeld.search import entering
    from reeld.search.next_events import NextEvents

    batch = NextEvents(connection, event, checksum)
    documents = batch.documents()
    with transaction(connection, WRITING):
        volumes.insert(connection, volume, documents)
        volumes.count(connection, volume, documents)
        _count(connection, documents, [])
        if touched.position(connection) == event:
            entering.enter(connection, batch.touching)
            touched.move(connection, batch.event)
        connection.execute("UPDATE progress SET event = ?, checksum = ?", (batch.event, batch.checksum))
    return batch.event, batch.is_full


def fill_touches(connection: sqlite3.Connection) -> int:
    """Add the next events that the words have to the table of touches, which lacks them; return its position.

    Raises:
        LogError: the log cannot be read.
    """
    from reeld.search import entering
    from reeld.search.next_events import messages_between

    messages, event = messages_between(connection, touched.position(connection), progress(connection))
    with transaction(connection, WRITING):
        entering.enter(connection, messages)
        touched.move(connection, event)
    return event


def make_groups(connection: sqlite3.Connection) -> bool:
    """Make the next groups of trigrams; return whether there is more to do.

    Raises:
        LogError: the log cannot be read.
    """
    from reeld.search import grouping

    def texts(after: int, last: int) -> Generator[tuple[int, str], None, None]:
        before, event = -1, after
        while before < event:  # in parts: a statement is to read few rows of the log
            before = event
            with reading_the_log(), closing(log_of(connection).execute(_TEXTS, (event, last))) as rows:
                for event, *row in rows:
                    yield event, text_of(*row)

    return grouping.make(connection, texts)


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def _count(connection: sqlite3.Connection, inserted: Sequence[Document], removed: Sequence[Document]) -> None:
    """Keep the numbers of all events up to date with documents."""
    words = sum(document.length for document in inserted) - sum(document.length for document in removed)
    connection.execute(
        "UPDATE totals SET events = events + ?, words = words + ?", (len(inserted) - len(removed), words)
    )


def _words_of(documents: Sequence[Document]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update({word for column in document[1:4] for word in vocabulary.tokens(column)})
    return counts


def replace(connection: sqlite3.Connection, events: Sequence[int], instead: Mapping[int, Text], path: str) -> None:
    """Delete events from the index, without a trace of their words in the file; they must still be in the log.

    Args:
        events: their ids, ascending.
        instead: replacement texts of more events, by their ids.

    Raises:
        Storage: there is too little room; nothing has changed.
    """
    from reeld.search import entering
    from reeld.search.entries import documents_of, message_of
    from reeld.search.next_events import EVENT

    query = f"SELECT {EVENT} FROM log.events WHERE id = ?"  # noqa: S608 - columns
    below = progress(connection) + 1
    # An array: the garbage collector would look at a million numbers in a list, which takes 40 ms each time.
    rest = array("q", sorted([*events, *instead]) if instead else events)
    del rest[bisect_left(rest, below) :]
    log = log_of(connection)
    last = volumes.last(connection).number
    for volume in volumes.down_from(connection, below):
        first = bisect_left(rest, volume.first)
        rows = [row for event in rest[first:] if (row := log.execute(query, (event,)).fetchone()) is not None]
        del rest[first:]
        documents = documents_of(rows)
        texts = [(*row[:2], *instead[row[0]], row[5]) for row in rows if row[0] in instead]
        others = documents_of(texts)
        if documents or others:
            require_room(path, _ROOM, "nothing can be erased in it")
            with transaction(connection):
                volumes.replace(connection, volume, documents, others)
                trigrams.forget(connection, volume.number)
                messages = [message for text in texts if (message := message_of(*text)) is not None]
                entering.replace(connection, [row[0] for row in rows], messages)
                _count(connection, others, documents)
                if volume.number != last:
                    vocabulary.add(connection, _words_of(others))
                    vocabulary.remove(connection, _words_of(documents))


def settle(connection: sqlite3.Connection, path: str, descriptor: int) -> None:
    """Record the position of the index after events were changed or deleted in the log; leave no trace in the files.

    Args:
        descriptor: of the index, see :class:`reeld.store.sweep.Ground`.

    Raises:
        OSError: the file cannot be read or written.
        sqlite3.OperationalError: a reader still has an old snapshot.
        Storage: an older version made the index, so that it cannot be cleared.
    """
    with transaction(connection):
        event, checksum = attached_log.newest(connection, progress(connection))
        connection.execute("UPDATE progress SET checksum = ?, event = ?", (checksum, event))
        touched.move(connection, min(event, touched.position(connection)))
    clean(connection, path, descriptor)
