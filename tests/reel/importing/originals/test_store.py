"""The store of originals: what is read back, what it takes, what goes, and what survives a crash."""

import io
import os
import random
import signal
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.importing.originals.store import CHUNK, Content, Damaged, Store, existing


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file of the store, in a directory that is not there yet."""
    return str(tmp_path / "state" / "originals.db")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    """A store without originals."""
    with Store(path) as store:
        yield store


def keep(
    store: Store, data: bytes, path: str = "/h/a.jsonl", names: tuple[str, ...] = ("tool/a",), number: int = 1
) -> None:
    """Keep a version of a file."""
    content = Content("tool", path, f"{len(data)}", 7, frozenset(names), number)
    store.keep(content, io.BytesIO(data), 9)


def kept(store: Store) -> list[bytes]:
    """Return the content of all originals."""
    return [b"".join(store.content(original)) for original in store.originals()]


def words(number: int, seed: int = 1) -> bytes:
    """Return lines of text that compress as histories do."""
    chosen = random.Random(seed)
    return b"".join(
        b'{"type": "user", "uuid": "%032x", "text": "%s"}\n'
        % (chosen.getrandbits(128), " ".join(chosen.choices(["tape", "deck", "reel", "loop", "head"], k=40)).encode())
        for _ in range(number)
    )


def size_of(store: Store) -> int:
    """Return the bytes of the store's file."""
    return Path(store.path).stat().st_size


def traces(path: str, data: bytes) -> int:
    """Return how many parts of data that cannot be compressed are in a file."""
    content = Path(path).read_bytes()
    return sum(data[start : start + 64] in content for start in range(0, len(data), 256))


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_what_is_kept_is_read_back(store: Store, size: int) -> None:
    """A file of any size comes back as it was, with its time and its hash."""
    data = random.Random(size).randbytes(size)
    keep(store, data)

    (original,) = store.originals()
    assert ("tool", "/h/a.jsonl", size, 7, 9, 0) == (*original[1:6], original.older)
    assert [data] == kept(store)
    assert "" == store.damage()


def test_only_the_owner_can_read_it(store: Store) -> None:
    """It has what was said."""
    assert 0o600 == stat.S_IMODE(Path(store.path).stat().st_mode)


def test_a_file_that_grows(store: Store, tmp_path: Path) -> None:
    """All versions of a growing file together take at most 1.1 times what the newest one takes alone."""
    whole = words(6000)
    for end in range(0, len(whole), len(whole) // 60):
        keep(store, whole[:end])
    keep(store, whole)
    with Store(str(tmp_path / "alone.db")) as alone:
        keep(alone, whole)

        assert [whole] == kept(store)
        assert size_of(store) <= 1.1 * size_of(alone)
        assert size_of(store) <= len(whole)


def test_pages_of_a_database_that_change(store: Store) -> None:
    """A new version of a large file stores the chunks that changed."""
    data = bytearray(random.Random(1).randbytes(8 * CHUNK))
    keep(store, bytes(data))
    before = size_of(store)
    data[5 * CHUNK] ^= 1
    keep(store, bytes(data), names=("tool/b",))  # so that the older one stays

    assert size_of(store) < before + 1.5 * CHUNK
    assert 2 == len(kept(store))


def test_a_version_that_lost_something(store: Store) -> None:
    """A version stays if the newer one is smaller or has fewer conversations, and goes when one has everything."""
    keep(store, b"long", names=("tool/a", "tool/b"), number=2)
    keep(store, b"cut", names=("tool/a", "tool/b"), number=2)
    keep(store, b"longer", names=("tool/a",), number=1)
    assert [b"longer", b"cut", b"long"] == kept(store)
    keep(store, b"longest", names=("tool/a", "tool/b"), number=1)
    assert [b"longest", b"cut", b"long"] == kept(store)
    assert [0, 1, 2] == [original.older for original in store.originals()]

    keep(store, b"all of it", names=("tool/a", "tool/b"), number=2)
    assert [b"all of it"] == kept(store)


def test_older_versions_are_bounded(store: Store) -> None:
    """Of a file that loses something each time, fifty older versions stay, the largest."""
    for size in range(60, 0, -1):
        keep(store, b"x" * size)

    assert [1, *range(11, 61)] == sorted(map(len, kept(store)))


def test_the_same_content_twice(store: Store) -> None:
    """Two files with one content take the room of one."""
    data = random.Random(1).randbytes(4 * CHUNK)
    keep(store, data)
    before = size_of(store)
    keep(store, data, "/h/copy.jsonl")

    assert size_of(store) < before + CHUNK
    assert [data, data] == kept(store)


def test_erasing(store: Store, path: str) -> None:
    """What is erased is not in the file any more, and the file gets smaller; what another file has as well stays."""
    secret, shared = random.Random(1).randbytes(CHUNK), random.Random(2).randbytes(CHUNK)
    keep(store, shared + secret, "/h/a.jsonl")
    keep(store, shared + b"mine", "/h/b.jsonl")
    before = size_of(store)
    assert traces(path, secret)

    assert 1 == store.erase(["/h/a.jsonl", "/h/unknown"])

    assert [shared + b"mine"] == kept(store)
    assert not traces(path, secret)
    assert size_of(store) <= before - CHUNK
    assert 0 == store.erase(["/h/a.jsonl"])


def test_erasing_a_small_file(store: Store, path: str) -> None:
    """What shared a page with other files is overwritten there."""
    for number in range(20):
        keep(store, random.Random(number).randbytes(300), f"/h/{number}")
    secret = random.Random(7).randbytes(300)
    assert traces(path, secret)

    store.erase(["/h/7"])

    assert not traces(path, secret)


def test_the_files_of_conversations(store: Store) -> None:
    """A conversation may have several files, and a file several conversations, also such as it has no longer."""
    keep(store, b"1", "/h/a", ("tool/a", "tool/b"), 2)
    keep(store, b"2", "/h/a", ("tool/b",))
    keep(store, b"3", "/h/c", ("tool/a",))

    assert ["/h/a", "/h/c"] == store.files_with(["tool/a"])
    assert [] == store.files_with(["tool"])


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("update chunks set data = x'00'", "a chunk cannot be decompressed"),
        ("update chunks set data = (select data from chunks order by size limit 1)", "another hash"),
        ("pragma foreign_keys = off; delete from chunks", "a chunk is not there"),
        ("delete from pieces where position = 1", "bytes of"),
        ("update versions set hash = x'00'", "another hash"),
    ],
)
def test_damage(store: Store, damage: str, why: str) -> None:
    """Content that is not what was stored is refused, with the reason."""
    keep(store, words(5000))
    store._database.executescript(damage)

    with pytest.raises(Damaged, match=why):
        kept(store)


class Breaking(io.BytesIO):
    """A file that does something after its third chunk."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= 3 * CHUNK:
            self.at_third()
        return super().read(size)

    def at_third(self) -> None:
        raise OSError(5, "Input/output error")


class Killing(Breaking):
    """A file that kills its reader."""

    def at_third(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


_BIG = random.Random(3).randbytes(6 * CHUNK)


def test_a_file_that_cannot_be_read(store: Store) -> None:
    """If it fails in the middle, the versions are as before."""
    keep(store, b"before")
    before = size_of(store)
    with pytest.raises(OSError, match="Input/output"):
        store.keep(Content("tool", "/h/a.jsonl", "s", 7, frozenset({"tool/a"}), 1), Breaking(_BIG), 9)

    assert [b"before"] == kept(store)
    assert "" == store.damage()
    assert size_of(store) == before


def test_kill_in_the_middle(store: Store, path: str) -> None:
    """A process that is killed while it stores leaves the versions as before, and nothing in the way of the next."""
    keep(store, b"before")
    if not (child := os.fork()):
        try:
            with Store(path) as other:
                other._database.execute("pragma cache_size = 1")  # so that it is written before the commit
                other.keep(Content("tool", "/h/a.jsonl", "s", 7, frozenset({"tool/a"}), 1), Killing(_BIG), 9)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert signal.SIGKILL == os.WTERMSIG(status)
    assert Path(f"{path}-journal").exists()

    with Store(path) as again:
        assert ([b"before"], "") == (kept(again), again.damage())
        keep(again, b"afterwards")
        assert [b"afterwards"] == kept(again)


def test_a_full_disk(store: Store) -> None:
    """If there is no room, it says so, and the versions are as before; with room it goes on."""
    keep(store, b"before")
    pages = store._database.execute("pragma page_count").fetchone()[0]
    store._database.execute(f"pragma max_page_count = {pages + 100}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        keep(store, _BIG)
    assert ([b"before"], "") == (kept(store), store.damage())

    store._database.execute("pragma max_page_count = 1000000")
    keep(store, _BIG)
    assert [_BIG] == kept(store)


def test_a_later_version(store: Store, path: str) -> None:
    """A store of a later reel is not touched."""
    store._database.execute("pragma user_version = 2")

    with pytest.raises(sqlite3.DatabaseError, match="was made by a later version of reel"):
        Store(path)


def test_no_store(path: str) -> None:
    """To look for a store makes none."""
    assert existing(path) is None
    assert not Path(path).exists()
