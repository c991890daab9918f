"""The checksum of an event changes with every bit of it."""

import sqlite3
from contextlib import closing
from typing import Any
from zlib import crc32

import pytest
from msgpack import packb

from reel.wire.msgpack_codec import packer
from reeld.store import checksums
from reeld.store.checksums import COLUMNS, NO_CHECKSUM, ORIGIN, checksum, is_intact, write_checksums

ROW = (12, 3, 4, 4, "user", "Grüße", '{"a":1}', None, "nvim", 1763780400000)
NO_ORIGIN = (None,) * len(ORIGIN)
pack = packer()


def flipped(row: tuple[Any, ...], column: int, bit: int) -> tuple[Any, ...]:
    """Return a row with one other bit in a column, if it is a number or ASCII text."""
    value = row[column]
    other: Any = value ^ (1 << bit) if isinstance(value, int) else f"{chr(ord(value[0]) ^ (1 << bit))}{value[1:]}"
    return (*row[:column], other, *row[column + 1 :])


def test_what_it_is() -> None:
    """It is the CRC-32 of the columns as a list in MessagePack."""
    assert crc32(packb(ROW)) == checksum(pack, ROW)
    assert is_intact(pack, (*ROW, *NO_ORIGIN), crc32(packb(ROW)))


def test_an_origin_counts_if_there_is_one() -> None:
    """Without an origin a row has the checksum that it has in older files."""
    assert is_intact(pack, (*ROW, *NO_ORIGIN), checksum(pack, ROW))
    assert is_intact(pack, (*ROW, 5, None), crc32(packb((*ROW, 5))))
    assert is_intact(pack, (*ROW, None, "x"), crc32(packb((*ROW, None, "x"))))


def test_what_follows_the_columns() -> None:
    """A row may have more columns, which do not count."""
    assert is_intact(pack, (*ROW, *NO_ORIGIN, 17, True), checksum(pack, ROW))
    assert is_intact(pack, (*ROW, 5, "x", 17, True), checksum(pack, (*ROW, 5, "x")))


@pytest.mark.parametrize("column", [0, 1, 2, 3, 4, 5, 6, 8, 9], ids=lambda column: COLUMNS[column])
def test_every_flipped_bit_is_found(column: int) -> None:
    """A row with another bit in any column is not intact."""
    stored = checksum(pack, ROW)

    assert not any(is_intact(pack, (*flipped(ROW, column, bit), *NO_ORIGIN), stored) for bit in range(7))


@pytest.mark.parametrize(("column", "other"), [(5, None), (6, ""), (7, 11), (8, None)])
def test_null_is_not_an_empty_text(column: int, other: Any) -> None:
    """Null, an empty text and a number differ."""
    assert not is_intact(pack, (*ROW[:column], other, *ROW[column + 1 :], *NO_ORIGIN), checksum(pack, ROW))


def test_bytes_that_are_not_text() -> None:
    """A row with surrogates for such bytes is never intact."""
    row = (*ROW[:5], "\udcff", *ROW[6:])

    assert NO_CHECKSUM == checksum(pack, row)
    assert not is_intact(pack, (*row, *NO_ORIGIN), NO_CHECKSUM)


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_checksums_are_written_in_batches(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row gets its own, whatever its id, and one with bytes that are not text gets none."""
    monkeypatch.setattr(checksums, "_BATCH", batch)
    rows = [(number, *ROW[1:]) for number in (-5, 1, 2, 7, 1 << 50)]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"CREATE TABLE events ({', '.join(COLUMNS)}, checksum)")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", rows)
        connection.execute("INSERT INTO events (id, content) VALUES (9, CAST(x'ff' AS TEXT))")
        write_checksums(connection)
        found = dict(connection.execute("SELECT id, checksum FROM events"))

    assert {**{row[0]: checksum(pack, row) for row in rows}, 9: NO_CHECKSUM} == found
