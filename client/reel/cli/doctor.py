"""The command ``doctor``: everything that can be wrong between this client and its daemon."""

from collections.abc import Iterable, Iterator

from reel.address import default_database
from reel.cli import checks
from reel.cli.checks import BAD, WARN, Finding
from reel.cli.context import Invocation
from reel.cli.exits import OK, REFUSED
from reel.cli.failures import explain
from reel.cli.terminal import wrap
from reel.errors import ReelError, Timeout
from reel.sync.client import Client

# A daemon that is well answers within milliseconds.
_PATIENCE = 5.0
_STUCK = "its log says with what it is busy; where it stays so, kill the process that holds the locks"
# What stands below a finding stands below what it is about.
_MARGIN = " " * 23
_ELSEWHERE = "name another path with --socket or $REEL_SOCKET"


def doctor(run: Invocation) -> int:
    """Say how everything is, and what to do about what is not as it should be."""
    with run.out.waiting("waiting for the daemon's answer"):
        found = list(examine(run.socket))
    if run.out.as_json:
        run.out.documents(found)
    else:
        show(run, found)
    return REFUSED if any(finding.verdict == BAD for finding in found) else OK


def examine(socket: str) -> Iterator[Finding]:
    """Ask one question after the other; those about a daemon that does not answer, of what is on disk."""
    yield checks.path(socket)
    yield checks.directory(socket)
    pid, database, problem = None, default_database(), None
    with Client(socket, patience=0, timeout=_PATIENCE, name="reel doctor") as client:
        try:
            hello = client.connect().server
            assert hello is not None  # noqa: S101 - connect() has just seen to it
            pid = int(hello.server["pid"])
            stats = client.stats()
            database, problem = stats["database"], stats.get("storage_problem")
            yield checks.versions(hello, stats.get("sqlite", "?"))
        except ReelError as error:
            what, _, remedy = explain(error, "").partition("; ")
            yield Finding("daemon", BAD, what, _STUCK if isinstance(error, Timeout) else remedy or _ELSEWHERE)
    yield checks.lock("socket's lock", socket, pid)
    yield checks.space(database) if problem is None else _displaced(problem)
    yield checks.lock("database's lock", database, pid)
    yield checks.installed(needed=pid is None)


def _displaced(problem: str) -> Finding:
    """Report what the daemon says of its database, in its words."""
    about, _, remedy = problem.partition("; ")
    return Finding("database", BAD, about, remedy)


def show(run: Invocation, found: Iterable[Finding]) -> None:
    """Print a line for each finding, and below it what to do."""
    room = None if run.out.width is None else run.out.width - len(_MARGIN)
    for finding in found:
        first, *more = wrap(finding.about, room)
        run.out.line((f"{finding.verdict:<6}", finding.verdict), (f"{finding.check:<17}", "dim"), first)
        run.out.lines([_MARGIN, line] for line in more)
        if finding.verdict in (WARN, BAD):
            run.out.lines([_MARGIN, (line, "bold")] for line in wrap(finding.remedy, room))
