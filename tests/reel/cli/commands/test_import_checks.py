"""The checks of ``reel doctor`` of what imports."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reel.cli.commands.checks.finding import BAD, FINE, WARN, Finding
from reel.cli.commands.checks.imports import check_imports
from reel.cli.commands.shared.unit_files import import_file, import_files
from reel.importing.adding.readings import Reading, Readings, Unread
from reel.importing.values import digest

_SOCKET = "/run/reel.sock"
_DAY = 86_400_000


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home directory in which nothing was imported."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "reel").mkdir()
    return tmp_path


@contextmanager
def watching(home: Path) -> Iterator[None]:
    """Hold the lock of the process that imports."""
    with (home / f"reel/watching-{digest(_SOCKET)}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{os.getpid()}\n{_SOCKET}\n")
        file.flush()
        yield


def read(home: Path, *, days: int = 0, unread: tuple[Unread, ...] = (), failure: str = "") -> None:
    """Note a reading of Codex."""
    noted = Reading(time.time_ns() // 1_000_000 - days * _DAY, 3, unread, 0, failure)
    Readings(str(home / "reel/readings.json"), _SOCKET).note("codex", noted)


def install(program: str = "") -> Path:
    """Install the unit."""
    ((path, text),) = import_files({}).items()
    path.parent.mkdir(parents=True)
    path.write_text(text.replace('ExecStart="', f'ExecStart="{program}') if program else text)
    return path


def found() -> list[Finding]:
    """Return what the checks find."""
    return list(check_imports(_SOCKET))


def test_nothing_was_imported() -> None:
    """Who imports nothing is told nothing."""
    assert [] == found()


def test_a_tool_that_was_read(home: Path) -> None:
    """Its last reading is said."""
    read(home, days=13)

    assert [Finding("codex", FINE, "read 13d ago, 3 conversations")] == found()


def test_a_tool_that_was_not_read_for_long(home: Path) -> None:
    """After two weeks it is time to read it again, unless a process does."""
    read(home, days=15)

    assert [("codex", WARN)] == [finding[:2] for finding in found()]
    with watching(home):
        assert ("codex", FINE) == found()[-1][:2]


def test_what_could_not_be_read(home: Path) -> None:
    """The first of it is said, and how much there is."""
    read(home, unread=(Unread("/a", "Permission denied"), Unread("/b", "x")))

    (finding,) = found()
    about = "read just now, 3 conversations; 2 problems, such as /a: Permission denied"
    assert (WARN, about) == (finding.verdict, finding.about)


def test_a_reading_that_failed(home: Path) -> None:
    """The reason is said, beside the last reading that went well."""
    read(home, days=1, failure="the disk is full")

    (finding,) = found()
    about = "read 1d ago, 3 conversations; could not be read since: the disk is full"
    assert (WARN, about) == (finding.verdict, finding.about)


def test_a_unit_at_work(home: Path) -> None:
    """The process is named."""
    path = install()

    with watching(home):
        assert [Finding("import", FINE, f"{path}: pid {os.getpid()} imports what the tools write")] == found()


def test_a_process_without_a_unit(home: Path) -> None:
    """Somebody may import in a terminal."""
    with watching(home):
        assert [Finding("import", FINE, f"pid {os.getpid()} imports what the tools write")] == found()


def test_a_unit_that_does_not_run() -> None:
    """It is bad that nothing imports although a unit should."""
    path = install()

    (finding,) = found()
    assert (BAD, f"{path} is installed, and nothing imports for this daemon") == (finding.verdict, finding.about)


def test_a_unit_whose_program_is_gone() -> None:
    """A virtual environment that was removed takes the program with it."""
    path = install("/gone")

    (finding,) = found()
    assert BAD == finding.verdict
    assert finding.about.startswith(f"{path}: its program '/gone/")
    assert "install it again: reel units --import" == finding.remedy


def test_a_damaged_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without a program, or that is no property list, is bad."""
    path = install()
    path.write_text("[Service]\n")
    assert [BAD] == [finding.verdict for finding in found()]

    monkeypatch.setattr("sys.platform", "darwin")
    import_file().parent.mkdir(parents=True)
    import_file().write_text("no list")
    assert [BAD] == [finding.verdict for finding in found()]
