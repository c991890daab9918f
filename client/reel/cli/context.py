"""One run of one command: its arguments, the daemon that it asks and the screen that it prints on."""

from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Self, TypeVar

from reel import requests
from reel.cli import clock
from reel.cli.output import Output
from reel.errors import NotFound
from reel.requests import Call
from reel.sync.client import Client

R = TypeVar("R")


class _Asking(Client):
    """A client that takes the beginning of a name for the name, where it is that of one agent only.

    A script that changes something has to name its agent in full: after a rename it would write to another one,
    and nobody would see it. The command counts, not the request: some look at the agent before they change it.

    Args:
        socket: where the daemon listens.
        out: where to say what is being waited for.
        exact: whether agents have to be named in full.
    """

    meant: str | None = None

    def __init__(self, socket: str, out: Output, *, exact: bool) -> None:
        super().__init__(socket, name="reel")
        self._out = out
        self._exact = exact
        # What was typed in the place of ``meant``.
        self._beginning: str | None = None

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
        if self.meant is not None and agent == self._beginning:
            return super().call(_about(call, self.meant))
        try:
            return super().call(call)
        except NotFound as error:
            if agent is None or error.data.get("agent") != agent or self._exact:
                raise
            from reel.cli.prefixes import only_one  # noqa: PLC0415 - who names an agent in full pays nothing

            self.meant, self._beginning = only_one(self, agent, error), agent
        return super().call(_about(call, self.meant))


def _about(call: Call[R], agent: str) -> Call[R]:
    return call._replace(params={**call.params, "agent": agent})


class Invocation:
    """What a command's function gets.

    Args:
        args: its options.
        agent: the agent that is meant; empty for a command that takes none.
        words: the other words.
        socket: where the daemon listens.
        out: where to print.
        changes: whether the command changes something.
    """

    def __init__(
        self, args: Namespace, agent: str, words: list[str], socket: str, out: Output, *, changes: bool
    ) -> None:
        self.args = args
        self._agent = agent
        self.words = words
        self.socket = socket
        self.out = out
        # It connects when it is first asked.
        self.client = _Asking(socket, out, exact=changes and not out.terminal)

    @property
    def agent(self) -> str:
        """The agent that is meant, by its full name as soon as that is known."""
        return self.client.meant or self._agent

    def mean(self, agent: str) -> None:
        """Take the only word for the agent."""
        self._agent, self.words = agent, []

    @property
    def word(self) -> str | None:
        """The word after the agent, where there is one."""
        return self.words[0] if self.words else None

    @property
    def clock(self) -> Callable[[int], str]:
        """How to show a time: short to people, in full to programs."""
        return clock.short if self.out.terminal else clock.full

    def done(self, reply: Any, text: str, *undo: str) -> None:
        """Print what came of a change.

        Args:
            reply: the daemon's; printed as it is where JSON is wanted.
            text: the same in a line.
            undo: the words of the command that takes it back; none where there is nothing to take back.
        """
        if self.out.as_json:
            self.out.document(reply)
            return
        self.out.line(text)
        if undo:
            self.out.hint(f"undo: {self.command(*undo)}")

    def command(self, *words: str) -> str:
        """Give a command line of our own that can be pasted into a shell."""
        from shlex import join  # noqa: PLC0415 - only a person at a terminal needs it

        where = ["--socket", self.args.socket] if self.args.socket else []
        return join(["reel", *where, *words])
