"""The index of a log on a server that has lost events."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from reeld.search import finding, index, vocabulary, volumes
from reeld.search.attached_log import close_log
from reeld.search.criteria import Criteria
from reeld.search.finding import OneSearch
from reeld.search.query import parse_query
from reeld.store.store import open_store
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reeld.store.making import event, lose_newest, made, said, write

pytestmark = pytest.mark.slow


class WithLog(sqlite3.Connection):
    """A connection to an index, which gets an attribute for its log."""


def found(connection: sqlite3.Connection) -> list[int]:
    """Fill an index; return the ids of the events that it has for a word."""
    while index.fill(connection).more:
        pass
    return finding.find(connection, OneSearch(Criteria(parse_query("word"))), 0, 1 << 40, 100).events


@pytest.mark.parametrize("size", [1, 1 << 15])
async def test_an_open_index_forgets_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """No word of a lost event stays, though the connection to the log may be opened again without an error."""
    monkeypatch.setattr(finding, "_SECONDS", PATIENCE)
    monkeypatch.setattr(volumes, "_EVENTS", size)
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store:
            with closing(sqlite3.connect(tmp_path / "search.db", isolation_level=None, factory=WithLog)) as connection:
                assert store.engine.open_log is not None
                index.prepare(connection, store.engine.open_log)
                await write(store, made(1))
                for seq, text in enumerate(("a word", "the word", "another word"), 2):  # each may fill a volume
                    await write(store, said(1, event(seq, content=text)))
                    before = found(connection)
                lose_newest(url)
                await store.be_current()
                after = found(connection)
                counts = [vocabulary.events_with(connection, word) for word in ("word", "another")]
                close_log(connection)

    assert ([4, 3, 2], [3, 2], [2, 0]) == (before, after, counts)
