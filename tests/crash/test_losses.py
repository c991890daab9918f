"""A PostgreSQL server comes back with less than it acknowledged, under load: whatever is left is right."""

import random
import time
from contextlib import ExitStack
from functools import partial
from threading import Event as Flag

import pytest

from tests.crash import stats
from tests.crash.losing import (
    KINDS,
    Copier,
    Writer,
    daemons_on,
    differences,
    foreign_parents,
    running,
    stop_all,
    wait_for_more,
    wait_until_told,
)
from tests.crash.workload import LONG
from tests.daemon import short_directory
from tests.forkserver import ForkedDaemon

ROUNDS, DAEMONS = (20, (1, 3)) if LONG else (1, (3,))
# Of the others there are tests one by one (tests/end_to_end/test_server_losses.py).
FAST = ("promoted",)
WRITERS = 8
# Texts of each writer before, during and after the time whose texts may be lost.
BEFORE, DURING, AFTER = (10, 20, 10) if LONG else (2, 4, 2)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("daemons", DAEMONS)
@pytest.mark.parametrize("kind", KINDS if LONG else FAST)
def test_losses_at_random(kind: str, daemons: int, seed: int) -> None:
    """Every conversation is a prefix of what was acknowledged before, and all that was after; all copies equal it."""
    chance = random.Random(f"{kind} {daemons} {seed}")
    with ExitStack() as stack:
        losing = stack.enter_context(KINDS[kind]())
        made = [ForkedDaemon(stack.enter_context(short_directory())) for _ in range(daemons)]
        daemons_on(stack, losing, made)
        sockets = [daemon.socket for daemon in made]
        writers = [Writer(f"w{number}", sockets, chance.getrandbits(32)) for number in range(WRITERS)]
        copiers = [Copier(path) for path in sockets]
        with running([copier.run for copier in copiers], partial(stop_all, copiers)):
            stop = Flag()
            with running([partial(writer.run, stop) for writer in writers], stop.set):
                wait_for_more(writers, 0, chance.randint(1, BEFORE))
                losing.begin()
                wait_for_more(writers, time.monotonic(), chance.randint(1, DURING))
                losing.lose()
                back = time.monotonic()
                wait_for_more(writers, back, chance.randint(1, AFTER))
            with made[0].client() as client:
                newest = client.history("w0", last=1).events[-1]["id"]
                for writer in writers[1:]:
                    newest = max(newest, client.history(writer.name, last=1).events[-1]["id"])
                wait_until_told(copiers, newest)
                problems = [
                    problem
                    for writer in writers
                    for problem in writer.problems(
                        [record["content"] or "" for record in client.iter_conversation(writer.name)], back
                    )
                ]
                for copier in copiers:
                    problems += differences(copier, client)
                problems += map(str, foreign_parents(losing.url))
                ids = [event["id"] for writer in writers for event in client.iter_history(writer.name)]
                verified = client.verify().problems
        assert [] == problems + [f"{each}" for each in verified]
        assert len(ids) == len(set(ids))
        told: dict[int, tuple[str, int, str]] = {}
        for copier in copiers:
            for event, what in copier.told.items():
                assert told.setdefault(event, what) == what, "an id was used twice"
        if daemons == 1:  # of several, one may have acknowledged what the others had not heard of
            assert len({(agent, seq) for agent, seq, _ in told.values()}) == len(told), "a seq was used twice"
        lost = sum(event not in ids for event in told)
        stats.count(f"rounds of a server that was {kind}, {daemons} daemons")
        stats.count(f"lost events of a server that was {kind}, as they were told", lost)
        stats.count("texts acknowledged", sum(len(writer.added) for writer in writers))
        stats.count("resets", sum(copier.resets for copier in copiers))
