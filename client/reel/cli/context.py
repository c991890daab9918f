"""One run of one command: its arguments, the daemon that it asks and the screen that it prints on."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from reel.cli.output import Output
from reel.cli.prefixes import PrefixResolvingClient
from reel.cli.terminal import full_time, short_time


class Context:
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
        self.client = PrefixResolvingClient(socket, out, exact=changes and not out.terminal)

    @property
    def agent(self) -> str:
        """The agent that is meant, by its full name as soon as that is known."""
        return self.client.resolved_name or self._agent

    def use_as_agent(self, agent: str) -> None:
        """Take the only word for the agent."""
        self._agent, self.words = agent, []

    @property
    def word(self) -> str | None:
        """The word after the agent, where there is one."""
        return self.words[0] if self.words else None

    @property
    def clock(self) -> Callable[[int], str]:
        """How to show a time: short to people, in full to programs."""
        return short_time if self.out.terminal else full_time

    def report(self, reply: Any, text: str, *undo: str) -> None:
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
