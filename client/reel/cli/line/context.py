"""The context of a command: its arguments, its client and its output."""

from __future__ import annotations

import os
from collections.abc import Callable

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.names import Names, PrefixResolvingClient
from reel.cli.line.options import Options
from reel.cli.line.settings import Settings
from reel.cli.screen.output import Output
from reel.daemon.address import state_directory
from reel.reading.wording import full_time, short_time

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.screen.event_lines import EventLines
    from reel.reading.positions import FromEnd

# How many times a hint is shown.
_TIMES = 3


class Context:
    """The arguments, the client and the output of one run of a command.

    Args:
        args: its options.
        agent: the agent; empty for a command without one.
        words: the other positional arguments.
        socket: the path of the daemon's socket.
        out: where to print.
        settings: the user's settings.
        changes: whether the command changes something.
        starts: whether to start the daemon if none runs.
    """

    def __init__(
        self,
        args: Options,
        agent: str,
        words: list[str],
        socket: str,
        out: Output,
        *,
        settings: Settings,
        changes: bool,
        starts: bool,
    ) -> None:
        self.args = args
        self.settings = settings
        self._agent = agent
        self.words = words
        self.socket = socket
        self.starts = starts
        self.out = out
        # What the user typed where conversations are chosen, and then began a new one: its first message, to be edited.
        self.begun = ""
        # It connects at the first call.
        self.client = PrefixResolvingClient(
            socket, out, exact=changes and not out.terminal, autostart=starts, limit=args.time_limit
        )

    @property
    def agent(self) -> str:
        """The agent; its full name as soon as that is known."""
        return self.client.whole_name(self._agent)

    def use_as_agent(self, agent: str) -> None:
        """Take the only argument for the agent."""
        self._agent, self.words = agent, []

    def use_as_text(self, text: str) -> None:
        """Take the only argument for the text, so that no agent is named."""
        self._agent, self.words = "", [text]

    @property
    def word(self) -> str | None:
        """The argument after the agent, if there is one."""
        return self.words[0] if self.words else None

    def seq(self, position: int | FromEnd) -> int:
        """Return the seq of a position in the agent's conversation."""
        if isinstance(position, int):
            return position
        from reel.cli.line.positions import resolve_position  # noqa: PLC0415 - most positions are numbers

        return resolve_position(self.client, self.agent, position)

    @property
    def event_lines(self) -> EventLines:
        """What lays out events of the log."""
        from reel.cli.screen.event_lines import EventLines  # noqa: PLC0415 - most commands show no events

        return EventLines(self.out.width, self.clock, Names(self.client).of)

    @property
    def clock(self) -> Callable[[int], str]:
        """The function that formats a time: short for people, complete for programs."""
        return short_time if self.out.terminal else full_time

    def report(self, reply: Any, text: str, *undo: str, destructive: bool = False) -> None:
        """Print the result of a change.

        Args:
            reply: the daemon's reply, which ``--json`` prints.
            text: the result in one line, for people.
            undo: the arguments of the command that undoes it; none if there is nothing to undo.
            destructive: whether something is gone from the conversation or from the list. Only then the command that
                undoes it is shown every time.
        """
        if self.out.as_json:
            self.out.document(reply)
            return
        self.out.line(text)
        if undo:
            self.hint_undo(*undo, always=destructive)

    def hint_undo(self, *undo: str, always: bool = False) -> None:
        """Print the command that undoes what was done, if that is news or ``always``."""
        if self.out.shows_hints and (always or is_among_first(f"{self.args.command}-{undo[0]}")):
            self.out.hint(f"undo: {self.command(*undo)}")

    def command(self, *words: str) -> str:
        """Return a ``reel`` command line that can be pasted into a shell."""
        from shlex import join  # noqa: PLC0415 - only a person at a terminal needs it

        where = ["--socket", self.args.socket] if self.args.socket else []
        return join(["reel", *where, *words])


def is_among_first(hint: str) -> bool:
    """Return whether a hint has been shown only a few times so far, and record that it is shown now.

    Args:
        hint: a word that stands for the hint.
    """
    path = f"{state_directory()}/hints-shown"
    try:
        if _read(path).split().count(hint) >= _TIMES:
            return False
        os.makedirs(state_directory(), mode=0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{hint}\n")
    except OSError:
        return True  # it cannot be recorded; a hint too many is better than none
    return True


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""
