"""Agents that are loaded at the same time."""

from typing import Any

import anyio
import pytest

from reeld.store.loading import Loaded, Loading
from reeld.store.store import open_store
from tests.reeld.store.rows import Rows


@pytest.fixture
def family(rows: Rows) -> Rows:
    """An agent that said something, and two clones at its end."""
    rows.agent(1)
    tip = rows.event(1, "user", "first")
    for row in (2, 3):
        rows.agent(row, source=1, at=1)
        rows.event(row, "clone", None, f'{{"from":"{1:032x}","at":1}}', parent=tip)
    return rows


def said(loaded: Loaded) -> list[Any]:
    """Return what was said in a conversation; a damaged event says nothing."""
    return [entry.content for entry in loaded.conversation.entries]


def no_erasure() -> int:
    """Return that nothing was erased."""
    return 0


def overwrite(rows: Rows) -> None:
    """Overwrite what was said: whoever reads the log finds it damaged."""
    rows.unlock()
    rows.connection.execute("UPDATE events SET content = 'other' WHERE content = 'first'")


def test_clones_share_what_is_read(family: Rows) -> None:
    """While two wait, what was read for the first is not read again for the second, which has it for itself."""
    loading = Loading(no_erasure)
    with loading.waiting(), loading.waiting():
        one = loading.load(family.connection, 2)
        overwrite(family)
        two = loading.load(family.connection, 3)

    assert ["first"] == said(one) == said(two)
    one.conversation.entries.clear()
    assert ["first"] == said(two)


def test_clones_that_went_on_share_what_they_have_in_common(family: Rows) -> None:
    """Only what each has said by itself is read for it."""
    for row in (2, 3):
        family.event(row, "user", f"of {row}", parent=1)
    loading = Loading(no_erasure)
    with loading.waiting(), loading.waiting():
        one = loading.load(family.connection, 2)
        overwrite(family)

        assert ["first", "of 2"] == said(one)
        assert ["first", "of 3"] == said(loading.load(family.connection, 3))


def test_nothing_is_kept_for_one_who_waits_alone(family: Rows) -> None:
    """Who comes later reads the log."""
    loading = Loading(no_erasure)
    with loading.waiting():
        loading.load(family.connection, 2)
        overwrite(family)

        assert [None] == said(loading.load(family.connection, 3))


def test_nothing_is_kept_for_the_next(family: Rows) -> None:
    """When nobody waits any more, what was read is dropped."""
    loading = Loading(no_erasure)
    with loading.waiting(), loading.waiting():
        loading.load(family.connection, 2)
    overwrite(family)
    with loading.waiting():
        assert [None] == said(loading.load(family.connection, 3))


def test_what_was_erased_meanwhile_is_read_again(family: Rows) -> None:
    """What was read before the end of an erasure is not used after it."""
    over: list[str] = []
    loading = Loading(lambda: len(over))
    with loading.waiting(), loading.waiting():
        loading.load(family.connection, 2)
        overwrite(family)
        over.append("an erasure")

        assert [None] == said(loading.load(family.connection, 3))


async def test_skipped_events_are_reported_for_each_clone(
    family: Rows, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged event is in the past of each of them, whoever read it."""
    overwrite(family)
    async with open_store(path) as store, anyio.create_task_group() as tasks:
        for row in (2, 3):
            tasks.start_soon(store.load, row)

    assert 2 == len([record for record in caplog.records if "cannot be read" in record.getMessage()])
