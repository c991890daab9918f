"""A single argument that may be the agent or what comes after it: decide which, or refuse.

With ``$REEL_AGENT`` set, a single argument of a command that takes an agent and something else is the something else.
``reel add "hi"`` needs that, but ``git diff | reel add other`` would add the text "other" to ``$REEL_AGENT`` and lose
the diff. So if the argument could be an agent's name, the meaning that loses nothing wins, and if that cannot be
known, the command is refused:

- TEXT. If stdin is empty, the argument is the text. Otherwise it is the agent, if an agent has that name. If no agent
  has it, it is refused: it could be a mistyped agent, and the text on stdin would be lost; or it could be the text, in
  a loop that reads its own lines from that stdin. A pipe that stays silent is not waited for.
- FILE. It is the file if that exists, and the agent if that exists. If both exist, stdin decides as above.
- RANGE. It is the agent, unless it has the form of a range; then as the following.
- LABEL, NEW_NAME. It is refused if an agent has that name: neither meaning is the safe one.

A required argument (NEW_NAME, TITLE, SEQ, TAG) is never the agent. The prefix of an agent's name does not count.
"""

import os
import sys
from typing import NoReturn

from reel.cli.line.arguments import UsageError
from reel.cli.line.command import Command
from reel.cli.line.context import Context
from reel.cli.line.positions import is_range
from reel.cli.line.stdin import Content, peek

# How many seconds to wait for the first byte of a pipe: the program at its other end was started at the same time.
STDIN_TIMEOUT = 1.0


def resolve_lone_argument(ctx: Context, command: Command) -> None:
    """Decide what a single argument means, and use it as the agent if it is one.

    Args:
        ctx: the command's context, whose agent is ``$REEL_AGENT`` and which has the argument as its only word.
        command: the command.

    Raises:
        UsageError: it could be both.
    """
    word, place = ctx.words[0], command.positionals.split()[1].strip("[]")
    decide = {"TEXT": _text, "FILE": _file, "RANGE": _range}.get(place, _other)
    if reason := decide(ctx, word):
        _refuse(ctx, command, place, reason)


def _text(ctx: Context, word: str) -> str:
    if ctx.args.add:
        ctx.use_as_agent(word)  # draft --add reads its text from stdin
        return ""
    stdin = peek(sys.stdin.fileno(), STDIN_TIMEOUT)
    if stdin is Content.NOTHING:
        return ""
    exists = ctx.client.has(word)
    if stdin is Content.SILENT:
        return "a conversation has this name, and nothing has arrived on stdin yet" if exists else ""
    if not exists:
        return "no conversation has this name, and stdin is not empty"
    ctx.use_as_agent(word)
    return ""


def _file(ctx: Context, word: str) -> str:
    if not ctx.client.has(word):
        return ""
    if not os.path.exists(word):
        ctx.use_as_agent(word)
        return ""
    if peek(sys.stdin.fileno(), STDIN_TIMEOUT) is Content.NOTHING:
        return ""
    return "both exist, and stdin is not empty"


def _range(ctx: Context, word: str) -> str:
    if is_range(word):
        return _other(ctx, word)
    ctx.use_as_agent(word)
    return ""


def _other(ctx: Context, word: str) -> str:
    return "a conversation has this name" if ctx.client.has(word) else ""


def _refuse(ctx: Context, command: Command, place: str, reason: str) -> NoReturn:
    word = ctx.words[0]
    agent = ctx.command(command.name, "-a", word)
    other = ctx.command(command.name, "-a", ctx.agent, word)
    raise UsageError(
        f"{word!r} may be the conversation or the {place}: {reason}; "
        f"write `{agent}` for the conversation, or `{other}` for the {place}"
    )
