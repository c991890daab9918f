"""Names of agents: a prefix that was typed becomes a name, and so does an id in a reply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reel import requests
from reel.base.errors import InvalidParams, NotFound
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.screen.output import Output
from reel.requests import Call
from reel.sync.client import Client
from reel.sync.methods import Methods

if TYPE_CHECKING:
    from typing import Self, TypeVar

    from reel.replies import Hello
    from reel.sync.subscription import Subscription

    R = TypeVar("R")

# How many names a refusal lists, and a line of a reply.
_SHOWN, _LISTED = 6, 8
# How much two names have in common if one is a slip of the other, from 0 to 1; in a long one, how many letters differ.
_ALIKE = 0.7
_SLIPS = 3
_WAITING = "waiting for the daemon's answer"
# Seconds for an answer if nobody at a terminal sees the wait and can end it. The slowest answer that does not depend on
# the size of the database took 15 s: the one to a load of the largest size.
_SCRIPT_LIMIT = 60.0
# The larger the database, the longer these take: they have a limit only if one was asked for.
UNLIMITED = frozenset({"backup", "verify", "replay", "redact", "purge", "retention"})


class PrefixResolvingClient(Methods):
    """Has a client, and resolves the prefix of an agent's name, if only one name begins with it.

    A script that changes something has to give the whole name: after a rename, a prefix could mean another agent, and
    nobody would notice. The command decides this, not the request: some commands read the agent before they change it.

    Args:
        socket: the path of the daemon's socket.
        out: where to show progress.
        exact: whether a whole name is required.
        autostart: start the daemon if none runs.
        limit: how long the daemon may take to answer, in seconds; ``None`` for the default.
    """

    resolved_name: str | None = None
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
        # The prefix that ``resolved_name`` was typed as.
        self._typed_prefix: str | None = None

    @property
    def server(self) -> Hello | None:
        """What the daemon said of itself at the newest connection; ``None`` before the first one."""
        return self._client.server

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
        """Send a request. If there is no such agent, take its name for a prefix and try again."""
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
        from reel.daemon.process import autostart  # noqa: PLC0415 - subprocess is only needed to start a daemon

        self._doing = "starting the daemon"
        autostart(path)
        self._doing, self._started = _WAITING, True

    def _send_resolved(self, call: Call[R]) -> R:
        agent = call.params.get("agent")
        if self.resolved_name is not None and agent == self._typed_prefix:
            return self._send_in_time(_with_agent(call, self.resolved_name))
        try:
            return self._send_in_time(call)
        except NotFound as error:
            if agent is None or error.data.get("agent") != agent:
                raise
            if self._exact:
                raise _with_whole_name(self, agent, error) from None
            self.resolved_name, self._typed_prefix = resolve_prefix(self, agent, error), agent
        return self._send_in_time(_with_agent(call, self.resolved_name))

    def _send_in_time(self, call: Call[R]) -> R:
        """Send a request with its time limit: some take long even if nothing is wrong."""
        if call.method in self._unlimited:
            self._client.connect()  # what listens has to answer all the same
            return self._client.send_within(None, call)
        if call.method == "wait" and self._limit is not None:
            return self._client.send_within(self._limit + call.params.get("timeout", 0) / 1000, call)
        return self._client.send(call)


def _with_whole_name(client: Methods, prefix: str, refused: NotFound) -> NotFound:
    """Return an error that says which agent may be meant, if there is one."""
    names = _matching_names(client, prefix, alive=True)
    if not names:
        return _with_suggestion(client, prefix, refused)
    if len(names) > 1:
        return refused
    return NotFound(
        f"no conversation {prefix}, but {names[0]} begins so; in a script, a command that changes something needs the"
        " whole name",
        candidates=names,
    )


def _with_agent(call: Call[R], agent: str) -> Call[R]:
    return call._replace(params={**call.params, "agent": agent})


def resolve_prefix(client: Methods, prefix: str, refused: NotFound) -> str:
    """Return the one agent whose name begins with a prefix; killed agents count only if no live one matches.

    Raises:
        NotFound: no name matches, or several do; those are in the error's ``data``.
    """
    names = _matching_names(client, prefix, alive=True) or _matching_names(client, prefix, alive=False)
    if len(names) == 1:
        return names[0]
    if not names:
        raise _with_suggestion(client, prefix, refused)
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise NotFound(f"no conversation {prefix}, but several names begin so: {shown}", candidates=names)


def _with_suggestion(client: Methods, typed: str, refused: NotFound) -> NotFound:
    """Return the error with the name that was probably meant, of those that changed last."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after a typing error

    names = [row.name for row in client.agents(alive=True, order="updated").agents]
    near = get_close_matches(typed, names, 1, max(_ALIKE, 1 - _SLIPS / len(typed)))
    if not near:
        return refused
    what, then, remedy = refused.message.partition("; ")
    return NotFound(f"{what} (did you mean {near[0]}?){then}{remedy}", **refused.data)


def _matching_names(client: Methods, prefix: str, *, alive: bool) -> list[str]:
    try:
        page = client.agents(prefix, alive, _SHOWN + 1)
    except InvalidParams:
        return []  # no name begins like this
    return sorted({row.name for row in page.agents})


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
