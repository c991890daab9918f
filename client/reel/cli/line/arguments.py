"""Which agent a command is about, and how its arguments are read.

The positionals of a command name its arguments, such as ``[NAME] [TEXT]`` or ``[NAME] TAG...``. One rule finds the
``[NAME]`` for every command:

1. ``-a NAME`` names it, and every argument belongs to the positions after it.
2. Otherwise, if ``$REEL_AGENT`` is set and the arguments fit into the positions after NAME, it is that agent.
3. Otherwise it is the first argument.

So ``reel add "hi"`` adds to ``$REEL_AGENT``, while ``reel add other "hi"`` and ``reel show other`` mean ``other``,
whether it is set or not. If the second rule takes a single argument that could be an agent's name, and that argument
could also have been omitted, :mod:`reel.cli.line.lone_argument` decides.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from reel.base.ids import is_id, is_name
from reel.base.light_typing import NamedTuple
from reel.base.values import MAX_INTEGER, is_clean

AGENT = "[NAME]"
VARIABLE = "REEL_AGENT"
_MANY = 1 << 30
# What a positional argument is called if it is the path of something.
_PATHS = ("FILE", "PATH", "DATABASE")
_PORTS = range(1024, 65536)


class UsageError(Exception):
    """The command line is wrong.

    Args:
        message: what is wrong, and what would be right.
        command: the command whose help explains more; empty for ``reel`` itself.
    """

    def __init__(self, message: str, command: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.command = command


class SettingsError(Exception):
    """``reel.toml`` is wrong; the message names the file and the key or the line, and says what to write."""


class InvalidValue(Exception):
    """The value of an option is wrong; the message says what is right."""


class Arity(NamedTuple):
    """How many positional arguments a command takes: whether there is an agent, and how many others."""

    agent: bool
    least: int
    most: int


def arity(positionals: str) -> Arity:
    """Return the arity of positionals: ``X`` is required, ``[X]`` is optional, ``X...`` may be repeated."""
    words = positionals.split()
    others = [word for word in words if word != AGENT]
    least = sum(not word.startswith("[") for word in others)
    most = _MANY if any("..." in word for word in others) else len(others)
    return Arity(AGENT in words, least, most)


def resolve(
    positionals: str, words: Sequence[str], option: str | None, default: str | None, *, agent_optional: bool = False
) -> tuple[str, list[str]]:
    """Separate the agent from the other arguments.

    Args:
        positionals: the positional arguments that the command takes.
        words: the arguments that were given.
        option: the value of ``-a``.
        default: the value of ``$REEL_AGENT``, else of ``agent`` in ``reel.toml``.
        agent_optional: whether the command also works without an agent.

    Returns:
        the agent's name, which is empty for a command about no agent or all of them, and the other arguments.

    Raises:
        UsageError: no agent is named, its name is empty, or there are too many or too few arguments.
    """
    takes = arity(positionals)
    if agent_optional and option is None and not (words or default):
        return "", []
    agent, rest = _split(takes, list(words), option, default)
    if takes.agent and not agent:  # an unset variable in a script; it must not select $REEL_AGENT or all agents
        raise UsageError("the conversation's name is empty")
    if len(rest) > takes.most:
        raise UsageError(f"unexpected argument {rest[takes.most]!r}; expected {positionals or 'none'}")
    if len(rest) < takes.least:
        missing = [word for word in positionals.split() if not word.startswith("[")][len(rest)]
        taken = f", because {agent!r} was taken for the conversation (${VARIABLE} is not set)" if agent in words else ""
        raise UsageError(f"{missing.removesuffix('...')} is missing{taken}; expected {positionals}")
    return agent, rest


def is_lone(positionals: str, words: Sequence[str], option: str | None, default: str | None) -> bool:
    """Return whether the only argument could be the agent or the argument after it; see :func:`resolve`."""
    takes = arity(positionals)
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
    raise UsageError(f"no conversation was named, and ${VARIABLE} is not set")


def text(argument: str) -> str:
    """Return an argument, which has to be text.

    Raises:
        InvalidValue: it has bytes that are not UTF-8; stored, they would be U+FFFD for ever.
    """
    if not is_clean(argument):
        raise InvalidValue(f"{os.fsencode(argument)!r} is not UTF-8, so it is no text; convert it with iconv first")
    return argument


def words_of(command: str, positionals: str, words: Sequence[str]) -> list[str]:
    """Return the positional arguments of a command, which have to be text unless it takes paths: those are any bytes.

    Raises:
        UsageError: one is not text.
    """
    if any(path in positionals for path in _PATHS):
        return list(words)
    try:
        return [text(word) for word in words]
    except InvalidValue as error:
        raise UsageError(str(error), command) from None


def number(argument: str) -> int:
    """Return an argument as an integer that every client can hold.

    Raises:
        InvalidValue: it is not a number, or out of range.
    """
    try:
        value = int(argument)
    except ValueError:
        raise InvalidValue(f"{argument!r} is not a number") from None
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise InvalidValue(f"{argument} is out of range; the limit is {MAX_INTEGER}")
    return value


def positive(argument: str) -> int:
    """Return an argument as an integer that is at least 1.

    Raises:
        InvalidValue: it is not a number, or out of range.
    """
    value = number(argument)
    if value < 1:
        raise InvalidValue(f"{argument} is out of range; it must be at least 1")
    return value


def port(argument: str) -> int:
    """Return an argument as a TCP port that does not take privileges.

    Raises:
        InvalidValue: it is not a number, or out of range.
    """
    value = number(argument)
    if value not in _PORTS:
        raise InvalidValue(f"{argument} is out of range; a port is {_PORTS.start} to {_PORTS.stop - 1}")
    return value


def seconds(argument: str) -> float:
    """Return an argument as a duration in seconds.

    Raises:
        InvalidValue: it is not a number, negative, or out of range.
    """
    try:
        value = float(argument)
    except ValueError:
        raise InvalidValue(f"{argument!r} is not a number of seconds") from None
    if not 0 <= value < MAX_INTEGER:
        raise InvalidValue(f"{argument} seconds is out of range; it must be at least 0 and below {MAX_INTEGER}")
    return value


def time_limit(argument: str) -> float:
    """Return an argument as a positive duration in seconds.

    Raises:
        InvalidValue: it is not a number, not positive, or out of range.
    """
    value = seconds(argument)
    if not value:
        raise InvalidValue(f"{argument} seconds is out of range; it must be more than 0")
    return value


def grouping(argument: str) -> str:
    """Return the value of ``--by``: ``model``, ``day`` or ``tag:KEY``.

    Raises:
        InvalidValue: it is something else.
    """
    if argument in ("model", "day") or (argument.startswith("tag:") and argument != "tag:"):
        return text(argument)
    raise InvalidValue(f"{argument!r} cannot be grouped by; write model, day or tag:KEY")
