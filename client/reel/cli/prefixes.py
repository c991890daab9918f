"""Names that were typed in part."""

from contextlib import AbstractContextManager
from typing import Self, TypeVar

from reel import requests
from reel.cli.output import Output
from reel.errors import InvalidParams, NotFound
from reel.requests import Call
from reel.sync.client import Client

R = TypeVar("R")

_SHOWN = 6


class PrefixResolvingClient(Client):
    """A client that takes the beginning of a name for the name, where it is that of one agent only.

    A script that changes something has to name its agent in full: after a rename it would write to another one,
    and nobody would see it. The command counts, not the request: some look at the agent before they change it.

    Args:
        socket: where the daemon listens.
        out: where to say what is being waited for.
        exact: whether agents have to be named in full.
    """

    resolved_name: str | None = None

    def __init__(self, socket: str, out: Output, *, exact: bool) -> None:
        super().__init__(socket, name="reel")
        self._out = out
        self._exact = exact
        # What was typed in the place of ``resolved_name``.
        self._typed_prefix: str | None = None

    def has(self, agent: str) -> bool:
        """Return whether there is an agent of exactly this name or id."""
        with self._waiting():
            try:
                super().call(requests.agent(agent))
            except NotFound:
                return False
        return True

    def connect(self) -> Self:
        """Connect now, rather than at the first call."""
        with self._waiting():
            return super().connect()

    def call(self, call: Call[R]) -> R:
        """Send a request; only where there is no such agent, ask who could be meant."""
        if call.method == "wait":  # to wait is what was asked for
            return self._call(call)
        with self._waiting():
            return self._call(call)

    def _waiting(self) -> AbstractContextManager[None]:
        return self._out.waiting("waiting for the daemon's answer")

    def _call(self, call: Call[R]) -> R:
        agent = call.params.get("agent")
        if self.resolved_name is not None and agent == self._typed_prefix:
            return super().call(_with_agent(call, self.resolved_name))
        try:
            return super().call(call)
        except NotFound as error:
            if agent is None or error.data.get("agent") != agent or self._exact:
                raise
            self.resolved_name, self._typed_prefix = resolve_prefix(self, agent, error), agent
        return super().call(_with_agent(call, self.resolved_name))


def _with_agent(call: Call[R], agent: str) -> Call[R]:
    return call._replace(params={**call.params, "agent": agent})


def resolve_prefix(client: Client, beginning: str, refused: NotFound) -> str:
    """Give the one agent whose name begins so; the dead count where no living one's does.

    Raises:
        NotFound: there is none, or more than one; they are in its ``data``.
    """
    names = _matching_names(client, beginning, alive=True) or _matching_names(client, beginning, alive=False)
    if len(names) == 1:
        return names[0]
    if not names:
        raise refused
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    raise NotFound(f"no agent {beginning}, and more than one whose name begins so: {shown}", candidates=names)


def _matching_names(client: Client, beginning: str, *, alive: bool) -> list[str]:
    try:
        page = client.agents(beginning, alive, _SHOWN + 1)
    except InvalidParams:
        return []  # nothing that could begin a name
    return sorted({row.name for row in page.agents})
