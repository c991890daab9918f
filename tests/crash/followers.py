"""Clients that keep a copy of every conversation from what they are told, and go on when their daemon is back."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event as Flag
from typing import Any

from reel.base.errors import ReelError
from reel.sync.client import Client
from reel.sync.subscription import Subscription
from reel.wire.pushes import EventPush, ResetPush
from tests.crash.history import Event, FinalAgent, said
from tests.daemon import Daemon, until
from tests.patience import PATIENCE

# Seconds between two attempts to follow.
_PAUSE = 0.01


class Follower:
    """Follows all agents at one daemon, from the first event on; ``ids`` are those of the events, as they came.

    Args:
        daemon: the daemon.
    """

    def __init__(self, daemon: Daemon) -> None:
        self.ids: list[int] = []
        self._daemon = daemon
        self._copies: dict[str, list[Any]] = {}
        self._stop = Flag()
        self._pushes: Subscription | None = None

    def stop(self) -> None:
        """End :meth:`run`."""
        self._stop.set()
        if self._pushes is not None:
            self._pushes.close()

    def run(self) -> None:
        """Follow until :meth:`stop`."""
        with Client(self._daemon.socket, patience=PATIENCE) as client:
            while not self._stop.is_set():
                since = self.ids[-1] if self.ids else 0
                try:
                    with client.subscribe(since=since, view="conversation") as self._pushes:
                        self._follow(client, self._pushes)
                except ReelError:
                    self._stop.wait(_PAUSE)  # the server is away

    def _follow(self, client: Client, pushes: Subscription) -> None:
        while not self._stop.is_set() and (push := next(pushes, None)) is not None:
            self._hear(client, push)

    def _hear(self, client: Client, push: Any) -> None:
        if isinstance(push, ResetPush):
            self._copies.clear()  # each is read again when it is told of next
        elif isinstance(push, EventPush):
            copy = self._copies.get(push.agent, [])[: push.keep]
            if push.record is not None:
                copy.append(push.record)
            if len(copy) != push.count:
                copy = list(client.iter_conversation(push.agent, at=push.seq))
            self._copies[push.agent] = copy
            self.ids.append(push.id)

    def differences(self, events: Sequence[Event], final: Sequence[FinalAgent]) -> Iterator[str]:
        """Yield where it differs from the log and the agents at the end."""
        logged = sorted(event.id for event in events)
        if self.ids != logged:
            yield f"lacks {sorted({*logged} - {*self.ids})[:9]}, or was told of {len(self.ids)} out of order or twice"
        for agent in final:
            copy = said(self._copies[agent.agent])
            if copy != agent.records:
                yield f"has of {agent.name} {copy}, the log {agent.records}"


@contextmanager
def following(daemons: Sequence[Daemon]) -> Iterator[list[Follower]]:
    """Follow all agents at each of some daemons until the block ends."""
    followers = [Follower(daemon) for daemon in daemons]
    with ThreadPoolExecutor(len(followers)) as pool:
        running = [pool.submit(follower.run) for follower in followers]
        try:
            yield followers
        finally:
            for follower in followers:
                follower.stop()
        for each in running:
            each.result(PATIENCE)


def wait_until_told(followers: Sequence[Follower], newest: int) -> None:
    """Wait until all have been told of an event."""
    for follower in followers:
        until(lambda: bool(follower.ids) and follower.ids[-1] >= newest)  # noqa: B023 - it is called at once
