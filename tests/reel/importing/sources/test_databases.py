"""Reading the database of another tool without leaving anything beside it."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reel.importing.sources.databases import reading, record_in
from reel.importing.sources.files import MAX_LINE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a write-ahead log, which nobody uses."""
    made = tmp_path / "a.db"
    with closing(sqlite3.connect(made)) as database:
        database.executescript("PRAGMA journal_mode = wal; CREATE TABLE said (text); INSERT INTO said VALUES ('Hi')")
    os.utime(made, (1, 1))  # times have steps of some milliseconds
    return made


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    """The tool, which writes to it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        yield database


def texts(database: sqlite3.Connection) -> list[str]:
    """Return what was said."""
    return [row[0] for row in database.execute("SELECT text FROM said")]


def test_nothing_is_left_beside_it(path: Path) -> None:
    """A database that nobody uses is read without a file beside it."""
    with reading(str(path)) as database:
        said = texts(database)

    assert (said, [path]) == (["Hi"], list(path.parent.iterdir()))


def test_what_is_in_the_log(path: Path, writer: sqlite3.Connection) -> None:
    """A database in use is read with its log, also what comes into it."""
    writer.execute("INSERT INTO said VALUES ('there')")

    with reading(str(path)) as database:
        first = texts(database)
        writer.execute("INSERT INTO said VALUES ('again')")

        assert (["Hi", "there"], ["Hi", "there", "again"]) == (first, texts(database))


@pytest.mark.parametrize("ends", [False, True])
def test_a_tool_that_starts_meanwhile(path: Path, ends: bool) -> None:
    """If a tool has written since the database was opened, that is an error: what was read may not fit together."""

    def write_meanwhile() -> None:
        with reading(str(path)), closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("INSERT INTO said VALUES ('there')")
            if not ends:
                kept_open.append(sqlite3.connect(path))
                kept_open[0].execute("SELECT * FROM said").fetchone()

    kept_open: list[sqlite3.Connection] = []
    with pytest.raises(OSError, match="was written to while it was read"):
        write_meanwhile()
    for connection in kept_open:
        connection.close()


def test_a_record_that_is_too_long() -> None:
    """It is read without its largest media, which is reported; one of short texts alone cannot be."""
    reports: list[str] = []
    image = {"type": "image", "data": "iVBORw0K" * (MAX_LINE // 8)}

    found = record_in(json.dumps({"words": "Here.", "content": [image]}), reports.append)

    assert ("Here.", "text") == (found["words"], found["content"][0]["type"])
    assert ["without 1 image or file"] == [report.partition(f"the limit is {MAX_LINE:,}: ")[2] for report in reports]
    with pytest.raises(ValueError, match="the limit is"):
        record_in(json.dumps({"words": ["word " * 1000] * (MAX_LINE // 5000)}))
