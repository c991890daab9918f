"""The index of a file and that of a log on a server: the same hits, in the same order, for any query."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from reel.base.errors import InvalidParams
from reeld.core.events import Event
from reeld.search import edits, finding, hit_pages, patterns, planning, volumes
from reeld.search.criteria import Criteria
from reeld.search.edit_pages import EditPage, EditPages
from reeld.search.edits import END, WantedEdits
from reeld.search.finding import Look
from reeld.search.hit_pages import HitPage, HitPages, Start
from reeld.search.patterns import compiled
from reeld.search.query import parse_query
from reeld.search.scores import Freshness
from reeld.search.service import Search
from reeld.search.shown_edits import Spot
from reeld.search.volumes import Place
from reeld.store.store import Store, open_store
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reeld.store.making import event, made, write
from tests.thoroughness import FUZZ, sampled

pytestmark = pytest.mark.slow

_WORDS = (
    "tape",
    "deck",
    "tapes",
    "the",
    "getUserName",
    "get_user_name",
    "修复认证",
    "Bänder",
    "x1f",
    "validator",
    "a-b",
)
# Of what a query consists beside them.
_SYNTAX = (
    '"',
    "-",
    "+",
    "OR",
    "*",
    "has:",
    "has:erN",
    "has:sername",
    "/tape|reel/",
    "/a.e/",
    "-has:deck",
    "user",
    "valdiator",
    "role:user",
    "(",
    "''",
)
_AGENTS, _EVENTS = 3, 40


@asynccontextmanager
async def filled(url: str) -> AsyncIterator[tuple[Store, Search]]:
    """Open a store, write the same random conversations to each, and fill its index."""
    chance = random.Random(FUZZ)
    said = [
        made(
            row,
            *(event(seq, content=_text(chance), time=chance.randrange(10**6)) for seq in range(2, 2 + _EVENTS)),
            *(_touching(chance, seq) for seq in range(2 + _EVENTS, 2 + 2 * _EVENTS)),
        )
        for row in range(1, 1 + _AGENTS)
    ]
    async with open_store(url) as store, anyio.create_task_group() as tasks:
        search = Search(store)
        tasks.start_soon(search.run)
        await write(store, *said)
        while search.behind or not search.indexed:
            await search.catch_up(PATIENCE)
            await anyio.lowlevel.checkpoint()
        yield store, search
        tasks.cancel_scope.cancel()


def _text(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randrange(1, 30)))


def _touching(chance: random.Random, seq: int) -> Event:
    """Return a call that touches a file, or a result of some earlier one."""
    call, when = f"c{chance.randrange(9)}", chance.randrange(10**6)
    if chance.random() < 0.4:
        data = {"tool_call_id": call, "output": "Exit code 2", "success": chance.random() < 0.5}
        return event(seq, "tool_result", None, data_json=json.dumps(data), time=when)
    name, arguments = chance.choice(
        [("Write", {"file_path": "/p/a.py", "content": "x"}), ("Read", {"path": "a.py"}), ("Bash", {"command": "make"})]
    )
    block = {"type": "tool_call", "id": call, "name": name, "arguments": json.dumps(arguments)}
    return event(seq, "assistant", "", data_json=json.dumps({"blocks": [block]}), time=when)


def _query(chance: random.Random) -> str:
    pieces = chance.choices((*_WORDS, *_SYNTAX), k=chance.randrange(1, 6))
    return chance.choice((" ", " ", "")).join(pieces)


async def answers(search: Search, query: str) -> list[Any]:
    """Return what a search answers in each order, or that it refuses the query."""
    parsed = parse_query(query)
    try:
        wanted = Criteria(parsed, patterns=compiled(parsed.patterns))
    except InvalidParams as error:
        return [error.message]
    pages = HitPages(search)
    found: list[HitPage] = [
        await pages.newest(wanted, 10, None, Look()),
        await pages.latest(wanted, 10, Place(1 << 60, 0), Look()),
        await pages.latest(wanted._replace(live=True), 10, Place(500_000, 0), Look()),
    ]
    if parsed.groups and not parsed.patterns:
        found += [await pages.best(wanted, 10, Start(None, 0, fresh), Look()) for fresh in (None, Freshness(10**6))]
    return [page._replace(behind=0) for page in found]


async def touched(search: Search) -> list[EditPage]:
    """Return the edits of an index, in pages and by some criteria."""
    pages = [await EditPages(search).newest(WantedEdits(), 7, END)]
    while pages[-1].next is not None:
        pages.append(await EditPages(search).newest(WantedEdits(), 7, Spot(*map(int, pages[-1].next.split(".")))))
    others = (WantedEdits("a.py"), WantedEdits(command="make"), WantedEdits("/p/a.py", frozenset({2})))
    return [*pages, *[await EditPages(search).newest(wanted, 100, END) for wanted in others]]


@sampled
async def test_both_engines_answer_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query has the same hits with the same scores in the same order on both engines, in every order."""
    patient = (finding, "_SECONDS"), (edits, "_SECONDS"), (hit_pages, "_PATIENCE"), (patterns, "_MARKING")
    for module, constant in patient:
        monkeypatch.setattr(module, constant, PATIENCE)
    monkeypatch.setattr(volumes, "_EVENTS", 50)
    monkeypatch.setattr(planning, "MOST_EVENTS", 20)
    chance = random.Random(FUZZ)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    seen = 0
    with own_schema() as url, anyio.fail_after(PATIENCE + FUZZ):
        async with filled(str(tmp_path / "reel.db")) as (_, file), filled(url) as (_, server):
            for _ in range(FUZZ or 25):
                query = _query(chance)
                answered = await answers(file, query)
                assert answered == await answers(server, query), query
                seen += sum(len(page.hits) for page in answered if isinstance(page, HitPage))

            pages = await touched(file)
            assert pages == await touched(server)

    assert seen > 50
    assert len(pages) > 8
