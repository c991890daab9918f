"""Which agent is meant: one rule for every command.

A command's usage says which words it takes, such as ``[AGENT] [TEXT]`` or ``[AGENT] TAG...``. Where there is an
``[AGENT]``:

1. ``-a AGENT`` names it, and every word belongs to the places after it.
2. Else, where ``$REEL_AGENT`` is set and the words fit into the places after AGENT, that one is meant.
3. Else the first word is the agent.

So ``reel add "hi"`` adds to ``$REEL_AGENT``, and ``reel add other "hi"`` and ``reel show other`` mean ``other``,
whether it is set or not. Where the second rule takes one word that could be an agent's name, and the word could also
have been left out, :mod:`reel.cli.lone_argument` has the last say.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reel.ids import is_id, is_name
from reel.values import MAX_INTEGER, clean

AGENT = "[AGENT]"
VARIABLE = "REEL_AGENT"
_MANY = 1 << 30


class UsageError(Exception):
    """The command line asks for nothing that could be done.

    Args:
        message: what is wrong with it, and what would be right.
        command: whose help says more; empty for the command as a whole.
    """

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.command = command


class Arity(NamedTuple):
    """The words that a command takes: whether an agent is among them, and how many others."""

    agent: bool
    least: int
    most: int


def arity(usage: str) -> Arity:
    """Read a usage: ``X`` must be there, ``[X]`` may be, ``X...`` may be repeated."""
    words = usage.split()
    others = [word for word in words if word != AGENT]
    least = sum(not word.startswith("[") for word in others)
    most = _MANY if any("..." in word for word in others) else len(others)
    return Arity(AGENT in words, least, most)


def resolve(
    usage: str, words: Sequence[str], option: str | None, default: str | None, *, agent_optional: bool = False
) -> tuple[str, list[str]]:
    """Tell the agent from the other words.

    Args:
        usage: the words that the command takes.
        words: those that were given.
        option: what ``-a`` said.
        default: what ``$REEL_AGENT`` says.
        agent_optional: whether it may be left open which agent is meant.

    Returns:
        the agent (empty where none is meant), and the other words.

    Raises:
        UsageError: no agent is named, or by an empty word, or there are too many words or too few.
    """
    takes = arity(usage)
    if agent_optional and option is None and not (words or default):
        return "", []
    agent, rest = _split(takes, list(words), option, default)
    if takes.agent and not agent:  # a variable of a script's that is not set, and no wish for whoever is there
        raise UsageError("the agent's name is empty")
    if len(rest) > takes.most:
        raise UsageError(f"{rest[takes.most]!r} is one word too many; expected {usage or 'none'}")
    if len(rest) < takes.least:
        missing = [word for word in usage.split() if not word.startswith("[")][len(rest)]
        taken = f", as {agent!r} was taken for the agent (${VARIABLE} is not set)" if agent in words else ""
        raise UsageError(f"{missing.removesuffix('...')} is missing{taken}; expected {usage}")
    return agent, rest


def is_lone(usage: str, words: Sequence[str], option: str | None, default: str | None) -> bool:
    """Return whether the only word may be the agent as well as the word after it; see :func:`resolve`."""
    takes = arity(usage)
    may_be_both = takes.agent and takes.least == 0 and takes.most > 0
    return (
        may_be_both and option is None and bool(default) and len(words) == 1 and (is_name(words[0]) or is_id(words[0]))
    )


def _split(takes: Arity, words: list[str], option: str | None, default: str | None) -> tuple[str, list[str]]:
    if not takes.agent:
        return "", words
    if option is not None:
        return option, words
    if default and len(words) <= takes.most:
        return default, words
    if words:
        return words[0], words[1:]
    raise UsageError(f"no agent is named, and ${VARIABLE} is not set")


def text(argument: str) -> str:
    """Read an argument as text: what is no UTF-8 becomes U+FFFD, as the daemon would have it."""
    return clean(argument)[0]


def number(argument: str) -> int:
    """Read an argument as a number that every client can have.

    Raises:
        ValueError: it is none.
    """
    if not -MAX_INTEGER <= (value := int(argument)) <= MAX_INTEGER:
        raise ValueError("out of range")
    return value


def seconds(argument: str) -> float:
    """Read an argument as a length of time.

    Raises:
        ValueError: it is none.
    """
    if not 0 <= (value := float(argument)) < MAX_INTEGER:
        raise ValueError("out of range")
    return value
