"""The command ``doctor``: everything that can be wrong between this client and its daemon.

There is one function per check. Nothing is changed, and no database is opened.
"""

import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from reel.address import MAX_PATH, config_file, default_database, default_socket, standard_database
from reel.cli.arguments import SettingsError
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.failures import explain
from reel.cli.settings import Settings, load, settings_file
from reel.cli.terminal import age, count, size, wrap
from reel.database_url import is_url, printable
from reel.errors import NotRunning, ReelError, Timeout
from reel.process import checked_settings, lock_holder
from reel.replies import Hello
from reel.sync.client import Client
from reel.version import PROTOCOL, __version__

FINE = "ok"
# There is nothing to check, and that is no problem.
NOTHING = "--"
WARN = "warn"
BAD = "bad"
_VERDICTS = {"warning": WARN, "problem": BAD}

_MODULES = ("reeld", "anyio", "trio", "aiosqlite")
_MEGABYTE = 1 << 20
# Besides new messages, the WAL and its checkpoints need some room.
_SCARCE = 500 * _MEGABYTE
_TOO_LITTLE = 50 * _MEGABYTE
# The daemon itself keeps the WAL at half of it.
_LARGE_WAL = 128 * _MEGABYTE
_FIND_READER = "see who has it open: lsof FILE-shm; nothing is lost, but starts after a crash take longer"
_END_READER = "end the transaction or the process; nothing is lost, but starts after a crash take longer"
# Seconds to wait for an answer; a healthy daemon answers within milliseconds.
_ANSWER_TIMEOUT = 5.0
_STUCK = "its log says what it is doing; if it stays busy, kill the process that holds the locks"
# SQLite's file header and the start of its first page, up to the number of tables in the page that lists them.
_HEADER = 105
_SQLITE = b"SQLite format 3\0"
# The application id with which the daemon marks its databases.
_APPLICATION = b"reel"
_MOVE = "move it away with its -wal and -shm, and put a backup in its place, or name another file with $REEL_DATABASE"
# What `reeld --check` says of a server.
_ABOUT_SERVER = re.compile(r"^# (server|warning|problem): (.*)$", re.MULTILINE)
_MOVE_INDEX = "move it away; it is built again within a minute, nothing is lost"
# The remedy is indented to the text of the finding above it.
_MARGIN = " " * 23
# What may come before the program of a command line, and what only the shell understands.
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL_SYNTAX = re.compile(r"[^\w./+@%:,~ -]")
_NO_PROGRAM = "install it, or correct the setting; a relative path is looked up in the current directory"
_ELSEWHERE = "name another path with --socket or $REEL_SOCKET"


class Finding(NamedTuple):
    """The result of one check: a verdict, and what to do unless it is good."""

    check: str
    verdict: str
    about: str
    remedy: str = ""


def doctor(ctx: Context) -> int:
    """Check everything, and print what to do about what is not as it should be."""
    with ctx.out.waiting("waiting for the daemon's answer"):
        findings = list(examine(ctx.socket, ctx.args.time_limit or _ANSWER_TIMEOUT))
    if ctx.out.as_json:
        ctx.out.documents(findings)
    else:
        show(ctx, findings)
    return REFUSED if any(finding.verdict == BAD for finding in findings) else OK


def examine(socket: str, limit: float = _ANSWER_TIMEOUT) -> Iterator[Finding]:
    """Run the checks. If the daemon does not answer, look at the files at their usual places."""
    try:
        wrong, printed = checked_settings()
    except NotRunning:  # reeld may not be installed; then check only what the clients read
        wrong, printed = _own_problem(), ""
    yield check_settings(wrong)
    yield check_own_settings()
    yield check_path(socket)
    yield check_directory(socket)
    pid, database, problem, wal, others = None, printable(_own_database()), None, None, []
    with Client(socket, patience=0, timeout=limit, name="reel doctor") as client:
        try:
            hello = client.connect().server
            assert hello is not None  # noqa: S101 - connect() has set it
            pid = int(hello.server["pid"])
            stats = client.stats()
            database, problem, wal = stats["database"], stats.get("storage_problem"), check_wal(stats)
            others = [check_search(stats), check_backups(stats)]
            yield check_versions(hello, stats.get("sqlite", "?"))
        except ReelError as error:
            what, _, remedy = explain(error, "").partition("; ")
            yield Finding("daemon", BAD, what, _STUCK if isinstance(error, Timeout) else remedy or _ELSEWHERE)
    yield check_lock("socket's lock", socket, pid)
    if problem is not None:
        yield _storage_problem(problem)
    if is_url(database):
        found = check_server(database, printed if database == printable(_own_database()) else _said_of(database))
        yield from (finding for finding in found if problem is None or finding.check == "server")
    elif problem is None:
        yield check_database(database) or check_space(database)
        if wal is not None:
            yield wal
    yield from filter(None, others)
    if not is_url(database):
        yield check_lock("database's lock", database, pid)
    yield check_installed(needed=pid is None)


def _own_database() -> str:
    try:
        return default_database()
    except NotRunning:  # check_settings says why
        return standard_database()


def _storage_problem(problem: str) -> Finding:
    """Return the problem that the daemon itself has reported of its database."""
    about, _, remedy = problem.partition("; ")
    return Finding("database", BAD, about, remedy)


def show(ctx: Context, findings: Iterable[Finding]) -> None:
    """Print each finding, and below it what to do."""
    room = None if ctx.out.width is None else ctx.out.width - len(_MARGIN)
    for finding in findings:
        first, *more = wrap(finding.about, room)
        ctx.out.line((f"{finding.verdict:<6}", finding.verdict), (f"{finding.check:<17}", "dim"), first)
        ctx.out.lines([_MARGIN, line] for line in more)
        if finding.verdict in (WARN, BAD):
            ctx.out.lines([_MARGIN, (line, "bold")] for line in wrap(finding.remedy, room))


def check_settings(problem: str | None) -> Finding:
    """Check that a daemon could start with the settings in its file and in the environment.

    Args:
        problem: what is wrong with them.
    """
    if problem is not None:
        return Finding("settings", BAD, problem, "correct it; see all settings with: reeld --check")
    file = config_file()
    return Finding("settings", FINE, file if Path(file).exists() else f"{file}: not there; the defaults apply")


def check_own_settings() -> Finding:
    """Check the settings of this command."""
    file = settings_file()
    try:
        settings = load()
    except SettingsError as error:
        return Finding("reel.toml", BAD, str(error), "correct it; until then, most commands refuse to run")
    if missing := list(_missing_programs(settings)):
        return Finding("reel.toml", WARN, f"{file}: {', '.join(missing)}", _NO_PROGRAM)
    return Finding("reel.toml", FINE, file if Path(file).exists() else f"{file}: not there; the defaults apply")


def _missing_programs(settings: Settings) -> Iterator[str]:
    """Yield each setting whose command line begins with a program that does not exist."""
    commands = {f"providers.{name}.command": provider["command"] for name, provider in settings.providers.items()}
    if settings.via and settings.via not in settings.providers:
        commands["via"] = settings.via
    for name, command in commands.items():
        if not is_found(program := program_of(command)):
            yield f"{name}: there is no program {program!r}"


def program_of(command: str) -> str:
    """Return the program with which a command line begins; empty if only the shell can tell."""
    words = (word for word in shlex.split(command) if not _ASSIGNMENT.match(word))
    program = os.path.expanduser(os.path.expandvars(next(words, "")))  # noqa: PTH111 - not everything is a path
    return "" if _SHELL_SYNTAX.search(program) else program


def is_found(program: str) -> bool:
    """Return whether the shell can run a program, relative to the current directory."""
    if not program or shutil.which(program):
        return True
    # It may also be a part of the shell, such as exec or if.
    ask = ["/bin/sh", "-c", 'command -v "$1" > /dev/null 2>&1', "sh", program]
    return "/" not in program and subprocess.run(ask, check=False).returncode == 0  # noqa: S603 - it runs nothing


def _own_problem() -> str | None:
    try:
        default_socket()
    except NotRunning as error:
        return error.message.partition("; ")[0]
    return None


def check_path(socket: str) -> Finding:
    """Check the path of the socket, and the socket if it exists."""
    size = len(os.fsencode(socket))
    if size > MAX_PATH:
        about = f"{socket}: too long ({size} bytes; at most {MAX_PATH})"
        return Finding("socket", BAD, about, "use a shorter path with --socket or $REEL_SOCKET")
    try:
        status = os.lstat(socket)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            return Finding("socket", NOTHING, f"{socket}: not there yet")
        return Finding("socket", FINE, f"{socket}: {error.strerror}")
    if not stat.S_ISSOCK(status.st_mode):
        return Finding("socket", BAD, f"{socket}: not a socket", "move it away, or name another path with --socket")
    if status.st_mode & 0o077:
        return Finding(
            "socket", WARN, f"{socket}: {_mode(status)}, other users may connect to it", f"chmod 600 {socket}"
        )
    return Finding("socket", FINE, f"{socket}: {_mode(status)}")


def check_directory(socket: str) -> Finding:
    """Check that nobody else can put another socket in the place of ours."""
    where = Path(socket).parent
    try:
        status = where.stat()
    except FileNotFoundError:
        return Finding("directory", NOTHING, f"{where}: not there yet; reeld creates it")
    except OSError as error:
        return Finding("directory", BAD, f"{where}: {error.strerror}", "name another path with --socket")
    about = f"{where}: {_mode(status)}, of uid {status.st_uid}"
    if status.st_uid not in (os.getuid(), 0):
        return Finding("directory", BAD, f"{about}, another user", "name another path with --socket or $REEL_SOCKET")
    if not status.st_mode & 0o022:
        return Finding("directory", FINE, about)
    if status.st_mode & stat.S_ISVTX:
        return Finding("directory", WARN, f"{about}, anyone can write to it", "use a directory of your own: chmod 700")
    return Finding("directory", BAD, f"{about}, others can write to it", f"chmod go-w {where}")


def check_versions(hello: Hello, sqlite: str) -> Finding:
    """Check that the daemon that answers has the version of this client."""
    version = hello.server.get("version")
    about = f"pid {hello.server.get('pid')}, version {version}, protocol {hello.protocol}, SQLite {sqlite}"
    if (version, hello.protocol) == (__version__, PROTOCOL):
        return Finding("daemon", FINE, about)
    about += f"; this reel is {__version__}, protocol {PROTOCOL}"
    return Finding("daemon", WARN, about, "restart the daemon with the newer version: reel stop; reel start")


def check_lock(check: str, locked: str, daemon: int | None) -> Finding:
    """Check who holds the lock of a file: the daemon that answers, or nobody if none does."""
    name, pid = f"{locked}.lock", lock_holder(locked)
    if pid == daemon:
        return Finding(check, FINE, f"{name}: {'free' if pid is None else f'held by pid {pid}'}")
    if pid is None:
        about = f"{name}: not held by the daemon (pid {daemon})"
        return Finding(check, BAD, about, "the file was replaced while in use: reel stop; reel start")
    if daemon is None:
        about = f"{name}: held by pid {pid}, which does not answer here"
        return Finding(check, BAD, about, f"see what it is: ps -fp {pid}; stop it: kill {pid}")
    return Finding(check, BAD, f"{name}: held by pid {pid}, not by the daemon (pid {daemon})", f"see: ps -fp {pid}")


def check_database(database: str) -> Finding | None:
    """Check by its first page that a file is a database of ours; return ``None`` if nothing is wrong."""
    try:
        with Path(database).open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return None  # reeld creates it
    except OSError as error:
        return Finding("database", BAD, f"{database}: {error.strerror}", "name another file with $REEL_DATABASE")
    if header and not header.startswith(_SQLITE):
        return Finding("database", BAD, f"{database}: not an SQLite database", _MOVE)
    application, user_version, tables = header[68:72], header[60:64], header[103:105]
    # A new database still has its application id and its tables in the WAL only.
    begun = not any(application) and (_has_wal(database) or not any(user_version + tables))
    if application != _APPLICATION and not begun:
        return Finding("database", BAD, f"{database}: another program's database", _MOVE)
    return None


def _has_wal(database: str) -> bool:
    try:
        return Path(f"{database}-wal").stat().st_size > 0
    except OSError:
        return False


def _said_of(database: str) -> str:
    """Return what the daemon's own check prints if it can look at a database that the settings do not name.

    It cannot if the daemon was started with a password, which is not printed.
    """
    try:
        _, printed = checked_settings("--database", database)
    except NotRunning:
        return ""
    return printed if any(word == "server" for word, _ in _ABOUT_SERVER.findall(printed)) else ""


def check_server(database: str, printed: str) -> Iterator[Finding]:
    """Yield what the daemon's own check says of a database on a server.

    Args:
        database: its URL.
        printed: what the check prints; empty if it cannot look at the database.
    """
    said = _ABOUT_SERVER.findall(printed)
    facts = [sentence for word, sentence in said if word == "server"]
    if facts or not said:
        yield Finding("database", FINE, f"{database}: {'; '.join(facts) or 'see reeld --check'}")
    for word, sentence in said:
        if word in _VERDICTS:
            about, _, remedy = sentence.partition("; ")
            yield Finding("server", _VERDICTS[word], about, remedy)


def check_space(database: str) -> Finding:
    """Check how much space is free where the database is, or would be."""
    where = Path(database).parent
    try:
        while not where.exists():
            where = where.parent
        free = shutil.disk_usage(where).free
    except OSError as error:
        return Finding("database", BAD, f"{where}: {error.strerror}", "use another place with $REEL_DATABASE")
    about = f"{database}: {_size_of(database)}; {size(free)} free on its disk"
    if free < _SCARCE:
        return Finding("database", BAD if free < _TOO_LITTLE else WARN, about, f"make room on the disk of {where}")
    return Finding("database", FINE, about)


def check_wal(stats: dict[str, Any]) -> Finding | None:
    """Check that no other process keeps the WAL from being overwritten; return ``None`` if it is not large.

    Args:
        stats: what the daemon counts.
    """
    wal, readers = stats.get("wal_bytes") or 0, stats.get("wal_readers")
    if wal < _LARGE_WAL:
        return None
    about = f"{stats['database']}-wal: {size(wal)}"
    if not readers:
        return Finding("WAL", WARN, f"{about}; it may be that another process reads the database", _FIND_READER)
    return Finding("WAL", WARN, f"{about}; it grows while others read the database: {', '.join(readers)}", _END_READER)


def check_search(stats: dict[str, Any]) -> Finding | None:
    """Check that everything can be found; return ``None`` if the daemon is older than its search.

    Args:
        stats: what the daemon counts.
    """
    if (path := stats.get("search_index")) is None:
        return None
    if (problem := stats.get("search_problem")) is not None:
        remedy = _MOVE_INDEX if problem.startswith(path) else "it goes on when the database can be read again"
        return Finding("search", WARN, problem, remedy)
    behind = stats.get("search_behind") or 0
    left = f"; {count(behind, 'event')} not in it yet" if behind else ""
    return Finding("search", FINE, f"{path}: {size(stats.get('search_index_bytes') or 0)}{left}")


def check_backups(stats: dict[str, Any]) -> Finding | None:
    """Check the backups that the daemon makes by itself; return ``None`` if it makes none.

    Args:
        stats: what the daemon counts.
    """
    if (directory := stats.get("scheduled_backup_directory")) is None:
        return None
    newest = stats.get("scheduled_backup_time")
    about = "no backup yet" if newest is None else f"last backup {age(newest)} ago"
    if (problem := stats.get("scheduled_backup_problem")) is not None:
        return Finding("backups", WARN, f"{problem}; {about}", "repair that; the older backups stay")
    return Finding("backups", FINE, f"{directory}: {about}")


def _size_of(database: str) -> str:
    try:
        return size(Path(database).stat().st_size)
    except OSError:
        return "not there yet"


def check_installed(*, needed: bool) -> Finding:
    """Check that a daemon could be started from here."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    program = shutil.which("reeld")
    if not missing or ("reeld" in missing and program):
        return Finding("reeld", FINE, f"installed{f': {program}' if program else ''}")
    return Finding("reeld", BAD if needed else WARN, f"{missing[0]} is missing", "pip install reeld")


def _mode(status: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(status.st_mode):04o}"
