"""The groups of signatures: they only save reading texts, whatever is in them yet."""

import os
import random
import sqlite3
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from reeld.search import candidates, finding, grouping, index, index_file, likely_texts, trigrams, volumes
from reeld.search.candidates import Candidates
from reeld.search.criteria import Criteria
from reeld.search.finding import OneSearch
from reeld.search.literals import Either, Every, Needed, Run
from reeld.search.patterns import compiled
from reeld.search.query import parse_query
from reeld.search.signatures import Signature, bit_of
from reeld.search.trigrams import Kind
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
    found = finding.find(said.connection, OneSearch(criteria(query)), 0, ALL, 100)
    return [said.events.index(event) for event in found.events]


def by_time(said: Index, query: str) -> list[int]:
    """Return the places of the texts that match, in the order in which they were said."""
    found = [
        place
        for volume in volumes.down_from(said.connection, ALL)
        for place in finding.latest(
            said.connection, OneSearch(criteria(query)), volume, Place(ALL, ALL), limit=100
        ).places
    ]
    return [said.events.index(place.event) for place in sorted(found, reverse=True)]


def make_groups(said: Index) -> None:
    """Make all groups."""
    while index.make_groups(said.connection):
        pass


def grouped(said: Index) -> list[int]:
    """Return the places of the texts in groups, in those of each volume as often as a group has them."""
    rows = said.connection.execute("SELECT number FROM groups WHERE size > 0 ORDER BY volume, number").fetchall()
    events = [event for (number,) in rows for event in trigrams.events_of(said.connection, number)]
    return [said.events.index(event) for event in events if event]


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
    """Groups are made of a few texts, and there is time for all."""
    monkeypatch.setattr(grouping, "_CHARACTERS", 20)
    monkeypatch.setattr(finding, "_SECONDS", PATIENCE)


@pytest.mark.parametrize("apart", [1, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 1 << 60])
@pytest.mark.parametrize("first", [1, 2, 1 << 33])
def test_events_that_are_far_apart(first: int, apart: int) -> None:
    """A group has events of any ids."""
    events = array("q", [first, first + apart, *[0] * 6])
    with closing(sqlite3.connect(":memory:")) as connection:
        trigrams.create(connection)
        trigrams.insert(connection, 1, first + apart, Kind(2, is_whole=True), events, [b"\xc0", b"\x40"])
        (group,) = trigrams.groups_of(connection, 1)

        assert events == trigrams.events_of(connection, group.number)
        assert [first + apart] == list(trigrams.events_with(connection, group.number, 0x40))


def test_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups have the next events of a volume, if these are enough; the last ones only in a volume that is full."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    with filled(tmp_path, *["twelve chars"] * 7) as said:
        assert 7 == trigrams.lacking(said.connection)
        make_groups(said)
        assert 1 == trigrams.lacking(said.connection)
        assert [0, 1, 2, 3, 4, 5] == grouped(said)

        said.events.append(said.rows.event(said.agent, content="twelve chars"))
        said.fill()
        make_groups(said)
        assert [0, 1, 2, 3, 4, 5, 6, 7] == grouped(said)
        assert 0 == trigrams.lacking(said.connection)
        assert not index.make_groups(said.connection)


def groups(said: Index) -> list[tuple[int, int, int]]:
    """Return the size of each group, whether its texts are whole, and how many pieces it has."""
    query = "SELECT size, is_whole, length(events) / 4 FROM groups ORDER BY volume, is_whole DESC, size, number"
    return said.connection.execute(query).fetchall()


def rows_of_bits(said: Index) -> int:
    """Return how many rows the groups have."""
    return int(said.connection.execute("SELECT count(*) FROM bits").fetchone()[0])


def test_groups_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full volume has few groups of each kind; those of before are gone, and nothing else is found."""
    monkeypatch.setattr(volumes, "_EVENTS", 40)
    monkeypatch.setattr(grouping, "_CHARACTERS", 200)
    monkeypatch.setattr(grouping, "_PIECES", 32)
    texts = ["twelve chars", "a tape", *["a tape deck with a reel"] * 17, " ".join(map(str, range(800)))] * 2
    with filled(tmp_path, *texts, "x") as said:
        before = hits(said)
        number = volumes.down_from(said.connection, ALL)[1].number
        make_groups(said)
        together = groups(said)
        assert [(64, 1, 32), (64, 1, 32)] == [group for group in together if group[1]]
        assert sum(size for size, _, _ in together) == rows_of_bits(said)
        assert before == hits(said)

        trigrams.forget(said.connection, number)
        assert ([], 0) == (groups(said), rows_of_bits(said))


def test_few_pieces_of_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few pieces take as many bits as larger ones, but for those of longer texts, and nothing else is found."""
    monkeypatch.setattr(volumes, "_EVENTS", 20)
    monkeypatch.setattr(grouping, "_CHARACTERS", 100_000)
    texts = [
        "a tape",
        *[" ".join(map(str, range(number, 35 + 2 * number))) for number in range(18)],
        "tape deck " * 200,
    ]
    with filled(tmp_path, *texts, "x") as said:
        before = hits(said)
        make_groups(said)
        assert [(362, 1, 24), (64, 0, 8)] == groups(said)[:2]
        assert before == hits(said)

        trigrams.forget(said.connection, volumes.down_from(said.connection, ALL)[1].number)
        monkeypatch.setattr(grouping, "_FEW", 1)
        make_groups(said)
        assert [(64, 1, 8), (256, 1, 8), (362, 1, 16), (64, 0, 8)] == groups(said)[:4]
        assert before == hits(said)


def test_texts_without_letters(tmp_path: Path) -> None:
    """What is too short for a trigram is in no group, and not read again."""
    with filled(tmp_path, *["ab"] * 12) as said:
        make_groups(said)
        assert [(0, 1, 0)] == groups(said)[:1]
        assert trigrams.lacking(said.connection) < 12
        assert not index.make_groups(said.connection)
        assert [] == in_log_order(said, "has:abc")
        assert 12 == len(in_log_order(said, "has:ab"))


def test_few_events_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While there are too few words for a group, no text is read for one, however often it is tried."""
    read: list[int] = []

    def texts(after: int, last: int) -> Generator[tuple[int, str], None, None]:
        for event in range(after + 1, last + 1):
            read.append(event)
            yield event, "a few words"

    with filled(tmp_path, *["a few words"] * 300) as said:
        monkeypatch.setattr(grouping, "_CHARACTERS", 10_000)
        assert not grouping.make(said.connection, texts)
        assert ([], []) == (grouped(said), read)

        monkeypatch.setattr(grouping, "_CHARACTERS", 2_750)
        assert not grouping.make(said.connection, texts)
        assert list(range(250)) == grouped(said)
        assert 250 == len(read)


def test_few_texts_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows that may have the letters are looked at, and those in no group; of few of them a long text is read."""
    monkeypatch.setattr(likely_texts, "_SHORT", 0)
    with filled(tmp_path, "getUserName here", "and more of it", "a tape deck", "and more of it", "setUserName") as said:
        make_groups(said)
        looked_at: list[int] = []
        read: list[int] = []
        rows, texts = likely_texts._rows, likely_texts._read

        def noted(connection: sqlite3.Connection, raw: Condition, events: Sequence[int]) -> dict[int, str | None]:
            looked_at.extend(events)
            return rows(connection, raw, events)

        def noted_too(connection: sqlite3.Connection, events: Sequence[int]) -> dict[int, str]:
            read.extend(events)
            return texts(connection, events)

        monkeypatch.setattr(likely_texts, "_rows", noted)
        monkeypatch.setattr(likely_texts, "_read", noted_too)
        assert [0] == in_log_order(said, "has:etUserName -/setu/")
        assert [said.events[at] for at in (4, 0)] == looked_at
        assert [said.events[at] for at in (4, 0)] == read
        assert [2] == by_time(said, "/tape deck.*$/")
        assert [said.events[at] for at in (2, 4)] == looked_at[2:]
        assert [said.events[2]] == read[2:]


def test_time_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is time for one step only, each is found once, whatever rows are passed over between them."""
    monkeypatch.setattr(finding, "_SECONDS", -1.0)
    monkeypatch.setattr(finding, "AT_ONCE", 2)
    with filled(tmp_path, "a tape", "a deck", "a tape", "a deck", "a deck", "a tape") as said:
        found, high = [], ALL
        while high > said.events[0]:
            some = finding.find(said.connection, OneSearch(criteria("has:tape")), 0, high, 100)
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


def hits(said: Index) -> list[list[int]]:
    """Return what each query finds, in both orders."""
    return [find(said, query) for query in QUERIES for find in (in_log_order, by_time)]


@pytest.mark.parametrize("seed", range(3))
def test_groups_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The hits are the same without groups, with them, and after something was erased, said and put into groups."""
    chance = random.Random(seed)
    monkeypatch.setattr(volumes, "_EVENTS", chance.choice((2, 5, 100)))
    with filled(tmp_path, *(" ".join(chance.choices(WORDS, k=3)) for _ in range(14))) as said:
        before = hits(said)
        make_groups(said)
        assert before == hits(said)

        changed, *gone = chance.sample(said.events, 3)
        erase(said, gone, {changed: "unheard"})
        make_groups(said)
        after = hits(said)
        for volume in volumes.down_from(said.connection, ALL):
            trigrams.forget(said.connection, volume.number)
        assert hits(said) == after
        assert before != after


def test_long_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters are found wherever they are in a long text, and so are several that are far from each other."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    chance = random.Random(1)
    letters = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=9000))
    with filled(tmp_path, letters, letters[:3000], letters[::-1], "x") as said:
        make_groups(said)
        for at in range(0, 9000, 97):
            part = letters[at : at + 45].strip()
            assert ([1] if at < 2950 else []) + [0] == in_log_order(said, f'has:"{part}"')
        assert [0] == in_log_order(said, f'has:"{letters[100:120].strip()}" has:"{letters[8000:8020].strip()}"')
        assert [1, 0] == in_log_order(said, f"/{letters[100:110].strip()}.*{letters[2900:2910].strip()}/")


LONG = " ".join(map(str, range(1000)))


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        ([], None),
        ([Run("tape")], [0, 2, 3]),
        ([Run("tape"), Run("reel")], [2]),
        ([Run("TAPE"), Run("999")], [3]),
        ([Every((Run("999"), Run("101"), Run("ta")))], [3, 4]),
        ([Either((Run("reel"), Run("999")))], [1, 2, 3, 4]),
        ([Either((Run("reel"), Run("re")))], None),
        ([Run("tape"), Run("nowhere")], []),
        ([Run("x\0y\ud800z")], None),
        ([Every(tuple(Run(f"w{number:03}w") for number in range(99))), Run("tape")], []),
    ],
)
def test_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: list[Needed], expected: list[int] | None
) -> None:
    """All that is needed must be there, or one of several things; of what is short, nothing is known."""
    monkeypatch.setattr(volumes, "_EVENTS", 5)
    with filled(tmp_path, "a tape", "a reel", "reel and tape", f"{LONG} tape", LONG, "next") as said:
        make_groups(said)
        some = Candidates(needed).of(said.connection, volumes.down_from(said.connection, ALL)[1])
        assert expected == (some and [said.events.index(event) for event in some.events])
        assert some is None or some.after == said.events[4]


def test_groups_that_are_put_together_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search reads all of the groups as they were at one moment."""
    with (
        filled(tmp_path, *["a tape deck"] * 20) as said,
        closing(sqlite3.connect(index_file.path_of(said.path), isolation_level=None)) as reader,
    ):
        index.prepare_reader(reader, said.path)
        make_groups(said)
        groups_of = trigrams.groups_of

        def and_then_forgotten(connection: sqlite3.Connection, volume: int) -> list[trigrams.Group]:
            found = groups_of(connection, volume)
            trigrams.forget(said.connection, volume)
            return found

        monkeypatch.setattr(candidates, "groups_of", and_then_forgotten)
        (volume,) = volumes.down_from(reader, ALL)
        some = Candidates([Run("tape")]).of(reader, volume)
        assert some is not None
        assert said.events == [*some.events, *range(some.after + 1, said.events[-1] + 1)]
        assert not reader.in_transaction


def test_erased_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was erased, no bit is in the file."""
    monkeypatch.setattr(grouping, "_CHARACTERS", 2000)
    chance = random.Random(1)
    texts = [f"secret {SECRET}" if chance.random() < 0.5 else "twelve chars" for _ in range(256)]
    with filled(tmp_path, *texts) as said:
        make_groups(said)
        path = index_file.path_of(said.path)
        said.connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
        (number,) = said.connection.execute("SELECT number FROM groups ORDER BY length(events) DESC").fetchone()
        bit = bit_of(Signature(SECRET).numbers[0], 64)
        query = "SELECT pieces FROM bits WHERE number = ?"
        (column,) = said.connection.execute(query, ((number << 12) + bit,)).fetchone()
        with open_descriptor(path, os.O_NOFOLLOW) as descriptor:
            assert len(column) > 10
            assert column in os.pread(descriptor, 1 << 30, 0)

            erase(said, [], {event: "secret" for event, text in zip(said.events, texts, strict=True) if SECRET in text})
            index.settle(said.connection, path, descriptor)
            make_groups(said)
            said.connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()

            assert trigrams.lacking(said.connection) < 100
            assert 64 * len(groups(said)) == rows_of_bits(said)
            assert column not in os.pread(descriptor, 1 << 30, 0)
