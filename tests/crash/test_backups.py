"""Backups that are taken while clients do everything at once."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.crash.workload import LONG, Workload
from tests.daemon import short_directory
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE


@pytest.mark.parametrize("seed", range(30 if LONG else 1))
def test_under_full_load(directory: Path, seed: int) -> None:
    """Each agent of a backup is what it was at one moment, and no acknowledged event from before is missing."""
    backups: list[tuple[Path, dict[str, int]]] = []
    with closing(ForkedDaemon(directory).start()) as daemon, daemon.client() as client:
        work = Workload(daemon, seed)
        with work.load():
            for number in range(3 if LONG else 2):
                work.wait_for_commands(60)
                acknowledged = heads(client)
                path = directory / f"copy-{number}.db"
                client.backup(str(path))
                backups.append((path, acknowledged))
            work.wait_for_commands(60)

        for path, acknowledged in backups:
            compare(path, acknowledged, client)


def heads(client: Client) -> dict[str, int]:
    """Return the head of each agent by its id, killed ones included."""
    return {agent.id: agent.head for agent in client.iter_agents()}


def compare(path: Path, acknowledged: dict[str, int], client: Client) -> None:
    """Restore a backup elsewhere, and compare it with the daemon that it was taken from."""
    with short_directory() as place:
        restore(path, place)
        with closing(ForkedDaemon(place).start()) as restored, restored.client() as copy:
            found = heads(copy)
            assert [] == [agent for agent, head in acknowledged.items() if found.get(agent, -1) < head]
            for agent, head in found.items():
                assert logged(copy, agent, head) == logged(client, agent, head)
                shown = [dict(message) for message in copy.iter_messages(agent)]
                assert shown == [dict(message) for message in client.iter_messages(agent, at=head)]
            assert [] == copy.verify().problems


def restore(path: Path, place: Path) -> None:
    """Restore a backup in a directory without a daemon, as a person would."""
    home = {"REEL_SOCKET": str(place / "s.sock"), "REEL_DATABASE": str(place / "r.db")}
    command = [sys.executable, "-c", "from reel.cli import process; process()", "restore-backup", str(path)]
    subprocess.run(command, env={**os.environ, **home}, check=True, timeout=PATIENCE)


def logged(client: Client, agent: str, head: int) -> list[dict[str, object]]:
    """Return the events of an agent up to one."""
    return [dict(event) for event in client.iter_history(agent) if event["seq"] <= head]
