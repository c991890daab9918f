"""What a daemon remembers of a log on a server, to find out that the server has lost something."""

import logging
from pathlib import Path

import pytest

from reeld.store.loss import Known
from reeld.store.postgres import high_water
from reeld.store.postgres.heads import Head, Heads
from reeld.store.postgres.high_water import HighWater

KNOWN = Known(7, 1, 3, 1000)


def head(row: int, event: int) -> Head:
    """Return the head of an agent."""
    return Head(row, f"{row}" * 32, event, event)


def test_the_agents_with_newer_events() -> None:
    """Those are told whose newest event is later than what is left."""
    heads = Heads()
    for row, event in ((1, 1), (2, 2), (3, 3), (1, 4)):
        heads.note(head(row, event))

    assert [4, 3] == [each.event for each in heads.after(2)]
    heads.forget(2)
    assert [2] == [each.event for each in heads.after(0)]


def test_only_so_many_agents_are_remembered() -> None:
    """Those that were written to first are forgotten."""
    heads = Heads(most=2)
    for event in (1, 2, 3):
        heads.note(head(event, event))

    assert [3, 2] == [each.event for each in heads.after(0)]


def test_the_file_is_ahead_and_seldom_written(tmp_path: Path) -> None:
    """Its id is above all that were used, whenever the daemon is killed."""
    path = tmp_path / "state" / "newest"
    high = HighWater(str(path))
    high.reach(8, KNOWN)
    written = path.stat().st_ino
    high.reach(9, KNOWN._replace(id=8))
    read = HighWater(str(path))

    assert written == path.stat().st_ino
    assert (KNOWN, high.id) == (read.known, read.id)
    high.reach(read.id + 1, KNOWN)
    assert read.id + 1 < HighWater(str(path)).id


@pytest.mark.parametrize("content", ["", "1 2 3", "a b c d e", "1 2 3 4 5 6"])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    """A damaged file is as good as none."""
    path = tmp_path / "newest"
    path.write_text(content)
    high = HighWater(str(path))

    assert (0, 0) == (high.known.id, high.id)


def test_a_directory_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The daemon works without the file, and says so."""
    (tmp_path / "state").write_text("")
    with caplog.at_level(logging.WARNING, high_water.__name__):
        HighWater(f"{tmp_path}/state/newest").reach(1, KNOWN)

    assert "cannot be written" in caplog.text
