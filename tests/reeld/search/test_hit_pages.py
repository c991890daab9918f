"""The pages of the best hits of words that very many events have."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from reeld.search import finding, hit_pages, planning, ranking, volumes
from reeld.search.criteria import Criteria
from reeld.search.finding import Look
from reeld.search.hit_pages import HitPage, HitPages, Start
from reeld.search.lengths import Known
from reeld.search.patterns import compiled
from reeld.search.query import parse_query
from reeld.search.volumes import Place
from tests.patience import PATIENCE
from tests.reeld.search.test_ranking import ALL, Index

T = TypeVar("T")


class Read:
    """An index that is read where it is, as searches read it."""

    behind = 0

    def __init__(self, said: Index) -> None:
        self._said = said
        self.indexed, self.known = said.events[-1], Known()

    async def read(self, job: Callable[..., T]) -> T:
        """Run a job on its connection."""
        return job(self._said.connection)


async def best(said: Index, query: str, limit: int = 100, offset: int = 0, **filters: object) -> HitPage:
    """Return a page of the best hits."""
    wanted = Criteria(parse_query(query))._replace(**filters)  # type: ignore[arg-type]
    return await HitPages(Read(said)).best(wanted, limit, Start(None, offset, None), Look())


def places(said: Index, page: HitPage) -> list[int]:
    """Return the places of the texts of a page, from 0."""
    return [said.events.index(hit["id"]) for hit in page.hits]


def filled(directory: Path, texts: Sequence[str], kinds: Sequence[str] = ()) -> Index:
    """Return an index of texts that came one after the other."""
    said = Index(directory, [])
    for at, text in enumerate(texts):
        said.events.append(said.rows.event(said.agent, kinds[at] if kinds else "user", content=text, sent=at))
        said.fill()
    return said


TEXTS = ["tape deck", *["tape"] * 4, "deck", "tape, a deck", *["tape"] * 4]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no reason for a part of an answer."""
    monkeypatch.setattr(hit_pages, "_PATIENCE", PATIENCE)


@pytest.mark.parametrize("how", [(1, PATIENCE, 8), (1, -1.0, 0), (3, -1.0, 0), (3, -1.0, 8), (100, -1.0, 8)])
@pytest.mark.parametrize(
    ("query", "most", "expected", "is_partial"),
    [
        # The rarest word finds: what has both, and beside it the newest that have it alone.
        ("tape", 4, [10, 9, 8, 7], True),
        ("tape", 10, [10, 9, 8, 7, 4, 3, 2, 1, 0, 6], False),
        ("deck tape", 2, [0, 6, 5], False),
        ("deck tape", 1, [6, 5], True),
        ("+tape -deck", 3, [10, 9, 8], True),
    ],
)
async def test_words_of_very_many_events(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: tuple[int, float, int],
    query: str,
    most: int,
    expected: list[int],
    is_partial: bool,
) -> None:
    """The newest are ranked, those with another word first, whatever the volumes and jobs are; and the page says so."""
    size, seconds, many = how
    monkeypatch.setattr(ranking, "_SECONDS", seconds)
    monkeypatch.setattr(ranking, "_MANY", many)
    monkeypatch.setattr(volumes, "_EVENTS", size)
    monkeypatch.setattr(planning, "MOST_EVENTS", most)
    with closing(filled(tmp_path, TEXTS)) as said:
        page = await best(said, query)

        assert (expected, is_partial) == (places(said, page), page.is_partial)


async def test_old_events_of_a_frequent_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only events that pass the filters are counted, so old ones are found that are alone in that."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    monkeypatch.setattr(planning, "MOST_EVENTS", 2)
    with closing(filled(tmp_path, ["tape"] * 9, ["user", "note", *["user"] * 7])) as said:
        assert [8, 7] == places(said, await best(said, "tape"))
        assert [0, 1] == places(said, await best(said, "tape", until=2))  # a note is no talk
        assert [1] == places(said, await best(said, "tape", kinds=frozenset({"note"})))


@pytest.mark.parametrize(("query", "expected"), [("tape -deck", [0]), ("+cards tape", [1]), ('tape "a card"', [2])])
async def test_what_is_exact_in_old_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, expected: list[int]
) -> None:
    """What lacks something exact is not counted either, so old events are found that have it."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    monkeypatch.setattr(planning, "MOST_EVENTS", 2)
    texts = [
        "tape",
        "cards tape deck",
        "a card for deck and tape",
        *["tape deck"] * 9,
        *["cards"] * 10,
        *["a card"] * 3,
    ]
    with closing(filled(tmp_path, texts)) as said:
        assert expected == places(said, await best(said, query))[:1]


async def test_the_next_page_of_a_frequent_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages go on where the page before ended, over what has both words and then what has one."""
    monkeypatch.setattr(planning, "MOST_EVENTS", 2)
    with closing(filled(tmp_path, TEXTS)) as said:
        pages = [await best(said, "deck tape", 1, offset) for offset in range(3)]

        assert [[0], [6], [5]] == [places(said, page) for page in pages]
        assert [True, True, False] == [page.next is not None for page in pages]


@pytest.mark.parametrize("seconds", [PATIENCE, -1.0])
async def test_a_word_that_most_events_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """It changes no score beside two rarer ones; yet a hit that has it does not lack it, and it is marked."""
    monkeypatch.setattr(ranking, "_SECONDS", seconds)
    monkeypatch.setattr(planning, "MOST_EVENTS", 2)
    with closing(filled(tmp_path, ["cards", "cards tape", "deck cards", *["deck"] * 2, *["tape"] * 9])) as said:
        page = await best(said, "cards deck tape")
        others = await best(said, "cards deck")

        assert [hit["score"] for hit in others.hits] == [hit["score"] for hit in page.hits]
        assert [(2, ["tape"]), (0, ["deck", "tape"]), (1, ["deck"])] == [
            (said.events.index(hit["id"]), hit["without"]) for hit in page.hits
        ]
        assert [[0, 5], [6, 10]] == page.hits[-1]["matches"]


@pytest.mark.parametrize(("word", "text"), [("tape", "tapes " * 1000 + "tape"), ("\ud0c4", "\u1110\u1161\u11ab")])
async def test_a_common_word_that_is_not_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, text: str
) -> None:
    """A hit does not lack it, though it is not looked for behind many others, or is written in another way."""
    monkeypatch.setattr(planning, "MOST_EVENTS", 2)
    with closing(filled(tmp_path, ["cards", *[word] * 9, f"cards deck {text}"])) as said:
        page = await best(said, f"cards deck {word}")

        assert [(10, None)] == [(said.events.index(hit["id"]), hit.get("without")) for hit in page.hits]


@pytest.mark.parametrize("thinking", [True, False])
async def test_what_is_only_in_thinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, thinking: bool) -> None:
    """A hit that has something where it is not shown says so, and does not lack it."""
    monkeypatch.setattr(planning, "MOST_EVENTS", 2)
    blocks = [{"type": "thinking", "text": "cards"}, {"type": "text", "text": "deck tape"}]
    with closing(filled(tmp_path, [*["cards"] * 9, *["tape"] * 4])) as said:
        said.events.append(said.rows.event(said.agent, "assistant", "", json.dumps({"blocks": blocks})))
        said.fill()
        pages, look, words = HitPages(Read(said)), Look(thinking=thinking), Criteria(parse_query("cards deck tape"))
        letters = words._replace(query=parse_query("deck"), patterns=compiled(parse_query("has:ard").patterns))

        for page in (
            await pages.best(words, 1, Start(None, 0, None), look),
            await pages.latest(letters, 1, Place(ALL, 0), look),
        ):
            (hit,) = page.hits
            assert ("cards\ndeck tape" if thinking else "deck tape") == hit["snippet"]
            assert (None, not thinking) == (hit.get("without"), hit.get("thinking", False))


@pytest.mark.parametrize("seconds", [PATIENCE, -1.0])
async def test_room_for_whole_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """A page ends with the first text beyond the room, however many jobs show it, and the next one goes on there."""
    monkeypatch.setattr(finding, "_SECONDS", seconds)
    monkeypatch.setattr(finding, "ROOM", 20)
    with closing(filled(tmp_path, ["tape deck"] * 5)) as said:
        pages = HitPages(Read(said))
        first = await pages.latest(Criteria(parse_query("tape")), 10, Place(5, 0), Look(whole=True))
        event, when = map(int, str(first.next).split("."))
        second = await pages.latest(Criteria(parse_query("tape")), 10, Place(when, event), Look(whole=True))

        assert [[4, 3, 2], [1, 0]] == [places(said, page) for page in (first, second)]


async def test_too_little_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking that ends for lack of time has the newest volumes, and the page says that it is not all."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    with closing(filled(tmp_path, TEXTS)) as said:
        whole = await best(said, "tape deck")
        monkeypatch.setattr(hit_pages, "_PATIENCE", -1.0)
        monkeypatch.setattr(ranking, "_SECONDS", -1.0)
        page = await best(said, "tape deck")
        live = await best(said, "tape deck", live=True)

    assert live.is_partial
    assert 0 < len(live.hits) <= len(page.hits)
    assert not whole.is_partial
    assert page.is_partial
    assert 0 < len(page.hits) < len(whole.hits)


@pytest.mark.parametrize("most", [2, 100])
@pytest.mark.parametrize("query", ["tape", "deck tape", "tape_deck"])
async def test_too_little_time_to_find_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, most: int
) -> None:
    """A ranking ends in time also while nothing passes the filters, and the page says that it is not all."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    monkeypatch.setattr(planning, "MOST_EVENTS", most)
    with closing(filled(tmp_path, ["tape_deck", *["tape"] * 9], ["note", *["user"] * 9])) as said:
        whole = await best(said, query, kinds=frozenset({"note"}))
        monkeypatch.setattr(hit_pages, "_PATIENCE", -1.0)
        monkeypatch.setattr(ranking, "_SECONDS", -1.0)
        page = await best(said, query, kinds=frozenset({"note"}))

        assert ([0], False) == (places(said, whole), whole.is_partial)
        assert ([], True) == (places(said, page), page.is_partial)


async def test_too_little_time_for_a_whole_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a word find something only if it is known that nothing has the whole word."""
    monkeypatch.setattr(volumes, "_EVENTS", 3)
    monkeypatch.setattr(hit_pages, "_PATIENCE", -1.0)
    monkeypatch.setattr(ranking, "_SECONDS", -1.0)
    with closing(filled(tmp_path, ["tape_deck", *["tape"] * 9])) as said:
        page = await best(said, "tape_deck")

        assert ([], True) == (places(said, page), page.is_partial)


async def test_what_one_search_reads_of_the_lengths_the_next_one_has(tmp_path: Path) -> None:
    """Each search is of its own pages, but what does not change is read once."""
    counts: list[int] = []
    with closing(Index(tmp_path, ["tape deck", *["filler"] * 1100])) as said:
        statements: list[str] = []
        said.connection.set_trace_callback(statements.append)
        index = Read(said)
        for _ in range(2):
            await HitPages(index).best(Criteria(parse_query("tape")), 10, Start(None, 0, None), Look())
            counts.append(sum("lengths FROM lengths" in each for each in statements))
            statements.clear()

    assert [2, 1] == counts  # the state of the table, and a block
