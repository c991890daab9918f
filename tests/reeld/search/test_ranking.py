"""The best hits: which events are found though they lack words, and in which order."""

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeld.search import finding, index, index_file, lengths, planning, ranking, vocabulary, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Look, Paths, RankedHits
from reeld.search.lengths import Known
from reeld.search.planning import Plan
from reeld.search.query import parse_query
from reeld.search.ranking import Asked, Found
from reeld.search.scores import Freshness, Ranked
from reeld.store.schema import prepare as prepare_log
from tests.patience import PATIENCE
from tests.reeld.store.rows import Rows

ALL = 1 << 60
WORDS = ("tape", "deck", "tapes", "getUserName", "user", "name", "修复认证", "rare", "the")


@pytest.fixture(autouse=True, scope="module")
def _time_for_all() -> Iterator[None]:
    """Look through all volumes, also on a busy machine, unless a test is about the limit."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (ranking, finding):
            patch.setattr(module, "_SECONDS", PATIENCE)
        yield


class Index:
    """An index of a log that is filled by hand.

    Args:
        directory: where its files are.
        texts: what is said.
    """

    def __init__(self, directory: Path, texts: Sequence[str]) -> None:
        self.path = str(directory / "reel.db")
        self.log = sqlite3.connect(self.path, isolation_level=None)
        prepare_log(self.log, self.path)
        self.rows = Rows(self.log)
        self.agent = self.rows.agent(1)
        self.events = [self.rows.event(self.agent, content=text) for text in texts]
        uri = f"file:{index_file.path_of(self.path)}?mode=rwc"
        self.connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        index.prepare(self.connection, self.path)
        self.fill()

    def fill(self) -> None:
        """Add what was said."""
        while index.fill(self.connection).more:
            pass

    def plan(self, query: str) -> Plan:
        """Return how a query is searched for."""
        return planning.plan(self.connection, parse_query(query))

    def ranked(self, query: str, fresh: Freshness | None = None, **filters: object) -> list[Ranked]:
        """Return the best events for a query."""
        wanted = Criteria(parse_query(query))._replace(**filters)  # type: ignore[arg-type]
        return best_of(self.connection, wanted, fresh, 100)

    def best(self, query: str, **filters: object) -> list[int]:
        """Return the places of the best texts for a query, from 0."""
        return [self.events.index(each.event) for each in self.ranked(query, **filters)]  # type: ignore[arg-type]

    def close(self) -> None:
        """Close both files."""
        self.connection.close()
        self.log.close()


def best_of(connection: sqlite3.Connection, wanted: Criteria, fresh: Freshness | None, limit: int) -> list[Ranked]:
    """Return the best events, those of all parts, the best first."""
    plan, every = planning.plan(connection, wanted.query), volumes.down_from(connection, ALL)
    found: list[Ranked] = []
    for part in plan.parts:
        asked = Asked(plan, part, wanted.condition, ALL, fresh, limit, Known())
        some, best = Found(planning.MOST_EVENTS), None
        while best is None:  # a search goes on after a pause
            some, best = ranking.best_of(connection, every, asked, some, ends=math.inf)
        found += best
    return found[:limit]


Make: TypeAlias = Callable[..., Index]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Make]:
    """Return a function that makes an index of texts."""
    with ExitStack() as stack:
        yield lambda *texts: stack.enter_context(closing(Index(tmp_path, texts)))


def test_a_word_may_be_missing(made: Make) -> None:
    """What has the rare words comes first, and what has only one is found too."""
    said = made("about the deck", "a tape deck", "tape or nothing", "cards", *["deck"] * 5)

    assert [1, 2] == said.best("tape deck")[:2]
    assert 3 not in said.best("tape deck")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("+tape deck", {0, 1}),
        ('"tape deck"', {0}),
        ("tape OR cards", {0, 1, 3}),
        ("deck tape OR cards", {0, 1, 3}),
        ("deck -tape", {2}),
        ("car*", {3}),
        ("+tape +cards", set()),
        ("+unknown tape", set()),
    ],
)
def test_what_is_exact(made: Make, query: str, expected: set[int]) -> None:
    """A plus, quotes, ``OR``, a minus and a star mean the same as where every word must match."""
    said = made("tape deck", "a deck, a tape", "deck", "cards")

    assert expected == set(said.best(query))


def test_what_a_hit_lacks(made: Make) -> None:
    """A hit tells which of the typed words it lacks; a stop word is none of them."""
    said = made("tape", "tape deck")
    plan = said.plan("where is the tape deck pagerank")

    assert [["pagerank"], ["deck", "pagerank"]] == [
        plan.lacking(each.found, ()) for each in said.ranked("where is the tape deck pagerank")
    ]


def test_only_stop_words(made: Make) -> None:
    """A query of nothing but stop words searches for them."""
    said = made("who are you", "tape")

    assert [0] == said.best("who are you")


def test_a_word_that_nobody_used(made: Make) -> None:
    """An unknown word stands for the nearest known one, and the plan says so."""
    said = made("the validator failed", "a tape")

    assert {"validater": ["validator"]} == said.plan("validater tape").instead
    assert {0, 1} == set(said.best("validater tape"))
    assert {} == said.plan("xylophone").instead
    assert [] == said.best("xylophone")


def test_few_guesses(made: Make) -> None:
    """Of a query with very many unknown words, only the first are looked for among the known ones."""
    said = made("validator")

    assert {} == said.plan(f"{'unknown ' * 12}validater").instead
    assert ["validator"] == said.plan(f"{'unknown ' * 11}validater").instead["validater"]


def test_inflections(made: Make) -> None:
    """A rare word finds others with the same beginning."""
    said = made("переводы на сервере", "validated it", "он запускается")

    assert [0] == said.best("переводах")
    assert [1] == said.best("validate")
    assert [2] == said.best("запускаем")  # too far for a typing mistake


@pytest.mark.parametrize("query", ["getuser", "username", "user name", "getUserName", "get_user_name", "get-user-name"])
def test_names_in_any_spelling(made: Make, query: str) -> None:
    """The parts of a name find it, together and alone, however it is written."""
    said = made("call getUserName()", "call get_user_name()", "call get-user-name", "cards")

    assert {0, 1, 2} == set(said.best(query))


def test_a_word_of_several_parts(made: Make) -> None:
    """A path is found as a whole; its parts find nothing beside it, but say which of other hits comes first."""
    said = made("see src/tape/deck.py", "src or deck", "src or card", "deck")

    assert [0] == said.best("tape/deck.py")
    assert [0, 1, 2] == said.best("src tape/deck.py")


@pytest.mark.parametrize("text", ["请看修复认证模块的说明", "วิธีแก้ไขปัญหาเครือข่าย"])
def test_scripts_without_spaces(made: Make, text: str) -> None:
    """A run of characters is found by its pairs, though it is nowhere as a whole."""
    said = made(text, "cards", text[::-1])

    assert [0] == said.best(f"{text[:5]}x{text[6:]}")[:1]


def test_the_recent(made: Make) -> None:
    """Of two that are as good, the newer one is better by at most a tenth; a better one stays better."""
    said = made()
    for days, text in ((0, "tape x"), (300, "tape x"), (300, "tape tape x")):
        said.events.append(said.rows.event(said.agent, content=text, sent=(1000 - days) * 86_400_000))
    said.fill()
    now = Freshness(1000 * 86_400_000)

    assert [2, 0, 1] == said.best("tape", fresh=now)
    assert [2, 1, 0] == said.best("tape")  # as good, and added later


TAPE = {"type": "text", "text": "tape"}
CALL = {"type": "tool_call", "id": "1", "name": "tape", "arguments": "{}"}
RESULT = {"type": "tool_result", "tool_call_id": "1", "content": "tape tool result tool call", "is_error": False}


def test_talk(made: Make) -> None:
    """A message without calls counts a quarter more than others, which come first if they have more of the words."""
    said = made("tape")
    for kind, *blocks in (
        ("user", TAPE, {"type": "text", "text": '"tool_result", "tool_call"'}),
        ("assistant", TAPE),
        ("assistant", CALL),
        ("tool_result", RESULT),
        ("tool_result", {**RESULT, "content": "tape " * 12}),
    ):
        said.events.append(said.rows.event(said.agent, kind, "", json.dumps({"blocks": blocks})))
    said.fill()
    scores = {said.events.index(each.event): each.score for each in said.ranked("tape")}

    assert [5, 2, 0] == said.best("tape")[:3]
    assert scores[0] == scores[2] == pytest.approx(1.25 * scores[3], abs=1e-5)
    assert scores[1] == pytest.approx(1.25 * scores[4], abs=1e-5)


def test_filters(made: Make) -> None:
    """Facts of an event narrow a ranked search down."""
    said = made("tape", "tape deck")
    other = said.rows.event(said.rows.agent(2), "note", content="tape", sent=5)
    said.events.append(other)
    said.fill()

    assert [2] == said.best("tape", agents=frozenset({2}))
    assert [2] == said.best("tape", kinds=frozenset({"note"}))
    assert [2] == said.best("tape", until=6)
    assert {0, 1} == set(said.best("tape", since=6))


@settings(max_examples=12)
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=24),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    erased=st.sets(st.integers(0, 23)),
)
def test_volumes_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, erased: set[int]
) -> None:
    """The order and the scores are the same in one volume and in many, before and after something is erased."""
    found = []
    for size in (1 << 15, 1):
        with pytest.MonkeyPatch.context() as patch, closing(Index(tmp_path_factory.mktemp("index"), [])) as said:
            patch.setattr(volumes, "_EVENTS", size)
            for text in texts:
                said.events.append(said.rows.event(said.agent, content=text))
                said.fill()
            before = said.ranked(query)
            gone = sorted(said.events[number] for number in erased if number < len(texts))
            index.replace(said.connection, gone, {}, index_file.path_of(said.path))
            found.append((before, said.ranked(query), vocabulary_of(said.connection)))
            assert {each.event for each in said.ranked(query)}.isdisjoint(gone)

    assert found[0] == found[1]


@settings(max_examples=12)
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=24),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    limit=st.integers(1, 8),
    fresh=st.sampled_from((None, Freshness(10**6))),
)
def test_what_cannot_be_among_the_best(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, limit: int, fresh: Freshness | None
) -> None:
    """To leave out what cannot be among so many of the best changes neither them nor their scores."""
    with pytest.MonkeyPatch.context() as patch, closing(Index(tmp_path_factory.mktemp("index"), [])) as said:
        patch.setattr(volumes, "_EVENTS", 3)
        for at, text in enumerate(texts):
            said.events.append(said.rows.event(said.agent, content=text, sent=at * 10**5))
            said.fill()

        assert said.ranked(query, fresh)[:limit] == best_of(said.connection, Criteria(parse_query(query)), fresh, limit)


@pytest.mark.parametrize("fresh", [None, Freshness(10**6)])
def test_the_best_is_the_oldest(made: Make, monkeypatch: pytest.MonkeyPatch, fresh: Freshness | None) -> None:
    """An event in an old volume is found though it is hardly better than those that were found before."""
    monkeypatch.setattr(volumes, "_EVENTS", 1)
    said = made()
    for text in ("tape", "tape deck", " ".join(["cards"] * 99)):
        said.events.append(said.rows.event(said.agent, content=text, sent=10**6))
        said.fill()
    found = best_of(said.connection, Criteria(parse_query("tape")), fresh, 1)

    assert said.events[:1] == [each.event for each in found]


# Words of which some are counted: a hash is not, nor a long number, nor what is as long as encoded data.
_COUNTED_OR_NOT = ("sha256", "2026", "3f2a9c1b", "20261128", f"{'x' * 40}1234", "x" * 41, "٣٤٥٦٧", "٣a", "\x80kuser")


@given(
    texts=st.lists(st.text(max_size=30) | st.sampled_from(_COUNTED_OR_NOT), min_size=1, max_size=8),
    changed=st.dictionaries(st.integers(0, 7), st.text(max_size=30)),
    erased=st.sets(st.integers(0, 7)),
    size=st.sampled_from((1, 3, 8)),
)
@settings(max_examples=12)
def test_vocabulary_counts(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], changed: dict[int, str], erased: set[int], size: int
) -> None:
    """The vocabulary says what the volumes have, full or not, whatever was redacted and purged."""
    with pytest.MonkeyPatch.context() as patch, closing(Index(tmp_path_factory.mktemp("index"), [])) as said:
        patch.setattr(volumes, "_EVENTS", size)
        for text in texts:
            said.events.append(said.rows.event(said.agent, content=text.replace("\0", "")))
            said.fill()
        gone = sorted(said.events[number] for number in erased if number < len(texts))
        instead = {
            said.events[number]: ("user", text.replace("\0", ""), None)
            for number, text in changed.items()
            if number < len(texts) and number in erased
        }
        index.replace(said.connection, [event for event in gone if event not in instead], instead, said.path)

        assert words_of_volumes(said.connection) == vocabulary_of(said.connection)
        assert bytes_of_facts(said.connection) == bytes_of_lengths(said.connection)
        assert said.connection.execute("SELECT count(*), coalesce(sum(length), 0) FROM facts").fetchone() == (
            said.connection.execute("SELECT events, words FROM totals").fetchone()
        )


def bytes_of_facts(connection: sqlite3.Connection) -> dict[int, int]:
    """Return what the table of lengths should say of all events that have words."""
    facts = connection.execute("SELECT event, length, kind < 2 FROM facts")  # no message here has a call
    found = {event: lengths.rounded(words) | talk << 7 for event, words, talk in facts}
    return {event: byte for event, byte in found.items() if byte}


def bytes_of_lengths(connection: sqlite3.Connection) -> dict[int, int]:
    """Return all that the table of lengths says, but for events that are no talk and have no words."""
    blocks = connection.execute("SELECT block, lengths FROM lengths WHERE block >= 0")
    return {block * 1024 + at: byte for block, some in blocks for at, byte in enumerate(some) if byte}


def vocabulary_of(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the words that are counted and how many events have them, as a search sees them."""
    return dict(connection.execute("SELECT word, sum(events) FROM vocabulary GROUP BY word"))


def words_of_volumes(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the words that are counted and how many events have them, as FTS5 says."""
    counts: dict[str, int] = {}
    for volume in volumes.down_from(connection, ALL):
        for word, events in volumes.words_of(connection, volume).items():
            if vocabulary.is_counted(word) and not word.startswith(vocabulary.OWN):
                counts[word] = counts.get(word, 0) + events
    return counts


# Of what hostile queries consist.
_PIECES = (
    '"',
    "-",
    "+",
    "*",
    "OR",
    "NOT",
    "(",
    ")",
    ":",
    "^",
    "'",
    "\0",
    "修",
    "é",
    "aB_c-d",
    "tape",
    "role:",
    "{",
    "NEAR",
    "\\",
)


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of a few texts."""
    with closing(Index(tmp_path_factory.mktemp("index"), ["a tape deck", "getUserName 修复", "é"])) as opened:
        yield opened


@given(query=st.text() | st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), max_size=30).map("".join))
def test_every_query_is_answered(little: Index, query: str) -> None:
    """No query is an error, and what it finds can be shown."""
    found, plan = little.ranked(query), little.plan(query)
    look = Look(plan.wanted, ranked=RankedHits({each.event: each for each in found}, plan))
    shown = finding.shown(little.connection, look, Paths(), [each.event for each in found]).hits

    assert [each.event for each in found] == [hit["id"] for hit in shown]
    assert all(set(hit.get("without", ())) <= set(plan.typed) for hit in shown)


@pytest.mark.parametrize(
    "query",
    [
        "tape " * 10_000,
        "x" * 50_000,
        "a.b" * 17_000,
        '"' * 50_000,
        "修复" * 25_000,
        "ab* " * 12_500,
        "+a " * 17_000,
        "aB" * 25_000,
    ],
    ids=["words", "one word", "parts", "quotes", "characters", "prefixes", "exact", "camels"],
)
def test_long_queries(little: Index, query: str) -> None:
    """A query of 50 kB is answered as any other is; only so many words of it count."""
    plan = little.plan(query)

    assert len(plan.sought) <= 16
    little.ranked(query)
