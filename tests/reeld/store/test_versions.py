"""Files of every older version, as the daemon of that time wrote them: they are migrated, and there is a way back."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reel.base.errors import Conflict, Storage
from reeld.agents.idempotency import first_reply, key_of
from reeld.serving.methods import METHODS
from reeld.store import queries, schema
from reeld.store.schema import VERSION, prepare
from reeld.store.store import open_store
from reeld.verify.file import check
from tests.reeld.store.making import mode, names, query

pytestmark = pytest.mark.file

_FILES = {int(path.stem.rpartition("-")[2]): path for path in Path(__file__).parent.glob("versions/*.sql")}
_EVERY = pytest.mark.parametrize("version", sorted(_FILES))
_OLDER = pytest.mark.parametrize("version", sorted(_FILES.keys() - {VERSION}))
_SAID = {
    "demo": ["Be brief.", "What is a tape deck?", "It plays cassettes. 📼", 'weather({"city":"Bern"})', None, "later"],
    "twin": ["Be brief.", "after the clear"],
}


@pytest.fixture
def path(tmp_path: Path, version: int) -> str:
    """A file of an older version."""
    made = str(tmp_path / "reel.db")
    with closing(sqlite3.connect(made)) as connection:
        connection.executescript(_FILES[version].read_text())
    return made


def dump(path: str) -> list[str]:
    """Return everything that a file has, as SQL; the order of indexes and triggers changes when it is copied."""
    with closing(sqlite3.connect(path)) as connection:
        about = [f"{name}: {connection.execute(f'PRAGMA {name}').fetchone()}" for name in ("user_version", "page_size")]
        return sorted([*about, *connection.iterdump()])


def opened(path: str) -> None:
    """Open a file as a daemon does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection, path)


def kept(path: str) -> str:
    """Return the copy that was kept of a file."""
    (copy,) = Path(path).parent.glob("reel-version-*.db")
    return str(copy)


def test_there_is_a_file_of_every_version() -> None:
    """No version is missing; a new one is added when the next changes the tables."""
    assert set(range(1, VERSION)) <= _FILES.keys()


@_EVERY
async def test_a_migrated_file(path: str, version: int) -> None:
    """Nothing that was said is lost, and nothing is wrong with the file."""
    async with open_store(path) as store:
        for name, texts in _SAID.items():
            profile = await store.read(queries.find, name)
            assert profile is not None
            state = await store.load(profile.row)
            assert texts == [entry.content for entry in state.conversation.entries]
    report = check(path)

    assert (VERSION, 19, []) == (query(path, "PRAGMA user_version")[0][0], report.events, report.listed)
    assert (version == VERSION) == (not [*Path(path).parent.glob("reel-version-*.db")])


@_EVERY
async def test_a_key_from_before_a_migration(path: str) -> None:
    """The command that it was used for is recognised, although add had fewer parameters then; another one is not."""
    params = [None] * (len(METHODS["add"].signature.params) - len(("agent", "messages", "if_seq", "key")))
    async with open_store(path) as store:
        renamed = await store.read(queries.find, "twin")
        assert renamed is not None
        reply = await first_reply(store, key_of("key-2", "add", ["another way", *params], "copy"))
        for others in (["a third way", *params], ["another way", True, *params[1:]]):
            with pytest.raises(Conflict, match="the key key-2 was used for another command, of the agent twin"):
                await first_reply(store, key_of("key-2", "add", others, "copy"))

    expected = {"agent": renamed.uid, "head": 9, "command": 9, "first": 9, "repeated": True}
    assert expected == {field: (reply or {}).get(field) for field in expected}


@_OLDER
def test_the_check_of_an_older_file(path: str) -> None:
    """An older file is checked as what it becomes, and stays as it is."""
    before = dump(path)

    assert [] == check(path).listed
    assert before == dump(path)


@_OLDER
async def test_the_way_back(path: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy that is kept is the older file; in the place of the database, the older version takes it as it is."""
    before = dump(path)
    async with open_store(path):
        assert 0o600 == mode(kept(path))
    shutil.copy(kept(path), path)
    monkeypatch.setattr(schema, "VERSION", version)
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:version])
    opened(path)

    assert before == dump(path)


@pytest.mark.parametrize("version", [VERSION - 1])
def test_a_migration_that_begins_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts that are interrupted keep one copy, the one of the file before the first of them."""
    before = dump(path)
    with monkeypatch.context() as broken:
        broken.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS[: VERSION - 1], "SELECT * FROM nowhere;"))
        for _ in range(2):
            with pytest.raises(sqlite3.OperationalError, match="nowhere"):
                opened(path)
    assert before == dump(kept(path)) == dump(path)


@pytest.mark.parametrize("version", [VERSION - 1])
def test_no_room_for_the_copy(path: str) -> None:
    """If no copy can be kept, the file stays as it is, and the error says what to do."""
    long = str(Path(path).with_name("x" * 240))  # a longer name is not possible
    Path(path).rename(long)
    before = dump(long)
    with pytest.raises(Storage, match=r"File name too long; .*make room"):
        opened(long)

    assert before == dump(long)
    assert {"x" * 240} == names(Path(path).parent)
