"""The command ``doctor``: everything that can be wrong between this client and its daemon.

The checks are in :mod:`reel.cli.commands.checks`; this module runs and shows them.
"""

from collections.abc import Iterable, Iterator

from reel.base.errors import NotRunning, ReelError, Timeout
from reel.cli.commands.checks.connection import check_directory, check_installed, check_lock, check_path, check_versions
from reel.cli.commands.checks.contents import check_contents, verified_by_daemon, verified_by_program
from reel.cli.commands.checks.database import (
    check_backups,
    check_database,
    check_erasing,
    check_housekeeping,
    check_losses,
    check_place,
    check_retention,
    check_search,
    check_server,
    check_space,
    check_wal,
    reported_problem,
    server_report,
)
from reel.cli.commands.checks.finding import BAD, WARN, Finding
from reel.cli.commands.checks.imports import check_imports
from reel.cli.commands.checks.settings import check_own_settings, check_settings
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.daemon.address import default_database, default_socket, standard_database
from reel.daemon.database_url import is_url, printable
from reel.daemon.lock_file import daemon_of
from reel.daemon.program import checked_settings
from reel.reading.failures import explain
from reel.reading.wording import wrap
from reel.sync.client import Client

# Seconds to wait for an answer; a healthy daemon answers within milliseconds.
_ANSWER_TIMEOUT = 5.0
_STUCK = "its log says what it is doing; if it stays busy, kill the process that holds the locks"
# The remedy is indented to the text of the finding above it.
_MARGIN = " " * 23
_ELSEWHERE = "name another path with --socket or $REEL_SOCKET"


def doctor(ctx: Context) -> int:
    """Run all checks, and print the results and how to fix what is wrong."""
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
    except NotRunning:  # reeld may not be installed; then check only the settings that clients read
        wrong, printed = _own_problem(), ""
    yield check_settings(wrong)
    yield check_own_settings()
    holder = daemon_of(socket)
    its_own = holder.socket if holder is not None and holder.socket else socket
    yield check_path(its_own)
    yield check_directory(its_own)
    pid, database, problem, wal, others = None, printable(_own_database()), None, None, []
    with Client(socket, patience=0, timeout=limit, name="reel doctor") as client:
        try:
            hello = client.connect().server
            assert hello is not None  # noqa: S101 - connect() has set it
            pid = int(hello.server["pid"])
            stats = client.stats()
            database, problem, wal = stats["database"], stats.get("storage_problem"), check_wal(stats)
            checks = (check_losses, check_erasing, check_retention, check_housekeeping, check_search, check_backups)
            others = [check(stats) for check in checks]
            yield check_versions(hello, stats.get("sqlite", "?"))
        except ReelError as error:
            what, _, remedy = explain(error, "").partition("; ")
            yield Finding("daemon", BAD, what, _STUCK if isinstance(error, Timeout) else remedy or _ELSEWHERE)
    yield check_lock("socket's lock", its_own, pid)
    if problem is not None:
        yield reported_problem(problem)
    if is_url(database):
        found = check_server(database, printed if database == printable(_own_database()) else server_report(database))
        yield from (finding for finding in found if problem is None or finding.check == "server")
    elif (misplaced := check_place(database)) is not None:
        yield misplaced
    if not is_url(database) and problem is None:
        unusable = check_database(database)
        yield unusable or check_space(database)
        if unusable is None:
            verify = verified_by_program(database) if pid is None else verified_by_daemon(socket)
            others.append(check_contents(database, verify))
        if wal is not None:
            yield wal
    yield from filter(None, others)
    if not is_url(database):
        yield check_lock("database's lock", database, pid)
    yield from check_imports(socket)
    yield check_installed(needed=pid is None)


def show(ctx: Context, findings: Iterable[Finding]) -> None:
    """Print each finding, and below it what to do."""
    room = None if ctx.out.width is None else ctx.out.width - len(_MARGIN)
    for finding in findings:
        first, *more = wrap(finding.about, room)
        ctx.out.line((f"{finding.verdict:<6}", finding.verdict), (f"{finding.check:<17}", "dim"), first)
        ctx.out.lines([_MARGIN, line] for line in more)
        if finding.verdict in (WARN, BAD):
            ctx.out.lines([_MARGIN, (line, "bold")] for line in wrap(finding.remedy, room))


def _own_problem() -> str | None:
    try:
        default_socket()
    except NotRunning as error:
        return error.message.partition("; ")[0]
    return None


def _own_database() -> str:
    try:
        return default_database()
    except NotRunning:  # check_settings says why
        return standard_database()
