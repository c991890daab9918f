"""A look at what is in a database: the whole check of ``reel verify``, as far as it comes in a few seconds."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from reel.base.errors import NotRunning, ReelError, Timeout, from_wire
from reel.cli.commands.checks.database import has_tables
from reel.cli.commands.checks.finding import BAD, FINE, WARN, Finding
from reel.daemon.program import executable, run_briefly
from reel.reading.wording import count, size
from reel.replies import Verified
from reel.requests.calls import reply_reader
from reel.sync.client import Client

# Above this size the check takes longer than a person waits, and would read the disk meanwhile.
_LARGE = 256 << 20
_SECONDS = 5.0
# Problems by which nothing is lost.
_HARMLESS = frozenset({"kind", "milestone", "record", "unchecked"})
_EVERYTHING = "reel verify checks everything"

# Checks everything within so many seconds, or raises an error.
Verify = Callable[[float], Verified]


def check_contents(database: str, verify: Verify) -> Finding | None:
    """Check what is in the file of a database; return ``None`` if there is nothing, or nothing that can check it."""
    large = _size_of(database)
    if large is None or not has_tables(database):
        return None
    if large > _LARGE:
        return Finding("contents", FINE, f"{size(large)} were not looked at; {_EVERYTHING}")
    try:
        found = verify(_SECONDS)
    except Timeout:
        return Finding("contents", FINE, f"no problem in the first {_SECONDS:g} s; {_EVERYTHING}")
    except NotRunning:
        return None
    except ReelError as error:
        about, _, remedy = error.message.partition("; ")
        return Finding("contents", BAD, about, remedy or "see docs/operations.md, if the database is damaged")
    if not found.problems:
        return Finding("contents", FINE, f"{count(found.agents, 'conversation')}, {count(found.events, 'event')}")
    verdict = WARN if all(problem.what in _HARMLESS for problem in found.problems) else BAD
    first, number = found.problems[0], len(found.problems) + found.omitted
    about = f"{count(number, 'problem')}, such as: {first.what}: {first.reason}"
    return Finding("contents", verdict, about, "see all of them, and what to do: reel verify")


def _size_of(database: str) -> int | None:
    try:
        return Path(database).stat().st_size
    except OSError:
        return None


def verified_by_daemon(socket: str) -> Verify:
    """Return what lets the daemon check its database; it stops when we no longer wait."""

    def verify(seconds: float) -> Verified:
        with Client(socket, patience=0, timeout=seconds, name="reel doctor") as client:
            return client.verify()

    return verify


def verified_by_program(database: str) -> Verify:
    """Return what lets the daemon's program check a file that no daemon has open."""

    def verify(seconds: float) -> Verified:
        command = [*executable(), "verify", database]
        try:
            ran = run_briefly(command, seconds)
        except subprocess.TimeoutExpired:
            raise Timeout(f"the check took longer than {seconds:g} s", seconds=seconds) from None
        last = json.loads((ran.stdout.splitlines() or ["{}"])[-1])
        if "error" in last:
            raise from_wire(last["error"])
        if "report" not in last:
            raise NotRunning(f"{' '.join(command)} ended with status {ran.returncode}, without a result")
        return reply_reader(Verified)(last["report"])

    return verify
