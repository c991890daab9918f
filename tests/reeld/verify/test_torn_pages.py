"""A check ends, and finds something, whatever page of a table or an index a power cut has torn, lost or doubled."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from reel.base.errors import Storage
from reel.wire.msgpack_codec import packer
from reeld.core.reading import Reader
from reeld.store import checksums, history
from reeld.store.checksums import write_checksums
from reeld.store.milestones import write_milestones
from reeld.store.schema import prepare
from reeld.store.states import SqlLog
from reeld.store.store import open_store
from reeld.verify import logs
from reeld.verify.verifier import open_verifier
from tests.patience import PATIENCE
from tests.reeld.store.rows import Rows
from tests.reeld.verify.pages import SIZE, Page, child_at, data_of, pages, trees, with_child, with_page
from tests.thoroughness import THOROUGH, sampled

pytestmark = [pytest.mark.slow, sampled]

# The content of a file, and the pages of each of its trees.
Sound: TypeAlias = tuple[bytes, dict[str, list[Page]]]

TREES = (
    *("agents", "agents_by_living_name", "agents_by_name", "agents_by_source", "sqlite_autoindex_agents_1"),
    *("events", "sqlite_autoindex_events_1", "events_of_unknown_kind", "events_by_sent", "events_by_ref"),
    *("events_that_clone", "events_of_state", "events_that_jump", "keys", "sqlite_autoindex_keys_1", "milestones"),
)
# They are empty unless something was erased, or is to be when it is old.
EMPTY = {"sqlite_sequence", "erasures", "sqlite_autoindex_erasures_1", "erased_events", "purged_agents", "retention"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """The content of a sound file in which every tree has inner pages, and the pages of each tree."""
    path = str(tmp_path_factory.mktemp("sound") / "reel.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in (f"page_size = {SIZE}", "auto_vacuum = INCREMENTAL", "journal_mode = WAL"):
            connection.execute(f"PRAGMA {pragma}")
        prepare(connection, path)
        connection.execute("BEGIN")
        rows = Rows(connection)
        rows.agent(1)
        rows.event(1, "created", None, '{"name":"agent-1"}')
        tip = rows.event(1, "user", "hi")
        for _ in range(90):
            rows.event(1, "whatever", None)
        for number in range(90):
            rows.event(1, "state", f"key-{number}", '{"value":1}', parent=tip)
        for agent in range(2, 150):
            rows.agent(agent, source=1, at=2)
            rows.event(agent, "clone", None, f'{{"from":"{1:032x}","at":2}}', parent=tip)
            said = rows.event(agent, "user", f"I am {agent}", parent=tip, sent=agent, ref=f"id-{agent}")
            made, _ = Reader(SqlLog(connection, packer()), step=2, least=0).state(said)
            write_milestones(connection.cursor(), made.milestones, packer())
            key = (agent, f"key-{agent}", agent, 4, bytes(16), b"\x81\xa7command\x04", None, None, None)
            connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", key)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = Path(path).read_bytes()
    return content, {tree: list(pages(content, tree, root)) for tree, root in trees(path).items()}


async def test_the_trees_are_all_there(sound: Sound, path: str) -> None:
    """Every table and index of the schema is tried, and has inner pages."""
    assert [] == await check(path, sound[0])
    tried = {tree: bool(found[0].children) for tree, found in sound[1].items() if tree not in EMPTY}

    assert dict.fromkeys(TREES, True) == tried


def torn(content: bytes, tree: list[Page], chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield files in which one page of a tree is not what it should be."""
    for page in [page for page in tree if page.children][: None if THOROUGH else 1]:
        *before, last, rightmost = page.children
        yield "the last child twice", with_child(content, rightmost, child_at(content, last))
        yield "the rightmost child twice", with_child(content, last, child_at(content, rightmost))
        for first in before[:1]:
            yield "the first child twice", with_child(content, rightmost, child_at(content, first))
        yield "a child above it", with_child(content, last, tree[0].number)
    leaves = [page for page in tree if not page.children]
    for page in chance.sample(leaves, min(20 if THOROUGH else 1, len(leaves))):
        data = data_of(content, page)
        other = chance.choice([leaf for leaf in leaves if leaf != page])
        yield "lost", with_page(content, page, bytes(SIZE))
        yield "torn", with_page(content, page, data[: SIZE // 2] + bytes(SIZE // 2))
        yield "another", with_page(content, page, data_of(content, other))


async def test_conversations_are_read_without_their_milestones(sound: Sound, path: str) -> None:
    """Whatever has happened to the pages of the milestones, every conversation is what its events say."""
    content, found = sound
    for what, left in torn(content, found["milestones"], random.Random(1)):
        Path(path).write_bytes(left)  # noqa: ASYNC240 - nothing else runs
        with anyio.fail_after(PATIENCE):
            async with open_store(path) as store:
                for agent in (2, 60, 149):
                    read = (await store.load(agent)).conversation
                    assert ("hi", f"I am {agent}") == tuple(entry.content for entry in read.entries), what


async def check(path: str, content: bytes, *, logs_only: bool = False) -> list[tuple[str, str]]:
    """Check a file with this content; return what is wrong with it."""
    Path(path).write_bytes(content)  # noqa: ASYNC240 - nothing else runs
    with anyio.fail_after(PATIENCE):
        try:
            async with open_store(path) as store, open_verifier(store) as verifier:
                if not logs_only:
                    await verifier.check_file()
                await verifier.check_logs(None)
                problems = [found.problem for found in verifier.report.listed]
                return [(problem.what, problem.reason) for problem in problems if problem.what != "kind"]
        except Storage as error:  # it cannot even be opened
            return [("storage", error.message)]


@pytest.mark.parametrize("tree", TREES)
async def test_a_tree_that_is_torn(sound: Sound, path: str, tree: str) -> None:
    """A check of everything ends, and finds something."""
    content, found = sound
    chance = random.Random(tree)
    tried = list(torn(content, found[tree], chance))
    for what, left in tried if THOROUGH else chance.sample(tried, 3):
        assert await check(path, left), what


@pytest.mark.parametrize("tree", ["agents", "sqlite_autoindex_events_1", "keys"])
async def test_a_page_that_is_there_twice(sound: Sound, path: str, tree: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the logs ends, too, where rows come again after the last one.

    It says so if no slice ends between the two: the next slice may find the rows after the last one past the second
    copy. SQLite's own check, which has no slices, always says so.
    """
    content, found = sound
    *_, last, rightmost = found[tree][0].children
    doubled = with_child(content, rightmost, child_at(content, last))
    monkeypatch.setattr(logs, "SLICE", 0)
    await check(path, doubled, logs_only=True)
    monkeypatch.setattr(logs, "SLICE", 60)
    problems = await check(path, doubled, logs_only=True)

    assert "a page of the file is there twice: row " in dict(problems)["unreadable"]


def with_last_events_twice(sound: Sound, path: str) -> None:
    """Write a file in which the last events but some are there twice, and the last are lost."""
    content, found = sound
    *_, last, rightmost = found["events"][0].children
    Path(path).write_bytes(with_child(content, rightmost, child_at(content, last)))


async def test_following_where_a_page_is_there_twice(sound: Sound, path: str) -> None:
    """Whoever follows all events from the past gets an error, and not the same events for ever."""
    with_last_events_twice(sound, path)

    async def follow() -> None:
        place = 0
        async with open_store(path) as store:
            while page := await store.read_long(history.after, None, place, 10, 10_000, packer()):
                place = page[-1].event_id

    with anyio.fail_after(PATIENCE), pytest.raises(BaseExceptionGroup) as raised:
        await follow()
    assert raised.group_contains(Storage, match="a page of the file is there twice: row ")


def test_a_migration_where_a_page_is_there_twice(sound: Sound, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksums of a damaged file come to an end."""
    monkeypatch.setattr(checksums, "_BATCH", 10)
    with_last_events_twice(sound, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        with pytest.raises(sqlite3.DatabaseError, match="a page of the file is there twice: event "):
            write_checksums(connection)
