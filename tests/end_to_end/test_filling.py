"""The process that fills the search index of a daemon while much is written."""

import os
import signal
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.crash.test_erasing import ends_without_a_trace
from tests.daemon import Daemon, until, until_indexed

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")

# Two batches of commands, each more than is much to fill.
_EVENTS, _COMMANDS = 3000, 3
_SECRET = "xyzzyplugh"


def write_much(client: Client, agent: str) -> None:
    """Write more than the thread would fill, without waiting until it is found."""
    client.create(agent)
    for number in range(_COMMANDS):
        client.add(agent, [f"{number} {_SECRET} about tape {seq}" for seq in range(_EVENTS)])


def filling(daemon: Daemon) -> list[int]:
    """Return the ids of the processes that fill the index of a daemon."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            words = (stat.parent / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == daemon.process.pid and b"reeld.search" in words:
            found.append(int(stat.parent.name))
    return found


def _last_of_each() -> list[int]:
    """Return the seqs of the last message of each command."""
    return [1 + _EVENTS * number for number in range(1, 1 + _COMMANDS)]


def found(client: Client) -> list[int]:
    """Return the seqs of what a search finds for a word of these."""
    return sorted(hit.seq for hit in client.search(f"{_EVENTS - 1}").hits)


def begun(daemon: Daemon, client: Client) -> int:
    """Wait until a process has filled some of what was written, and return its id."""
    seen: list[int] = []

    def has_begun() -> bool:
        seen.extend(filling(daemon))
        return bool(seen)

    until(has_begun)
    until(lambda: client.stats()["search_indexed"] > 1)
    return seen[0]


def is_gone(process: int) -> bool:
    """Return whether there is no such process any more; one that has ended but was not waited for is gone as well."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_daemon_that_is_killed_meanwhile(daemon: Daemon) -> None:
    """The process ends with its daemon, and the next daemon goes on where it was."""
    with daemon.client() as client:
        write_much(client, "demo")
        orphan = begun(daemon, client)
        daemon.kill()
    until(lambda: is_gone(orphan))
    daemon.start()
    with daemon.client() as client:
        until_indexed(client)

        assert _last_of_each() == found(client)


def test_daemon_that_is_stopped_meanwhile(daemon: Daemon, client: Client) -> None:
    """The process ends before the daemon, which does not wait until all is filled."""
    write_much(client, "demo")
    process = begun(daemon, client)

    assert 0 == daemon.end()
    assert is_gone(process)
    assert "Traceback" not in daemon.log.read_text()


def test_process_that_is_killed_meanwhile(daemon: Daemon, client: Client) -> None:
    """What was in the middle is done again by the daemon, and its log says why."""
    write_much(client, "demo")
    os.kill(begun(daemon, client), signal.SIGKILL)
    write_much(client, "more")
    until_indexed(client)

    assert sorted(_last_of_each() * 2) == found(client)
    assert [] == filling(daemon)
    assert 1 == daemon.log.read_text().count("its process was ended by SIGKILL")


def test_redaction_meanwhile(daemon: Daemon, client: Client) -> None:
    """The process ends before anything is erased, and no file has what was redacted."""
    write_much(client, "demo")
    process = begun(daemon, client)
    client.redact("demo", text=_SECRET)

    assert is_gone(process)
    ends_without_a_trace(daemon)
