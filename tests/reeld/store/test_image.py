"""What SQLite does not use of a page is overwritten, and nothing else."""

import os
from pathlib import Path

import pytest

from reel.base.errors import Storage
from reeld.store.image import Image
from reeld.store.pages import DamagedPageError
from reeld.store.sweep import forget_pages, open_descriptor
from reeld.store.wal import truncate_wal
from tests.reeld.store.making import query
from tests.reeld.store.scrap import Scrap, scrap, words_in

pytestmark = pytest.mark.file


def clear(made: Scrap, descriptor: int) -> int:
    """Clear every page; return how many there are."""
    assert truncate_wal(made.connection, 0)
    image = Image(descriptor)
    for page in range(1, image.count + 1):
        image.clear(page)
    forget_pages(made.connection)
    return image.count


@pytest.mark.parametrize("mode", ["OFF", "FAST", "ON"])
@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_what_is_not_used(tmp_path: Path, page_size: int, mode: str) -> None:
    """Whatever was deleted, moved or replaced: no byte is left of it, and everything that is stored is as it was."""
    path = str(tmp_path / "scrap.db")
    settings = f"page_size = {page_size}", f"secure_delete = {mode}"
    with open_descriptor(path, os.O_CREAT) as descriptor, scrap(path, page_size, *settings) as made:
        for _ in range(20):
            made.change(100)
        made.connection.execute("PRAGMA incremental_vacuum(7)").fetchall()
        made.change(500)
        made.connection.execute("DELETE FROM second")  # its pages are free
        before = made.content()
        assert truncate_wal(made.connection, 0)
        assert mode != "OFF" or words_in(tmp_path) - made.words()
        clear(made, descriptor)

        assert made.words() == words_in(tmp_path)
        assert before == made.content()
        assert made.is_sound()


def test_the_end_of_a_long_value(tmp_path: Path) -> None:
    """What the last page of a value has after its end is overwritten, and the value is not."""
    path = str(tmp_path / "scrap.db")
    with open_descriptor(path, os.O_CREAT) as descriptor, scrap(path, 1) as made:
        made.connection.execute("INSERT INTO third VALUES (?, 1)", ("v" * 8481,))  # the last page is not full
        assert truncate_wal(made.connection, 0)
        os.pwrite(descriptor, b"SECRET0123456789abcdef", os.fstat(descriptor).st_size - 22)
        before = made.content()
        assert words_in(tmp_path)
        clear(made, descriptor)

        assert set() == words_in(tmp_path)
        assert before == made.content()


def test_what_is_between_cells(tmp_path: Path) -> None:
    """The few bytes that stay of a value when another one takes its place are overwritten."""
    path = str(tmp_path / "scrap.db")
    with open_descriptor(path, os.O_CREAT) as descriptor, scrap(path, 1, "secure_delete = OFF") as made:
        connection = made.connection
        connection.execute("CREATE TABLE fourth (text)")
        connection.executemany("INSERT INTO fourth VALUES (?)", [("q" * 50,)] * 3)
        connection.execute("UPDATE fourth SET text = ? WHERE rowid = 2", ("r" * 48,))
        connection.execute("UPDATE fourth SET text = ? WHERE rowid <> 2", ("s" * 50,))
        assert truncate_wal(connection, 0)
        before = b"qq" in Path(path).read_bytes()
        clear(made, descriptor)

        assert (True, False) == (before, b"qq" in Path(path).read_bytes())
        assert made.is_sound()


@pytest.mark.skipif("REEL_CRASH_LONG" not in os.environ, reason="it takes 2.5 GB")
def test_a_file_that_grows_beyond_the_locked_page(tmp_path: Path) -> None:
    """The page that SQLite locks is left alone, and those of the pointer map are found behind it."""
    path = tmp_path / "sparse.db"
    with open_descriptor(str(path), os.O_CREAT) as descriptor, scrap(str(path), 1, "page_size = 65536") as made:
        made.change(500)
        made.connection.execute("PRAGMA cache_size = 200")
        made.connection.execute("CREATE TABLE large (bytes)")
        made.connection.execute("INSERT INTO large VALUES (zeroblob(900000000))")
        made.connection.execute("INSERT INTO large VALUES (zeroblob(300000000))")
        made.change(500)
        made.empty()
        count = clear(made, descriptor)

        assert count * 65536 > 1 << 30
        assert made.is_sound()


def test_a_page_that_is_damaged(tmp_path: Path) -> None:
    """A page that is not what its place says is left as it is."""
    path = tmp_path / "scrap.db"
    with open_descriptor(str(path), os.O_CREAT) as descriptor, scrap(str(path), 1) as made:
        made.change(500)
        assert truncate_wal(made.connection, 0)
        image = Image(descriptor)
        spoiled = 0
        for page in range(3, image.count + 1):
            rubbish = os.urandom(4096)
            os.pwrite(descriptor, rubbish, 4096 * (page - 1))
            try:
                Image(descriptor).clear(page)
            except DamagedPageError:
                spoiled += 1
                assert rubbish == os.pread(descriptor, 4096, 4096 * (page - 1))

    assert spoiled


def test_a_file_without_a_pointer_map(tmp_path: Path) -> None:
    """A file that another program made without auto_vacuum cannot be cleared, and the error says how to change that."""
    path = str(tmp_path / "other.db")
    query(path, "CREATE TABLE t (x)")
    with open_descriptor(path) as descriptor, pytest.raises(Storage, match="made without auto_vacuum"):
        Image(descriptor)
