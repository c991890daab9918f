"""A lone word that may be the agent or the word after it: which of them it is, or a refusal.

With ``$REEL_AGENT`` set, one word where an agent and another word fit is the other word. That is what ``reel add "hi"``
needs, but ``git diff | reel add other`` would add the text "other" to ``$REEL_AGENT`` and drop the diff. So where the
word could be an agent's name, the meaning that loses nothing wins, and where that cannot be known, the command is
refused:

- TEXT. Without anything on stdin the word is the text. Otherwise it is the agent, if there is one of that name. If
  there is none, it is refused: it could be a mistyped agent, whose text would be dropped, or the text in a loop that
  reads its stdin line by line, which must not be taken from it. A pipe that stays silent is not waited for.
- FILE. A file that exists is the file, an agent that exists is the agent. If both do, stdin decides as above.
- LABEL, NAME. The word is refused if there is an agent of that name: neither meaning is the safe one.

A word that must be there (NEW, TITLE, SEQ, TAG) is never the agent. The beginning of an agent's name does not count.
"""

import os
import sys
from typing import NoReturn

from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.stdin import Content, peek
from reel.cli.table import Command

# Seconds within which a pipe has to bring its first byte: what is at its other end was started at the same time.
STDIN_TIMEOUT = 1.0


def resolve_lone_argument(ctx: Context, command: Command) -> None:
    """Decide what the lone word is, and make it the agent if it is that.

    Args:
        ctx: the command's context, whose agent is that of ``$REEL_AGENT`` and whose only word is the lone one.
        command: what is run.

    Raises:
        UsageError: it cannot be known.
    """
    word, place = ctx.words[0], command.positionals.split()[1].strip("[]")
    decide = {"TEXT": _text, "FILE": _file}.get(place, _other)
    if reason := decide(ctx, word):
        _refuse(ctx, command, place, reason)


def _text(ctx: Context, word: str) -> str:
    if vars(ctx.args).get("add"):
        ctx.use_as_agent(word)  # what draft adds comes from stdin
        return ""
    stdin = peek(sys.stdin.fileno(), STDIN_TIMEOUT)
    if stdin is Content.NOTHING:
        return ""
    exists = ctx.client.has(word)
    if stdin is Content.SILENT:
        return "there is an agent of this name, and nothing has come from stdin yet" if exists else ""
    if not exists:
        return "no agent has this name, and stdin is not empty"
    ctx.use_as_agent(word)
    return ""


def _file(ctx: Context, word: str) -> str:
    if not ctx.client.has(word):
        return ""
    if not os.path.exists(word):  # noqa: PTH110 - pathlib costs 4 ms
        ctx.use_as_agent(word)
        return ""
    if peek(sys.stdin.fileno(), STDIN_TIMEOUT) is Content.NOTHING:
        return ""
    return "there are both, and stdin is not empty"


def _other(ctx: Context, word: str) -> str:
    return "there is an agent of this name" if ctx.client.has(word) else ""


def _refuse(ctx: Context, command: Command, place: str, reason: str) -> NoReturn:
    word = ctx.words[0]
    agent = ctx.command(command.name, "-a", word)
    other = ctx.command(command.name, "-a", ctx.agent, word)
    raise UsageError(
        f"{word!r} may be the agent or the {place}: {reason}; write `{agent}` for the agent, `{other}` for the {place}"
    )
