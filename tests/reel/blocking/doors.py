"""The doors to the daemon for blocking programs: the client, and what has one."""

import os
import sys
from collections.abc import Callable

from reel import requests
from reel.cli.line.names import PrefixResolvingClient
from reel.cli.screen.full_screen import cancellable_client
from reel.cli.screen.output import Output
from reel.importing.adding.pipeline import Pipeline
from reel.sync.client import Client
from reel.sync.methods import Methods

DOORS: dict[str, Callable[[str], Methods]] = {
    "client": Client,
    "prefixes": lambda path: PrefixResolvingClient(path, Output(sys.stdout, sys.stderr), exact=False),
    "cancellable": lambda path: cancellable_client(path, []),
    "pipeline": lambda path: Pipeline(Client(path)),
}


def add_some(door: Methods, agent: str, count: int) -> list[str]:
    """Add so many messages, in flight at the same time where that is possible; return the agents of all replies."""
    replies: list[str] = []
    for number in range(count):
        call = requests.add(agent, f"{agent} {number}")
        if isinstance(door, Pipeline):
            door.submit(call, lambda reply: replies.append(reply.agent))
        else:
            replies.append(door.call(call).agent)
    if isinstance(door, Pipeline):
        door.drain()
    return replies


def fork(name: str, path: str) -> bool:
    """Return whether a parent and its child both get their own replies, and nothing is added twice."""
    parent, child = f"fork-{name}-parent", f"fork-{name}-child"
    replies: list[str] = []
    with DOORS[name](path) as door:
        of_parent, of_child = door.create(parent).id, door.create(child).id
        if isinstance(door, Pipeline):
            door.submit(requests.add(parent, "in flight"), lambda reply: replies.append(reply.agent))
        if not (forked := os.fork()):
            os._exit(0 if add_some(door, child, 50) == [of_child] * 50 and not replies else 1)
        is_right = [of_parent] * 50 == add_some(door, parent, 50)
        _, status = os.waitpid(forked, 0)
        counts = [door.agent(agent).messages for agent in (parent, child)]
    in_flight = int(name == "pipeline")
    return is_right and status == 0 and counts == [50 + in_flight, 50] and replies == [of_parent] * in_flight


if __name__ == "__main__":
    sys.exit(0 if fork(*sys.argv[1:]) else 1)
