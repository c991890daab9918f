"""Names of agents: a part of one that was typed becomes the name, and so does an id in a reply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reel import requests
from reel.base.errors import NotFound
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.meant import Meant
from reel.cli.screen.output import Output
from reel.reading.short_names import short_forms
from reel.requests import Call
from reel.sync.client import Client
from reel.sync.methods import Methods

if TYPE_CHECKING:
    from typing import Self, TypeVar

    from reel.replies import Hello
    from reel.sync.subscription import Subscription

    R = TypeVar("R")

# How many names a line of a reply lists.
_LISTED = 8
# How many of the agents whose names begin with a whole name are looked at: the oldest of them has that name.
_NEAR = 8
_WAITING = "waiting for the daemon's answer"
# Seconds for an answer if nobody at a terminal sees the wait and can end it. The slowest answer that does not depend on
# the size of the database took 15 s: the one to a load of the largest size.
_SCRIPT_LIMIT = 60.0
# The larger the database, the longer these take: they have a limit only if one was asked for.
UNLIMITED = frozenset({"backup", "verify", "replay", "redact", "prune", "purge", "retention"})


class PrefixResolvingClient(Methods):
    """Has a client, and resolves a part of an agent's name: a short form, or a prefix, if only one agent is meant.

    A script that changes something has to give the whole name: after a rename, a part could mean another agent, and
    nobody would notice. The command decides this, not the request: some commands read the agent before they change it.

    Args:
        socket: the path of the daemon's socket.
        out: where to show progress.
        exact: whether a whole name is required.
        autostart: start the daemon if none runs.
        limit: how long the daemon may take to answer, in seconds; ``None`` for the default.
    """

    # The methods without a limit.
    _unlimited: frozenset[str] = frozenset()

    def __init__(
        self, socket: str, out: Output, *, exact: bool, autostart: bool = False, limit: float | None = None
    ) -> None:
        if limit is None and not sys.stderr.isatty():
            limit = _SCRIPT_LIMIT
            self._unlimited = UNLIMITED
        self._client = Client(socket, autostart=autostart, timeout=limit, name="reel", start=self._start)
        self._limit = limit
        self._out = out
        self._exact = exact
        # The text to show if a call takes long, and whether the daemon was started without a notice yet.
        self._doing = _WAITING
        self._started = False
        # The names that are meant by what was typed.
        self._meant: dict[str, str] = {}

    @property
    def server(self) -> Hello | None:
        """What the daemon said of itself at the newest connection; ``None`` before the first one."""
        return self._client.server

    def whole_name(self, typed: str) -> str:
        """Return the name that is meant by what was typed, if that is known already, else what was typed."""
        return self._meant.get(typed, typed)

    def give_up_after(self, patience: float) -> None:
        """Try to reconnect only this many seconds from now on; the caller reports the loss, and tries again."""
        self._client.patience = patience

    def has(self, agent: str) -> bool:
        """Return whether an agent with exactly this name or id exists."""
        with self._waiting():
            try:
                self._client.call(requests.agent(agent))
            except NotFound:
                return False
        return True

    def connect(self) -> Self:
        """Connect now instead of at the first call."""
        with self._waiting():
            self._client.connect()
        return self

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def subscribe(
        self, agent: str | None = None, since: int | None = None, *, kinds: list[str] | None = None
    ) -> Subscription:
        """Subscribe on a connection of its own; the agent's name has to be the whole one."""
        return self._client.subscribe(agent, since, kinds=kinds)

    def send(self, call: Call[R]) -> R:
        """Send a request. If there is no such agent, take its name for a part of one and try again."""
        if call.method == "wait":  # the user asked to wait
            return self._send_resolved(call)
        with self._waiting():
            return self._send_resolved(call)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        with self._out.waiting(lambda: self._doing):
            yield
        if self._started:
            self._started = False
            self._out.hint("started the daemon, which runs until: reel stop")

    def _start(self, path: str) -> None:
        from reel.daemon.starting import autostart  # noqa: PLC0415 - subprocess is only needed to start a daemon

        self._doing = "starting the daemon"
        autostart(path)
        self._doing, self._started = _WAITING, True

    def _send_resolved(self, call: Call[R]) -> R:
        agent = call.params.get("agent")
        if agent in self._meant:
            return self._send_in_time(_with_agent(call, self._meant[agent]))
        try:
            return self._send_in_time(call)
        except NotFound as error:
            if agent is None or error.data.get("agent") != agent:
                raise
            meant = Meant(self, self.server)
            if self._exact:
                raise meant.with_whole_name(agent, error) from None
            self._meant[agent] = meant.only(agent, error)
        return self._send_in_time(_with_agent(call, self._meant[agent]))

    def _send_in_time(self, call: Call[R]) -> R:
        """Send a request with its time limit: some take long even if nothing is wrong."""
        if call.method in self._unlimited:
            self._client.connect()  # what listens has to answer all the same
            return self._client.send_within(None, call)
        if call.method == "wait" and self._limit is not None:
            return self._client.send_within(self._limit + call.params.get("timeout", 0) / 1000, call)
        return self._client.send(call)


def _with_agent(call: Call[R], agent: str) -> Call[R]:
    return call._replace(params={**call.params, "agent": agent})


def short_name(client: Methods, name: str) -> str:
    """Return the short form of an agent's name, for a prompt; a name that has none costs no request."""
    if next(short_forms(name), None) is None:
        return name
    page = client.agents(name, details=True, limit=_NEAR)
    return next((row.shown for row in page.agents if row.name == name), name)


class Names:
    """Looks up the names of ids, each once.

    Args:
        client: asks the daemon.
    """

    def __init__(self, client: Methods) -> None:
        self._client = client
        self._known: dict[str, str] = {}

    def of(self, agent: str) -> str:
        """Return the name of an agent, or its id if there is no such agent."""
        if agent not in self._known:
            try:
                self._known[agent] = self._client.agent(agent).name
            except NotFound:
                self._known[agent] = agent
        return self._known[agent]

    def listed(self, agents: list[str]) -> str:
        """Return the names of some agents, and how many more there are."""
        shown = ", ".join(self.of(agent) for agent in agents[:_LISTED])
        return f"{shown} and {len(agents) - _LISTED:,} more" if len(agents) > _LISTED else shown
