"""When each tool was read last, and what could not be read, is in one small file."""

import stat
from pathlib import Path

import pytest

from reel.importing.adding.readings import Reading, Readings, Unread, after, unread_in
from reel.importing.steps import Problem

SOCKET = "/run/reel.sock"
DAMAGED = Unread("/a", "line 3: not JSON")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file, in a directory that is not there yet."""
    return tmp_path / "state" / "readings.json"


def test_what_was_noted_is_there(path: Path) -> None:
    """Each daemon and each tool has its own reading, and only the owner can read the file."""
    codex, pi = Reading(1, 2, (DAMAGED,), 3, "why"), Reading(4)
    Readings(str(path), SOCKET).note("codex", codex)
    Readings(str(path), SOCKET).note("pi", pi)
    Readings(str(path), "/other").note("pi", codex)

    assert {"codex": codex, "pi": pi} == Readings(str(path), SOCKET).tools
    assert {"pi": codex} == Readings(str(path), "/other").tools
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert [path] == list(path.parent.iterdir())


def test_two_imports_write_at_once(path: Path) -> None:
    """What another import noted meanwhile stays."""
    one, two = Readings(str(path), SOCKET), Readings(str(path), SOCKET)
    one.note("pi", Reading(1))
    two.note("codex", Reading(2))

    assert {"pi", "codex"} == Readings(str(path), SOCKET).tools.keys()


@pytest.mark.parametrize(("later", "stored"), [(59_999, 0), (60_000, 60_000), (-1, -1)])
def test_the_time_alone_is_written_once_a_minute(path: Path, later: int, stored: int) -> None:
    """An import that looks every two seconds does not write each time; a clock that was set back is followed."""
    readings = Readings(str(path), SOCKET)
    readings.note("pi", Reading(0, 5))
    readings.note("pi", Reading(later, 5))

    assert stored == Readings(str(path), SOCKET).tools["pi"].time


def test_news_are_written_at_once(path: Path) -> None:
    """A new conversation, or a file that could not be read, is noted without delay."""
    readings = Readings(str(path), SOCKET)
    readings.note("pi", Reading(0, 5))
    readings.note("pi", Reading(1, 6))

    assert Reading(1, 6) == Readings(str(path), SOCKET).tools["pi"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"/run/reel.sock": {"pi": {"time": 1}}}', '{"/run/reel.sock": 1}'])
def test_a_damaged_file(path: Path, content: str) -> None:
    """A file that cannot be read is as good as none, and is replaced."""
    path.parent.mkdir()
    path.write_text(content)
    readings = Readings(str(path), SOCKET)
    assert {} == readings.tools

    readings.note("pi", Reading(1))
    assert {"pi": Reading(1)} == Readings(str(path), SOCKET).tools


def test_a_file_that_is_not_read_again_is_still_damaged() -> None:
    """What could not be read of an unchanged file is still said after the next look, which does not read it."""
    before = Reading(1, 1, (DAMAGED,), 7)

    found = after(before, Reading(2, 1), there={"/a"}, read=set(), places=[])

    assert Reading(2, 1, (DAMAGED,), 7) == found


@pytest.mark.parametrize(("there", "read"), [({"/a"}, {"/a"}), (set[str](), set[str]())])
def test_a_file_that_was_repaired_or_is_gone(there: set[str], read: set[str]) -> None:
    """What was read without a problem, and a file that is not there any more, are said no longer."""
    assert Reading(2) == after(Reading(1, 1, (DAMAGED,), 7), Reading(2), there=there, read=read, places=[])


def test_places_are_looked_at_each_time() -> None:
    """A place that could not be looked at is said once, and as long as it is so."""
    link = Problem("/l", 0, "is a link")
    first = after(None, Reading(1), there=set(), read=set(), places=[link])
    second = after(first, Reading(2), there=set(), read=set(), places=[link])

    assert (Unread("/l", "is a link", is_file=False),) == first.unread == second.unread
    assert Reading(3) == after(second, Reading(3), there=set(), read=set(), places=[])


def test_many_problems_are_counted() -> None:
    """Twenty are kept, and the others are counted."""
    unread = unread_in(Problem(f"/{number}", 0, "why") for number in range(30))

    found = after(None, Reading(1, 30, unread, 5), there=set(), read=set(), places=[])

    assert (20, 15) == (len(found.unread), found.more)
