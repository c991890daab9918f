"""Choosing a conversation at a terminal: for ``reel`` alone, and for a command that was given no name.

A key that is pressed before the daemon has answered ends the request, as in a search as one types.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from reel.base.errors import ReelError
from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.screen.full_screen import KeyPressed, cancellable_client, opened, paint, size_of
from reel.cli.screen.keys import Key
from reel.cli.screen.picker import Picker, matches
from reel.cli.screen.transcript import Transcript
from reel.reading.wording import short_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reel.cli.line.context import Context
    from reel.cli.screen.full_screen import Terminal
    from reel.cli.screen.output import Line
    from reel.replies import AgentRow
    from reel.sync.client import Client

# How many of the conversations that changed last are looked through word by word, the first words included; the daemon
# looks through the names, titles and tags of all.
_NEWEST = 500
_FOUND = 100
# How many messages the end of a conversation has.
_MESSAGES = 8
# What the Enter key does for a command, if its name with an "s" does not say it.
_ENTER = {
    "attach": "attaches to it",
    "chat": "opens it",
    "info": "describes it",
    "log": "shows its log",
    "tree": "shows its branches",
}
# What a command is about if nobody names a conversation; what is typed stands in for "{}".
_FIRST = {"chat": "a new conversation{}", "follow": "all conversations"}
# The commands that need somebody who answers.
_ANSWERING = ("ask", "chat")
_KEYS = "Esc leaves"


class Choice(NamedTuple):
    """What was chosen.

    Args:
        key: with which key.
        row: the conversation; ``None`` for the entry above all conversations.
        typed: what was typed.
    """

    key: Key
    row: AgentRow | None
    typed: str


def choose(
    ctx: Context, enter: str, first: str | None = None, more_keys: Mapping[Key, str] | None = None
) -> Choice | None:
    """Let the user choose a conversation; return ``None`` if the user leaves.

    Args:
        ctx: the command's context.
        enter: what the Enter key does with a conversation, in a word.
        first: an entry above the conversations, see :class:`Picker`; ``None`` for no such entry.
        more_keys: other keys that choose a conversation, and what each does.
    """
    ctx.client.ping()  # starts the daemon, or fails with the reason, before the screen changes
    keys = {Key.ENTER: enter, **(more_keys or {})}
    told = ", ".join(f"{key.value.title()} {does}" for key, does in keys.items())
    with opened() as terminal, cancellable_client(ctx.socket, terminal.files) as client:
        return _Choosing(ctx, client, terminal, Picker(f"{told}, {_KEYS}", first)).run({*keys})


def choose_agent(ctx: Context, command: str) -> bool:
    """Let the user choose the conversation of a command that was given no name; return whether the user did.

    Args:
        ctx: the command's context, which then has the conversation.
        command: the name of the command.
    """
    if command in _ANSWERING and not _is_answered(ctx):
        return True  # the command says what is missing; nobody should choose first
    first = _FIRST.get(command)
    if not ctx.client.agents(alive=True, limit=1).agents:
        if first is None:
            ctx.out.warn(f"no conversations yet; begin one with: {ctx.command('new', 'NAME')}")
        return first is not None
    choice = choose(ctx, _ENTER.get(command, f"{command}s it"), first)
    if choice is not None and choice.row is not None:
        ctx.use_as_agent(choice.row.name)
    elif choice is not None:
        ctx.begun = choice.typed
    return choice is not None


def _is_answered(ctx: Context) -> bool:
    """Return whether anything says who answers."""
    return bool(ctx.args.via or ctx.args.model or ctx.settings.answering)


class _Choosing:
    """One run of the screen.

    Args:
        ctx: the command's context.
        client: asks the daemon.
        terminal: where to read keys, and to draw.
        picker: the screen.
    """

    def __init__(self, ctx: Context, client: Client, terminal: Terminal, picker: Picker) -> None:
        self._ctx = ctx
        self._client = client
        self._terminal = terminal
        self._picker = picker
        self._newest: list[AgentRow] = []
        self._is_all = False
        # The query that the list answers, and the conversation whose end is shown, with the width for which.
        self._answered: str | None = None
        self._previewed: tuple[str | None, int] = ("", 0)

    def run(self, keys: set[Key]) -> Choice | None:
        """Return what is chosen with one of the keys."""
        while True:
            self._draw()
            if self._is_behind() and not self._terminal.is_ready():
                with suppress(KeyPressed):
                    self._catch_up()
                continue
            for key in self._terminal.read():
                if key is Key.ESCAPE or (key is Key.END and not self._picker.query):
                    return None
                if isinstance(key, Key) and key in keys:
                    if self._picker.chosen is not None or (self._picker.is_first_chosen and key is Key.ENTER):
                        return Choice(key, self._picker.chosen, self._picker.query)
                    continue
                self._picker.press(key)

    def _draw(self) -> None:
        width, height = size_of(sys.stdout)
        lines, column = self._picker.lines(width, height), self._picker.column(width)
        paint(lines, sys.stdout, width, colour=self._ctx.out.colour, column=column)

    def _is_behind(self) -> bool:
        return self._picker.query != self._answered or self._wanted() != self._previewed

    def _wanted(self) -> tuple[str | None, int]:
        row = self._picker.chosen
        return None if row is None else row.id, size_of(sys.stdout).columns

    def _catch_up(self) -> None:
        """Ask for the list, or else for the end of the chosen conversation.

        Raises:
            KeyPressed: a key was pressed meanwhile.
        """
        if self._picker.query != self._answered:
            query, problem = self._picker.query, ""
            try:
                rows = self._found(query)
            except ReelError as error:
                rows, problem = [], error.message
            self._answered = query
            self._picker.show(rows, problem)
            return
        wanted = self._wanted()
        self._picker.preview(self._end_of(*wanted))
        self._previewed = wanted

    def _found(self, query: str) -> list[AgentRow]:
        if not self._newest:
            page = self._client.agents(alive=True, order="updated", details=True, limit=_NEWEST)
            self._newest, self._is_all = page.agents, not page.more
        found = {row.id: row for row in self._newest if matches(row, query)}
        if query.strip() and not self._is_all:
            page = self._client.agents(alive=True, order="updated", details=True, limit=_FOUND, query=query)
            found |= {row.id: row for row in page.agents}
        return sorted(found.values(), key=lambda row: row.updated, reverse=True)

    def _end_of(self, agent: str | None, width: int) -> list[Line]:
        if agent is None:
            return []
        transcript = Transcript(width, short_time, styled=self._ctx.out.colour, brief=True)
        try:
            messages = self._client.messages(agent, last=_MESSAGES).messages
        except ReelError as error:
            return [[(error.message, "dim")]]
        return [line for message in messages for line in transcript.message(message)]
