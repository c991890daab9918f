"""The index of a log on a server that has lost events."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from reeld.search import finding, index
from reeld.search.criteria import Criteria
from reeld.search.finding import Paths
from reeld.search.query import parse_query
from reeld.store.store import open_store
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reeld.store.making import event, lose_newest, made, write

pytestmark = pytest.mark.slow


class WithLog(sqlite3.Connection):
    """A connection to an index, which gets an attribute for its log."""


def found(connection: sqlite3.Connection) -> list[int]:
    """Fill an index; return the ids of the events that it has for a word."""
    while index.fill(connection).more:
        pass
    return finding.find(connection, Criteria(parse_query("word")), Paths(), 0, 1 << 40, 100).events


async def test_an_open_index_forgets_what_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No word of a lost event stays, though the connection to the log may be opened again without an error."""
    monkeypatch.setattr(finding, "_SECONDS", PATIENCE)
    with own_schema() as url, anyio.fail_after(PATIENCE):
        async with open_store(url) as store:
            await write(store, made(1, event(2, content="a word"), event(3, content="another word")))
            with closing(sqlite3.connect(tmp_path / "search.db", isolation_level=None, factory=WithLog)) as connection:
                assert store.engine.open_log is not None
                index.prepare(connection, store.engine.open_log)
                before = found(connection)
                lose_newest(url)
                await store.be_current()
                after = found(connection)
                index.close_log(connection)

    assert ([3, 2], [2]) == (before, after)
