"""Three daemons on one PostgreSQL server: they are killed, as the server is, while clients load and follow all."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.crash import stats
from tests.crash.final_state import read_final_state
from tests.crash.followers import following, wait_until_told
from tests.crash.workload import LONG, Workload
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon
from tests.postgres import Server, own_server

DAEMONS = 3
# Deaths of a run, and what is acknowledged between two of them.
DEATHS, BETWEEN = (60, 60) if LONG else (3, 20)


@contextmanager
def daemons(server: Server) -> Iterator[list[Daemon]]:
    """Start daemons on a server."""
    with ExitStack() as stack:
        made: list[Daemon] = []
        for _ in range(DAEMONS):
            made.append(ForkedDaemon(stack.enter_context(short_directory())))
            made[-1].database = server.url
            stack.callback(made[-1].close)
            made[-1].start()
        yield made


def die(victim: Daemon | Server) -> None:
    """Kill a daemon, or stop the server at once, and start it again."""
    if isinstance(victim, Server):
        victim.stop()
        stats.count("stops of a server")
    else:
        victim.kill()
        stats.count("deaths")
    victim.start()


@pytest.mark.parametrize("seed", range(10 if LONG else 1))
def test_deaths_at_random(seed: int) -> None:
    """Whatever died, the history is one that an uninterrupted daemon could produce, and all copies equal the log."""
    chance = random.Random(seed)
    with own_server("synchronous_commit=on", "fsync=off") as server, daemons(server) as running:
        victims: list[Daemon | Server] = [*running, server]
        workload = Workload(running[0], seed, others=running[1:])
        with following(running) as followers:
            with workload.load():
                for _ in range(DEATHS):
                    workload.wait_for_commands(BETWEEN)
                    die(chance.choice(victims))
            workload.verify()
            with running[0].client() as client:
                events, final = read_final_state(client)
            wait_until_told(followers, max(event.id for event in events))
        for daemon in running[1:]:
            with daemon.client() as client:
                assert (events, final) == read_final_state(client)
        for follower in followers:
            assert [] == list(follower.differences(events, final))
            stats.count("copies of followers found right")
