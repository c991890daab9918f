"""The commands verify and backup: what they print about a sound database and a damaged one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.cli.commands.verify import report_lines
from reel.replies import Problem, Verified
from tests.daemon import Daemon
from tests.forkserver import ForkedDaemon
from tests.reel.cli.conftest import Reel
from tests.reeld.verify.damage import damage


@pytest.fixture
def own(reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:  # noqa: ARG001 - after it
    """A daemon of the test's own, used instead of the shared one."""
    daemon = ForkedDaemon(directory).start()
    monkeypatch.setenv("REEL_SOCKET", daemon.socket)
    yield daemon
    daemon.close()


@pytest.mark.usefixtures("own")
def test_verify_of_a_sound_database(reel: Reel, monkeypatch: pytest.MonkeyPatch) -> None:
    """It checks all agents or one, found by the usual rule; --all overrides it."""
    reel("add", "one", "hi", "--create")
    reel("add", "two", "hi", "--create")

    assert (0, "2 conversations, 4 events: nothing is wrong\n", "") == reel("verify")
    assert (0, "1 conversation, 2 events: nothing is wrong\n", "") == reel("verify", "one")
    monkeypatch.setenv("REEL_AGENT", "two")
    assert reel("verify").out.startswith("1 conversation")
    assert reel("verify", "--all").out.startswith("2 conversations")
    assert [{"agents": 2, "events": 4, "problems": [], "omitted": 0}] == reel("verify", "--all", "--json").documents
    assert 4 == reel("verify", "zed").status
    assert 2 == reel("verify", "--all", "-a", "two").status


def test_verify_of_a_damaged_database(reel: Reel, own: Daemon) -> None:
    """Each problem is printed with its place, then what to do; the status is 1."""
    reel("add", "one", "hi", "--create")
    damage(own.database, "UPDATE events SET parent = 99 WHERE seq = 2")
    ran = reel("verify", "one")

    assert 1 == ran.status
    assert [
        "one #2: parent_missing: there is no event 99, its parent",
        "1 conversation, 2 events: 1 problem",
        "first make a copy of the database, then replace it with a backup; see docs/operations.md",
    ] == ran.out.splitlines()[:2] + ran.out.splitlines()[-1:]
    assert "parent_missing" == reel("verify", "one", "--json").documents[0]["problems"][0]["what"]


def test_remedies_of_problems() -> None:
    """Each remedy is printed once, and harmless problems are described as such."""
    problems = [
        Problem("living", "it differs", "0" * 32, "one"),
        Problem("record", "no JSON", "0" * 32, "one", 7, 8),
        Problem("record", "no JSON", "0" * 32, "one", 9, 10),
        Problem("kind", "unknown", "0" * 32, "one", 11, 12),
        Problem("sqlite", "row 1 missing from index x"),
        Problem("unchecked", "too much"),
    ]
    lines = [
        "".join(span if isinstance(span, str) else span[0] for span in line) for line in report_lines(_of(problems))
    ]

    assert [
        "one: living: it differs",
        "one #7: record: no JSON",
        "one #9: record: no JSON",
        "one #11: kind: unknown",
        "the database: sqlite: row 1 missing from index x",
        "the database: unchecked: too much",
        "and 1,000 more",
        "1,000 conversations, 2 events: 1,006 problems",
        "repair it from the log, and report it: reel replay one",
    ] == lines[:9]
    assert 9 + 4 == len(lines)


def _of(problems: list[Problem]) -> Verified:
    return Verified(1000, 2, problems, 1000)


@pytest.mark.slow
def test_backup_prints_the_path_and_the_size(reel: Reel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is resolved in the caller's directory; the size and what the check has found are printed."""
    monkeypatch.chdir(tmp_path)
    ran = reel("backup", "copy.db")
    size = (tmp_path / "copy.db").stat().st_size
    checked = reel("verify", "--database", "copy.db")

    assert (0, f"{tmp_path}/copy.db: {size:,} bytes\n{checked.out}", "") == ran
    assert "nothing is wrong" in checked.out
    (found,) = reel("verify", "--database", "copy.db", "--json").documents
    assert [{"path": f"{tmp_path}/2.db", "bytes": size, **_unless_default(found)}] == reel(
        "backup", "2.db", "--json"
    ).documents


def _unless_default(report: dict[str, object]) -> dict[str, object]:
    return {name: report[name] for name in ("agents", "events")} | ({"problems": []})


@pytest.mark.slow
def test_a_backup_of_a_damaged_database(reel: Reel, own: Daemon, directory: Path) -> None:
    """A copy with the damage of the database is kept, its problems are printed, and the status is 1."""
    reel("add", "one", "hi", "--create")
    damage(own.database, "UPDATE events SET parent = 99 WHERE seq = 2")
    ran, copy = reel("backup", str(directory / "copy.db")), directory / "copy.db"

    assert 1 == ran.status
    assert copy.exists()
    assert "one #2: parent_missing: there is no event 99, its parent" in ran.out
    assert ran.out.splitlines()[1:] == reel("verify", "--database", str(copy)).out.splitlines()


@pytest.mark.parametrize("words", [["--all"], ["one"], ["-a", "one"]])
def test_verify_of_a_file_takes_no_agent(reel: Reel, words: list[str]) -> None:
    """A file is checked as a whole."""
    assert 2 == reel("verify", "--database", "copy.db", *words).status


@pytest.mark.slow
def test_verify_of_what_is_no_database(reel: Reel, tmp_path: Path) -> None:
    """A file that is missing, or that is not a database, is refused with the error of the daemon's program."""
    assert "No such file or directory" in reel("verify", "--database", str(tmp_path / "nope.db")).err
    (tmp_path / "diary").write_text("Dear diary, " * 200)
    assert "is damaged or not an SQLite database" in reel("verify", "--database", str(tmp_path / "diary")).err


def test_backup_does_not_replace_a_file(reel: Reel, tmp_path: Path) -> None:
    """A file is never replaced, and the error says what to do."""
    taken = tmp_path / "copy.db"
    taken.write_text("precious")

    assert (1, "", f"reel: invalid_params: path: {taken} exists; name a new file\n") == reel("backup", str(taken))
    assert "precious" == taken.read_text()
