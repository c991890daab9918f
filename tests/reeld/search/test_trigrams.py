"""The blocks of trigrams: they only save reading texts, whatever is in them yet."""

import os
import random
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reeld.search import finding, index, trigrams, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Paths
from reeld.search.patterns import compiled
from reeld.search.query import parse_query
from reeld.search.volumes import Condition, Place
from reeld.store.sweep import open_descriptor
from tests.patience import PATIENCE
from tests.reeld.search.test_ranking import ALL, Index

# Of letters that are in nothing else, so that a trigram of them can be looked for in a file.
SECRET = "\U000103a0\U000103a1\U000103a2\U000103a3"


def criteria(query: str) -> Criteria:
    """Return the criteria of a query with patterns."""
    parsed = parse_query(query)
    return Criteria(parsed, patterns=compiled(parsed.patterns))


def in_log_order(said: Index, query: str) -> list[int]:
    """Return the places of the texts that match, the last one first."""
    found = finding.find(said.connection, criteria(query), Paths(), 0, ALL, 100)
    return [said.events.index(event) for event in found.events]


def by_time(said: Index, query: str) -> list[int]:
    """Return the places of the texts that match, in the order in which they were said."""
    found = [
        place
        for volume in volumes.down_from(said.connection, ALL)
        for place in finding.latest(
            said.connection, criteria(query), Paths(), volume, Place(ALL, ALL), limit=100
        ).places
    ]
    return [said.events.index(place.event) for place in sorted(found, reverse=True)]


def make_blocks(said: Index) -> None:
    """Make all blocks."""
    while index.make_blocks(said.connection):
        pass


def blocks(said: Index) -> list[tuple[int, int]]:
    """Return the places of the first and last texts in each block."""
    rows = said.connection.execute("SELECT first, last FROM blocks ORDER BY first").fetchall()
    return [(said.events.index(first), said.events.index(last)) for first, last in rows]


def erase(said: Index, gone: list[int], changed: dict[int, str]) -> None:
    """Remove events, and change the texts of others, in the index and then in the log."""
    instead = {event: ("user", text, None) for event, text in changed.items()}
    index.replace(said.connection, sorted(gone), instead, said.path)
    append_only_no_more(said.log)
    said.log.executemany("DELETE FROM events WHERE id = ?", ((event,) for event in gone))
    said.log.executemany(
        "UPDATE events SET content = ? WHERE id = ?", ((text, event) for event, text in changed.items())
    )


def append_only_no_more(log: sqlite3.Connection) -> None:
    """Let the events of a log be changed."""
    for trigger in ("events_are_never_changed", "events_are_never_deleted"):
        log.execute(f"DROP TRIGGER IF EXISTS {trigger}")


@contextmanager
def filled(directory: Path, *texts: str) -> Iterator[Index]:
    """Fill an index with texts that come one after the other."""
    with closing(Index(directory, [])) as said:
        for at, text in enumerate(texts):
            said.events.append(said.rows.event(said.agent, content=text, sent=1000 - at))
            said.fill()
        yield said


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks have a few texts, and there is time for all."""
    monkeypatch.setattr(trigrams, "_CHARACTERS", 20)
    monkeypatch.setattr(finding, "_SECONDS", PATIENCE)


def test_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block has the next events of a volume; a short one only ends a volume that is full."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    with filled(tmp_path, *["twelve chars"] * 7) as said:
        assert 7 == trigrams.lacking(said.connection)
        make_blocks(said)
        assert 1 == trigrams.lacking(said.connection)
        assert [(0, 1), (2, 2), (3, 4), (5, 5)] == blocks(said)

        said.events.append(said.rows.event(said.agent, content="twelve chars"))
        said.fill()
        make_blocks(said)
        assert [(0, 1), (2, 2), (3, 4), (5, 5), (6, 7)] == blocks(said)
        assert 0 == trigrams.lacking(said.connection)
        assert not index.make_blocks(said.connection)


def test_few_events_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While there are too few words for a block, no text is read for one, however often it is tried."""
    read: list[int] = []

    def texts(after: int, last: int) -> Generator[tuple[int, str], None, None]:
        for event in range(after + 1, last + 1):
            read.append(event)
            yield event, "a few words"

    with filled(tmp_path, *["a few words"] * 300) as said:
        monkeypatch.setattr(trigrams, "_CHARACTERS", 10_000)
        assert not trigrams.make(said.connection, texts)
        assert ([], []) == (blocks(said), read)

        monkeypatch.setattr(trigrams, "_CHARACTERS", 2_750)
        assert not trigrams.make(said.connection, texts)
        assert [(0, 249)] == blocks(said)
        assert 250 == len(read)


def test_few_texts_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows of blocks that may have the letters are looked at, and those in no block; of few the text is read."""
    with filled(tmp_path, "getUserName here", "and more of it", "a tape deck", "and more of it", "setUserName") as said:
        make_blocks(said)
        looked_at: list[int] = []
        read: list[int] = []
        likely, texts = finding._likely, finding._texts

        def noted(connection: sqlite3.Connection, raw: Condition, events: Sequence[int]) -> list[int]:
            looked_at.extend(events)
            return likely(connection, raw, events)

        def noted_too(connection: sqlite3.Connection, events: Sequence[int]) -> dict[int, str]:
            read.extend(events)
            return texts(connection, events)

        monkeypatch.setattr(finding, "_likely", noted)
        monkeypatch.setattr(finding, "_texts", noted_too)
        assert [0] == in_log_order(said, "has:etUserName -/setu/")
        assert [said.events[at] for at in (4, 1, 0)] == looked_at
        assert [said.events[at] for at in (4, 0)] == read
        assert [2] == by_time(said, "/tape.*k$/")
        assert [said.events[at] for at in (2, 3, 4)] == looked_at[3:]
        assert [said.events[2]] == read[2:]


def test_time_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is time for one text only, each is found once, whatever rows are passed over between them."""
    monkeypatch.setattr(finding, "_SECONDS", -1.0)
    with filled(tmp_path, "a tape", "a deck", "a tape", "a deck", "a deck", "a tape") as said:
        found, high = [], ALL
        while high > said.events[0]:
            some = finding.find(said.connection, criteria("has:tape"), Paths(), 0, high, 100)
            found += [said.events.index(event) for event in some.events]
            high = some.reached

    assert [5, 2, 0] == found


WORDS = ("getUserName", "tape deck", 'a "b" c', "STRASSE", "Straße", "修复认证模块", "x", "", "tape")
QUERIES = (
    "has:erna",
    "has:e",
    'has:"\\"b"',
    "has:straße",
    "has:STRASSE",
    "/tape|user/ -has:deck",
    "has:认证模",
    "user has:tape",
    "/t.*e/ has:eck",
    "-has:tape",
    'has:"a"',
    "has:unheard",
)


@pytest.mark.parametrize("seed", range(3))
def test_blocks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The hits are the same without blocks, with them, and after something was erased, said and put into blocks."""
    chance = random.Random(seed)
    monkeypatch.setattr(volumes, "_EVENTS", chance.choice((2, 5, 100)))
    with filled(tmp_path, *(" ".join(chance.choices(WORDS, k=3)) for _ in range(14))) as said:

        def hits() -> list[list[int]]:
            return [find(said, query) for query in QUERIES for find in (in_log_order, by_time)]

        before = hits()
        make_blocks(said)
        assert before == hits()

        changed, *gone = chance.sample(said.events, 3)
        erase(said, gone, {changed: "unheard"})
        make_blocks(said)
        after = hits()
        for volume in volumes.down_from(said.connection, ALL):
            trigrams.forget(said.connection, volume.number)
        assert hits() == after
        assert before != after


def test_erased_letters(tmp_path: Path) -> None:
    """Trigrams of what was erased are not in the file."""
    with filled(tmp_path, "twelve chars", f"secret {SECRET}", "twelve chars") as said:
        make_blocks(said)
        path = index.path_of(said.path)
        said.connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
        with open_descriptor(path, os.O_NOFOLLOW) as descriptor:
            assert SECRET[1:3].encode() in os.pread(descriptor, 1 << 30, 0)

            erase(said, [], {said.events[1]: "secret"})
            index.settle(said.connection, path, descriptor)
            make_blocks(said)
            said.connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()

            assert SECRET[1:3].encode() not in os.pread(descriptor, 1 << 30, 0)


def test_an_index_of_before(tmp_path: Path) -> None:
    """An index that has no blocks is used as it is, and gets them."""
    with filled(tmp_path, "twelve chars", "a tape deck") as said:
        said.connection.execute("DROP TABLE blocks")
        said.connection.execute("DETACH log")
        index.prepare(said.connection, said.path)

        assert [1] == in_log_order(said, "has:ape")
        make_blocks(said)
        assert [(0, 1)] == blocks(said)
