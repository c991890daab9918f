"""``reel doctor``: with a daemon, without one, and with each problem that it finds."""

import fcntl
import os
import re
import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reel.base.installation import install_command
from reel.cli.commands.checks.connection import check_directory, check_installed, check_lock, check_path, check_versions
from reel.cli.commands.checks.contents import check_contents, verified_by_program
from reel.cli.commands.checks.database import (
    check_backups,
    check_database,
    check_erasing,
    check_housekeeping,
    check_losses,
    check_retention,
    check_search,
    check_server,
    check_space,
    check_wal,
)
from reel.cli.commands.checks.finding import BAD, FINE, NOTHING, WARN, Finding
from reel.cli.commands.checks.settings import program_of
from reel.replies import Hello
from reel.version import PROTOCOL, __version__
from reeld.store.connection_thread import SQLITE
from reeld.store.schema import prepare
from tests.forkserver import ForkedDaemon
from tests.reel.cli.conftest import Reel

from .test_processes import on_terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def nowhere(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory without a daemon, which the command uses; to be requested after ``reel``."""
    monkeypatch.setenv("REEL_SOCKET", f"{directory}/s.sock")
    monkeypatch.setenv("REEL_DATABASE", f"{directory}/r.db")
    return directory


def verdicts(reel: Reel) -> dict[str, str]:
    """Return the verdict of each check."""
    return {finding["check"]: finding["verdict"] for finding in reel("doctor", "--json").documents}


def test_all_checks_pass_with_a_daemon(reel: Reel, daemon: str) -> None:
    """If the daemon answers, every check passes, and the pids agree."""
    ran = reel("doctor")
    pid = reel("status", "--json").documents[0]["server"]["pid"]

    assert (0, "") == (ran.status, ran.err)
    assert {"ok"} == {line.split()[0] for line in ran.out.splitlines()}
    assert f"ok    daemon           pid {pid}, version {__version__}, protocol {PROTOCOL}, SQLite {SQLITE}\n" in ran.out
    assert f"ok    socket's lock    {daemon}.lock: held by pid {pid}\n" in ran.out


def test_no_daemon_is_bad(reel: Reel, nowhere: Path) -> None:
    """A daemon that does not run is bad; the next line says what to do."""
    ran = reel("doctor")

    about = f"bad   daemon           no daemon answers on {nowhere}/s.sock (No such file or directory)\n"
    assert 1 == ran.status
    assert f"{about}{' ' * 23}start it with: reel start\n" in ran.out
    assert not list(nowhere.iterdir())


def test_findings_wrap_on_a_narrow_terminal(reel: Reel, nowhere: Path) -> None:
    """A long line continues below its beginning."""
    assert 3 == reel("list").status
    lines = on_terminal("doctor").splitlines()
    (begins,) = (number for number, line in enumerate(lines) if "no daemon" in line)

    assert max(len(re.sub("\x1b.*?m", "", line)) for line in lines) <= 80
    assert lines[begins + 1].startswith(" " * 23)
    assert not list(nowhere.iterdir())


@pytest.fixture
def settings(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The daemon's settings file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(nowhere))
    (nowhere / "reel").mkdir()
    return nowhere / "reel" / "reeld.toml"


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("durabilty = 1", "unknown setting durabilty; did you mean durability?"),
        ("socket", "Expected '=' after a key in a key/value pair (at end of document)"),
    ],
)
def test_settings_that_are_wrong(
    reel: Reel, settings: Path, monkeypatch: pytest.MonkeyPatch, text: str, about: str
) -> None:
    """A setting that would keep the daemon from starting is found, even if the socket depends on it."""
    settings.write_text(text)
    monkeypatch.delenv("REEL_SOCKET")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(settings.parent))

    (found,) = (finding for finding in reel("doctor", "--json").documents if finding["check"] == "settings")
    assert (BAD, f"{settings}: {about}") == (found["verdict"], found["about"])


def test_a_directory_of_any_bytes(reel: Reel, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory whose name is not UTF-8 is no reason to end, and is shown as text."""
    monkeypatch.setenv("REEL_DATABASE", f"{nowhere}/{os.fsdecode(bytes([255]))}/r.db")

    assert f"database         {nowhere}/\\udcff/r.db: not there yet" in reel("doctor").out


def test_settings_that_are_right(reel: Reel, settings: Path) -> None:
    """The output names the settings file, and says whether it exists."""
    assert f"ok    settings         {settings}: not there; the defaults apply\n" in reel("doctor").out
    settings.touch()

    assert f"ok    settings         {settings}\n" in reel("doctor").out


def test_settings_without_an_installed_daemon(reel: Reel, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that clients read are checked in any case."""
    monkeypatch.setitem(sys.modules, "reeld", None)
    monkeypatch.setenv("PATH", str(settings.parent))
    monkeypatch.delenv("REEL_SOCKET")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(settings.parent))
    settings.write_text("socket")
    assert BAD == verdicts(reel)["settings"]
    settings.write_text("durabilty = 1")

    assert FINE == verdicts(reel)["settings"]


def test_a_database_on_a_server() -> None:
    """What the daemon's check says of the server is told: facts, warnings, and problems, each with a remedy."""
    printed = (
        "database = 'x'\n# server: PostgreSQL 16\n# server: no tables\n# warning: slow; hurry\n# problem: old; upgrade"
    )

    assert [
        Finding("database", FINE, "postgresql:///reel: PostgreSQL 16; no tables"),
        Finding("server", WARN, "slow", "hurry"),
        Finding("server", BAD, "old", "upgrade"),
    ] == [*check_server("postgresql:///reel", printed)]
    assert [Finding("database", FINE, "postgresql:///x: see reeld --check")] == [*check_server("postgresql:///x", "")]


def text_file(path: Path) -> None:
    """Write a text file."""
    path.write_text("dear diary" * 100)


def other_program(path: Path) -> None:
    """Create another program's database."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")


def other_program_that_says_so(path: Path) -> None:
    """Create another program's database, with its application id."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (text_file, "not an SQLite database"),
        (other_program, "another program's database"),
        (other_program_that_says_so, "another program's database"),
        (Path.mkdir, "Is a directory"),
        (os.mkfifo, "not a regular file"),
    ],
)
def test_a_database_that_cannot_be_used(reel: Reel, nowhere: Path, make: Callable[[Path], None], about: str) -> None:
    """A file that the daemon would refuse is found."""
    make(nowhere / "r.db")
    ran = reel("doctor")

    assert 1 == ran.status
    assert f"bad   database         {nowhere}/r.db: {about}\n" in ran.out


def test_a_database_of_our_own(nowhere: Path) -> None:
    """A database with everything in its WAL passes, and so do an existing one and an empty one."""
    database = str(nowhere / "r.db")
    Path(database).touch()
    assert None is check_database(database)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        assert None is check_database(database)
        prepare(connection, database)
        assert None is check_database(database)

    assert None is check_database(database)


@pytest.fixture
def used(nowhere: Path) -> str:
    """A database that no daemon has open, with a page for a table beyond the first, and a message in it."""
    daemon = ForkedDaemon(nowhere)
    with daemon.start().client() as client:
        client.add("demo", "x" * 20_000, create=True)
    daemon.close()
    return daemon.database


def spoil_a_page(database: str) -> None:
    """Overwrite the last page of a file."""
    with Path(database).open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(b"\xff" * 4096)


def flip_a_bit(database: str) -> None:
    """Change one letter of a message."""
    content = Path(database).read_bytes()
    Path(database).write_bytes(content.replace(b"xxxx", b"xxyx", 1))


def contents(reel: Reel) -> dict[str, Any]:
    """Return what the doctor says of the contents."""
    found: dict[str, Any]
    (found,) = (finding for finding in reel("doctor", "--json").documents if finding["check"] == "contents")
    return found


@pytest.mark.parametrize("damage", [spoil_a_page, flip_a_bit])
def test_damage_beyond_the_first_page(reel: Reel, used: str, damage: Callable[[str], None]) -> None:
    """What a database has is checked, not only what kind of file it is, whether a daemon runs or not."""
    before = contents(reel)
    damage(used)
    alone = contents(reel)
    daemon = ForkedDaemon(Path(used).parent).start()
    beside = contents(reel)
    daemon.close()

    assert {"check": "contents", "verdict": FINE, "about": "1 conversation, 2 events"} == before
    assert [BAD, BAD] == [alone["verdict"], beside["verdict"]]
    assert "see all of them, and what to do: reel verify" == beside["remedy"]


def test_contents_that_cannot_be_looked_at_in_time(used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large database, and one whose check takes long, count as fine, and the doctor says that it knows no more."""
    monkeypatch.setattr("reel.cli.commands.checks.contents._SECONDS", 0.0)
    slow = check_contents(used, verified_by_program(used))
    monkeypatch.setattr("reel.cli.commands.checks.contents._LARGE", 1)
    large = check_contents(used, verified_by_program(used))

    assert Finding("contents", FINE, "no problem in the first 0 s; reel verify checks everything") == slow
    assert large is not None
    assert large.about.endswith(" were not looked at; reel verify checks everything")


def test_lock_of_a_process_that_does_not_answer(reel: Reel, nowhere: Path) -> None:
    """The process that has locked the file and wrote its pid there holds it; a stale pid does not."""
    lock = nowhere / "s.sock.lock"
    lock.write_text(f"{os.getpid()}\n")
    assert FINE == verdicts(reel)["socket's lock"]

    with lock.open() as locked:
        assert FINE == verdicts(reel)["socket's lock"]
        fcntl.flock(locked, fcntl.LOCK_EX)
        assert BAD == verdicts(reel)["socket's lock"]


def test_lock_held_by_another_process(nowhere: Path) -> None:
    """The daemon that answers must hold the lock."""
    lock = nowhere / "s.sock.lock"
    lock.write_text(f"{os.getpid()}\n")

    with lock.open() as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        assert FINE == check_lock("lock", f"{nowhere}/s.sock", os.getpid()).verdict
        assert BAD == check_lock("lock", f"{nowhere}/s.sock", os.getppid()).verdict
    assert BAD == check_lock("lock", f"{nowhere}/s.sock", os.getpid()).verdict


@pytest.mark.parametrize(
    ("mode", "expected"), [(0o700, FINE), (0o755, FINE), (0o1777, WARN), (0o777, BAD), (0o770, BAD)]
)
def test_directory_permissions(directory: Path, mode: int, expected: str) -> None:
    """Nobody else may be able to replace the socket."""
    where = directory / "run"
    where.mkdir()
    where.chmod(mode)

    assert expected == check_directory(f"{where}/s.sock").verdict


def test_directory_that_is_not_there_yet(directory: Path) -> None:
    """A missing directory passes, because the daemon creates it."""
    assert NOTHING == check_directory(f"{directory}/run/s.sock").verdict
    (directory / "file").touch()
    assert BAD == check_directory(f"{directory}/file/run/s.sock").verdict


def test_socket_path_and_permissions(directory: Path) -> None:
    """A path that is too long or not a socket is bad; a socket open to others is a warning."""
    path = f"{directory}/s.sock"
    assert BAD == check_path("/" + "x" * 200).verdict
    assert BAD == check_path(str(directory)).verdict
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        Path(path).chmod(0o666)
        assert WARN == check_path(path).verdict
        Path(path).chmod(0o600)
        assert Finding("socket", FINE, f"{path}: mode 0600") == check_path(path)


@pytest.mark.parametrize(
    ("version", "protocol", "expected"),
    [(__version__, PROTOCOL, FINE), ("0.0.0", PROTOCOL, WARN), (__version__, PROTOCOL + 1, WARN)],
)
def test_version_of_the_daemon(version: str, protocol: int, expected: str) -> None:
    """A daemon that was not restarted after an update is a warning."""
    fields: dict[str, Any] = {"framing": "msgpack-rpc", "connection": 1, "features": [], "limits": {}}
    hello = Hello(server={"version": version, "pid": 1}, protocol=protocol, **fields)

    assert expected == check_versions(hello, SQLITE).verdict


def test_full_disk_of_the_database() -> None:
    """A full file system is bad, even if the database's directory does not exist yet."""
    assert BAD == check_space("/proc/none/r.db").verdict


def test_database_path_that_cannot_be_read() -> None:
    """It is a finding like any other, and the checks after it run."""
    name = "x" * 300

    remedy = "use another place with $REEL_DATABASE"
    assert Finding("database", BAD, f"/{name}: File name too long", remedy) == check_space(f"/{name}/r.db")


@pytest.mark.parametrize(("needed", "expected"), [(True, BAD), (False, WARN)])
def test_reeld_is_missing(monkeypatch: pytest.MonkeyPatch, needed: bool, expected: str) -> None:
    """A missing daemon is bad only if none is running."""
    assert FINE == check_installed(needed=needed).verdict
    monkeypatch.setitem(sys.modules, "trio", None)

    missing = Finding("reeld", expected, "trio is missing", install_command())
    assert missing == check_installed(needed=needed)


def test_program_of_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assignments are skipped, and a home directory or a variable is replaced as by the shell."""
    monkeypatch.setenv("HOME", "/home/me")

    assert "/home/me/ask.sh" == program_of("KEY=x ~/ask.sh --fast")
    assert "/home/me/bin/ask" == program_of("$HOME/bin/ask x")
    assert "" == program_of("$(pick) x")


@pytest.mark.parametrize(
    ("stats", "about"),
    [
        ({}, None),
        ({"wal_bytes": 100_000_000, "wal_readers": ["sqlite3 (pid 7)"]}, None),
        ({"wal_bytes": 200_000_000, "wal_readers": ["a (pid 7)", "b (pid 8)"]}, "a (pid 7), b (pid 8)"),
        ({"wal_bytes": 200_000_000, "wal_readers": []}, "it may be that another process reads the database"),
        ({"wal_bytes": 200_000_000}, "it may be that another process reads the database"),
    ],
)
def test_a_large_wal(stats: dict[str, Any], about: str | None) -> None:
    """A large WAL is a warning with the processes that read, if the daemon knows them."""
    found = check_wal({"database": "/r.db", **stats})

    assert (found is None) == (about is None)
    if found is not None:
        assert (WARN, True) == (found.verdict, found.about.endswith(str(about)))
        assert found.about.startswith("/r.db-wal: 200 MB; ")


def test_losses() -> None:
    """It reports a server that came back with less, and nothing of one that has lost nothing."""
    found = check_losses({"lost_events": 1200})

    assert (None, None) == (check_losses({"lost_events": 0}), check_losses({}))
    assert found is not None
    assert (WARN, "1,200 acknowledged events were gone when the server came back") == (found.verdict, found.about)


@pytest.mark.parametrize(
    ("stats", "verdict", "about", "remedy"),
    [
        ({"search_problem": None, "search_behind": 0}, FINE, "/s.db: 2.0 MB", ""),
        ({"search_problem": None, "search_behind": 1200}, FINE, "/s.db: 2.0 MB; 1,200 events not in it yet", ""),
        ({"search_problem": "/s.db cannot be used: x"}, WARN, "/s.db cannot be used: x", "move it away"),
        (
            {"search_problem": "the log is locked"},
            WARN,
            "the log is locked",
            "it goes on when the database can be read",
        ),
        ({"search_problem": "it needs room; make room there"}, WARN, "it needs room", "make room there"),
    ],
)
def test_search_index(stats: dict[str, Any], verdict: str, about: str, remedy: str) -> None:
    """It reports how many events the search index lacks, or why searching does not work."""
    found = check_search({"search_index": "/s.db", "search_index_bytes": 2_000_000, **stats})

    assert found is not None
    assert (found.verdict, found.about) == (verdict, about)
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("stats", "verdict", "about"),
    [
        ({"scheduled_backup_time": None}, FINE, "/b: no backup yet"),
        ({"scheduled_backup_time": 0}, FINE, "/b: last backup "),
        (
            {"scheduled_backup_problem": "/b: no space left on device"},
            WARN,
            "/b: no space left on device; no backup yet",
        ),
    ],
)
def test_scheduled_backups(stats: dict[str, Any], verdict: str, about: str) -> None:
    """It reports how old the newest backup of the daemon is, and why there is no newer one."""
    found = check_backups({"scheduled_backup_directory": "/b", **stats})

    assert found is not None
    assert (found.verdict, found.about[: len(about)]) == (verdict, about)


def test_no_scheduled_backups() -> None:
    """A daemon that makes no backups, or is older, needs no check."""
    assert check_backups({"scheduled_backup_directory": None}) is None
    assert check_backups({}) is None


def test_old_agents_that_are_not_purged() -> None:
    """It says why agents that are too old are not purged; an older daemon does not say."""
    found = check_retention({"retention_problem": "other daemons use this database"})

    assert found is not None
    assert (WARN, "other daemons use this database") == (found.verdict, found.about)
    assert [None, None] == [check_retention(stats) for stats in ({}, {"retention_problem": None})]


def test_retention_that_is_new() -> None:
    """While new settings wait, it says how long, and how to see what they will purge."""
    found = check_retention({"retention_problem": None, "retention_after": time.time() * 1000 + 7_200_500})

    assert found is not None
    assert (WARN, "see which: reel purge --retention --dry-run") == (found.verdict, found.remedy)
    assert found.about.startswith("the settings are new: the conversations that are too old are purged in 2h")
    assert check_retention({"retention_after": time.time() * 1000 - 1}) is None


def test_retention_in_living_conversations() -> None:
    """It says that they are pruned, and of how much; or when that begins."""
    stats = {"retention_history_days": 30.0, "retention_pruned_events": 2, "retention_pruned_bytes": 80_000}
    on = check_retention(stats)
    new = check_retention({**stats, "retention_history_after": time.time() * 1000 + 7_200_500})

    assert on is not None
    assert new is not None
    assert (FINE, WARN) == (on.verdict, new.verdict)
    assert "nothing reaches any more is pruned after 30 days; since the daemon was started: 2 events, 80 kB" in on.about
    assert "what nothing reaches any more and is too old is pruned in 2h" in new.about


def test_daemon_without_a_search() -> None:
    """An older daemon has no search index."""
    assert check_search({}) is None


def test_what_is_left_of_an_erasure() -> None:
    """The reason why something is left is shown, with what to do; nothing is shown if nothing is left."""
    found = check_erasing({"erasing_problem": "the file still has traces of what was erased: x"})

    assert found is not None
    assert (WARN, "the file still has traces of what was erased: x") == (found.verdict, found.about)
    assert found.remedy.startswith("make room")
    assert [None, None] == [check_erasing({}), check_erasing({"erasing_problem": None})]


def test_housekeeping_that_fails() -> None:
    """What the daemon tries again is shown as a warning; nothing is shown if nothing fails, or by an older daemon."""
    found = check_housekeeping({"housekeeping_problem": "forgetting old keys: disk I/O error; it is tried again"})

    assert found is not None
    assert (WARN, "forgetting old keys: disk I/O error") == (found.verdict, found.about)
    assert found.remedy.startswith("it is tried again; ")
    assert [None, None] == [check_housekeeping({}), check_housekeeping({"housekeeping_problem": None})]
