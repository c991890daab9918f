"""Which files of an import are kept, and what a consistent copy of a database is."""

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reel.importing import tool_named
from reel.importing.originals.keeping import Keeper, erased_file
from reel.importing.originals.store import Store
from reel.importing.steps import Problem, Source
from tests.reel.importing.transcripts import Transcript

CLAUDE = tool_named("claude-code")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store without originals."""
    with Store(str(tmp_path / "state" / "originals.db")) as store:
        yield store


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The directory of the files."""
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def source(path: Path, name: str = "tool/a", number: int = 1) -> Source:
    """Return the source of a file."""
    return Source(str(path), name, 0, 0, conversations=number)


def keep(store: Store, *sources: Source, erased: frozenset[str] = frozenset()) -> list[Problem]:
    """Keep the files of sources."""
    return Keeper(store).keep(CLAUDE, sources, erased.__contains__)


def kept(store: Store) -> dict[str, bytes]:
    """Return the newest version of each file, by its name."""
    return {Path(one.path).name: b"".join(store.content(one)) for one in store.originals() if not one.older}


def test_what_changed_is_kept(store: Store, files: Path) -> None:
    """A file is kept, and again when it has grown; its state says that it was kept."""
    file = files / "a"
    file.write_bytes(b"one")
    assert [] == keep(store, source(file))
    states = store.states()
    assert [] == keep(store, source(file))
    assert states == store.states()

    file.write_bytes(b"one two")
    assert [] == keep(store, source(file))
    assert {"a": b"one two"} == kept(store)
    assert states != store.states()


def test_a_file_that_cannot_be_looked_at(store: Store, files: Path) -> None:
    """One whose directory has become a file is gone; one that cannot be looked at is told; the others are kept."""
    good, odd = files / "a", files / ("x" * 300)
    good.write_bytes(b"one")
    problems = keep(store, source(good / "inside"), source(odd), source(good))

    assert str(odd) == problems[0].path
    assert {"its original is not kept: File name too long"} == {problem.what for problem in problems}
    assert {"a": b"one"} == kept(store)


def test_a_name_of_any_bytes(store: Store, files: Path) -> None:
    """A file whose name is not UTF-8 is kept, known again, and erased."""
    file = Path(os.fsdecode(bytes(files / "a") + b"\xff"))
    file.write_bytes(b"one")
    one = source(file, f"tool/{file.name}")
    assert [] == keep(store, one)
    assert {str(file)} == store.states().keys()
    assert [str(file)] == store.files_with([one.conversation])
    assert 1 == store.erase([str(file)])


def test_what_has_not_changed_is_not_read(store: Store, files: Path) -> None:
    """A file with the time and the size that it had is not opened."""
    file = files / "a"
    file.write_bytes(b"one")
    keep(store, source(file))
    (before,) = store.originals()
    file.chmod(0)  # of no effect for root
    keep(store, source(file))

    assert [before] == store.originals()


def test_many_files_are_kept_together(store: Store, files: Path) -> None:
    """They take a few transactions, each of which waits for the disk; one that cannot be read is left out."""
    sources = [source(files / f"{number}", f"tool/{number}") for number in range(150)]
    for one in sources:
        Path(one.path).write_text(one.conversation)
    (files / "70").unlink()
    (files / "70").symlink_to("/etc/passwd")
    before = transactions(store)

    problems = keep(store, *sources)

    assert (1, 149) == (len(problems), len(kept(store)))
    assert transactions(store) - before <= 6


def transactions(store: Store) -> int:
    """Return how many transactions have changed the file of a store: it counts them (sqlite.org/fileformat2.html)."""
    return int.from_bytes(Path(store.path).read_bytes()[24:28], "big")


def test_files_beside(store: Store, files: Path) -> None:
    """What a reader reads beside the file of a source is kept with it."""
    file = Transcript("s1").user("u1", "Hi").write(files / "s1" / "subagents" / "agent-1.jsonl")
    file.with_suffix(".meta.json").write_text("{}")

    keep(store, source(file))

    assert {"agent-1.jsonl", "agent-1.meta.json"} == kept(store).keys()


def test_files_of_a_tree(store: Store, files: Path) -> None:
    """A session of opencode's tree is kept with the files of its messages and of their parts only."""
    for name in ("session/p/ses_1", "message/ses_1/msg_1", "part/msg_1/prt_1", "part/msg_2/prt_1"):
        file = files / f"storage/{name}.json"
        file.parent.mkdir(parents=True)
        file.write_text(f'{{"id": "{name}"}}')
    opencode = tool_named("opencode")

    Keeper(store).keep(opencode, opencode.discover(files).sources, frozenset[str]().__contains__)

    assert ["msg_1.json", "prt_1.json", "ses_1.json"] == sorted(kept(store))


def test_a_database_with_its_log(store: Store, files: Path) -> None:
    """A database is kept with what is only in its write-ahead log, as one file that is whole, and its copy goes."""
    file = files / "a.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table said (words text)")
        database.execute("pragma wal_checkpoint")
        database.execute("pragma wal_autocheckpoint = 0")
        database.execute("insert into said values ('only in the log')")
        assert [] == keep(store, source(file))
        before = file.read_bytes()

        copy = files / "copy.db"
        copy.write_bytes(kept(store)["a.db"])
        with closing(sqlite3.connect(copy)) as opened:
            assert [("only in the log",)] == opened.execute("select words from said").fetchall()
        database.execute("insert into said values ('more')")
        assert before == file.read_bytes()
        keep(store, source(file))
    assert b"more" in kept(store)["a.db"]
    assert ["originals.db"] == [path.name for path in Path(store.path).parent.iterdir()]


def test_a_database_with_many_conversations(store: Store, files: Path) -> None:
    """It is kept once; a version with a conversation that was deleted since stays."""
    file = files / "a.db"
    with closing(sqlite3.connect(file)) as database:
        database.execute("create table said (words text)")
    keep(store, source(file, "tool/a"), source(file, "tool/b"))
    with closing(sqlite3.connect(file)) as database:
        database.execute("create table more (words text)")
    keep(store, source(file, "tool/a"))

    assert [0, 1] == [original.older for original in store.originals()]


def test_a_damaged_database(store: Store, files: Path) -> None:
    """A database that cannot be copied is a problem, and nothing is left of the attempt."""
    (files / "a.db").write_bytes(b"SQLite format 3\0" + b"damaged" * 1000)
    (files / "b").write_bytes(b"fine")

    (problem,) = keep(store, source(files / "a.db"), source(files / "b", "tool/b"))

    assert problem.what.startswith("its original is not kept: cannot be read as a database")
    assert {"b": b"fine"} == kept(store)
    assert ["originals.db"] == [path.name for path in Path(store.path).parent.iterdir()]


def test_what_was_left_of_a_copy(store: Store, files: Path) -> None:
    """The copy of a process that was killed goes with the next one."""
    Path(f"{store.path}-copy").write_bytes(b"left")
    with closing(sqlite3.connect(files / "a.db")) as database:
        database.execute("create table said (words text)")

    assert [] == keep(store, source(files / "a.db"))
    assert not Path(f"{store.path}-copy").exists()


def test_what_is_not_there(store: Store, files: Path) -> None:
    """A file that is gone is not kept; a directory, or a link, is a problem."""
    (files / "link").symlink_to("/etc/passwd")

    problems = keep(store, source(files / "gone"), source(files / "link", "tool/b"), source(files, "tool/c"))

    assert 2 == len(problems)
    assert {} == kept(store)


@pytest.mark.parametrize("erased", ["tool/a", erased_file("{}")])
def test_what_was_purged(store: Store, files: Path, erased: str) -> None:
    """A conversation, or a file, that was purged here is not kept again."""
    file = files / "a"
    file.write_bytes(b"one")

    keep(store, source(file), erased=frozenset({erased.format(file)}))

    assert {} == kept(store)


def test_what_is_purged_later(store: Store, files: Path) -> None:
    """The original of a conversation that anybody purged goes at the next look; one with several goes as a whole."""
    for name in "ab":
        (files / name).write_bytes(name.encode())
    sources = [source(files / "a", "tool/a"), source(files / "a", "tool/gone"), source(files / "b", "tool/b")]
    keep(store, *sources)
    assert {"a", "b"} == kept(store).keys()

    keep(store, *sources, erased=frozenset({"tool/gone"}))

    assert {"b": b"b"} == kept(store)


def test_a_full_disk(store: Store, files: Path) -> None:
    """It is said once, whatever the number of the files; what needs room is tried again less and less often."""
    for name in "abc":
        (files / name).write_bytes(random.Random(name).randbytes(100_000))
    times = [0.0]
    keeper, sources = Keeper(store, lambda: times[0]), [source(files / name, name) for name in "abc"]
    pages = store._database.execute("pragma page_count").fetchone()[0]
    store._database.execute(f"pragma max_page_count = {pages}")

    (problem,) = keeper.keep(CLAUDE, sources, frozenset[str]().__contains__)
    assert Problem(store.path, 0, "database or disk is full; originals are not kept meanwhile") == problem

    store._database.execute("pragma max_page_count = 1000000")
    for now, number in ((1.9, 0), (2.0, 3)):
        times[0] = now
        keeper.keep(CLAUDE, sources, frozenset[str]().__contains__)
        assert number == len(kept(store))


def test_a_file_that_changes_all_the_time(store: Store, files: Path) -> None:
    """It is kept again after fifty times as long as that took."""
    # The clock is looked at before and after each attempt.
    looks = iter([0.0, 3.0, 152.9, 153.0, 153.0])
    keeper = Keeper(store, lambda: next(looks))
    file, found = files / "a", []
    for data in (b"1", b"12", b"123"):
        file.write_bytes(data)
        keeper.keep(CLAUDE, [source(file)], frozenset[str]().__contains__)
        found.append(kept(store)["a"])

    assert [b"1", b"1", b"123"] == found
