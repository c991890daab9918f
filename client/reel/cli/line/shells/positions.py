"""What the last word of a command line may be, as far as the table of commands says it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from shlex import split

from reel.base.light_typing import NamedTuple
from reel.cli.line.arguments import arity
from reel.cli.line.command import COMMON, Command, Option, option, options_of
from reel.cli.line.overview import TOPICS
from reel.cli.line.table import all_commands, command_names, look_up
from reel.cli.line.tables.histories import STARTERS
from reel.cli.line.tables.itself import EDITORS
from reel.importing import MODULES

# The kinds of words that are found elsewhere: by the shell, by the daemon, or in reel.toml.
FILES, AGENTS, ALL_AGENTS, MARKS, PROVIDERS = "files", "agents", "all agents", "marks", "providers"
# The kinds of words that are here.
_COMMANDS, _OPTIONS, _WORDS = "commands", "options", "words"

_KINDS = {"FILE": FILES, "PATH": FILES, "OTHER": AGENTS}
_HELP = option("--help", action="store_true", help="show help")
_VERSION = option("--version", action="store_true", help="print the versions")


class Offer(NamedTuple):
    """A word that the last one may be, and what it means."""

    word: str
    about: str = ""


class Wanted(NamedTuple):
    """What the last word may be: a kind of word, or these words.

    Args:
        kind: the kind.
        offers: the words, unless they are found elsewhere.
        agent: the agent whose marks are wanted.
        socket: the socket that the line names.
    """

    kind: str = _WORDS
    offers: Sequence[Offer] = ()
    agent: str = ""
    socket: str | None = None


class _Line(NamedTuple):
    """The words before the last one: the command, its arguments, and the first value of each option, by its flag."""

    command: Command | None
    arguments: Sequence[str]
    given: Mapping[str, str]
    # The option whose value is the last word.
    waiting: Option | None = None
    # Whether no option can follow.
    has_dashes: bool = False


def wanted(words: Sequence[str], aliases: Mapping[str, str]) -> Wanted:
    """Return what the last word may be.

    Args:
        words: the words after ``reel``.
        aliases: more names of commands, with arguments.
    """
    *before, last = words or [""]
    line = _read(deque(before), aliases)
    if line is None:
        return Wanted()
    if line.waiting is not None:
        found = _value(line.waiting)
    elif last.startswith("-") and not line.has_dashes:
        found = Wanted(_OPTIONS, [Offer(flag, details["help"]) for flags, details in _options(line) for flag in flags])
    elif line.command is None:
        names = [Offer(command.name, command.summary) for command in all_commands()]
        found = Wanted(_COMMANDS, [*names, *(Offer(name, "alias") for name in aliases)])
    else:
        found = _argument(line.command, line)
    return found._replace(socket=line.given.get("--socket"))


def _read(words: deque[str], aliases: Mapping[str, str]) -> _Line | None:
    """Read the words before the last one; return ``None`` if they begin with no command."""
    line = _Line(None, [], {})
    while words:
        word = words.popleft()
        if word == "--":
            return line._replace(arguments=[*line.arguments, *words], has_dashes=True)
        if word.startswith("-") and word != "-":
            chosen = next((option for option in _options(line) if word in option[0]), None)
            number = 0 if chosen is None else _number_of_values(chosen)
            if chosen is None or number == 0:
                continue
            if number > len(words):
                return line._replace(waiting=chosen)
            values = [words.popleft() for _ in range(number)]
            line = line._replace(given={**line.given, chosen[0][-1]: values[0]})
        elif line.command is None:
            name, *first = split(aliases[word]) if word in aliases else [word]
            if (command := look_up(name)) is None:
                return None
            words.extendleft(reversed(first))
            line = line._replace(command=command)
        else:
            line = line._replace(arguments=[*line.arguments, word])
    return line


def _options(line: _Line) -> Iterable[Option]:
    return (*COMMON, _HELP, _VERSION) if line.command is None else (*options_of(line.command), _HELP)


def _number_of_values(chosen: Option) -> int:
    number: int = 0 if chosen[1].get("action") == "store_true" else chosen[1].get("nargs", 1)
    return number


def _value(chosen: Option) -> Wanted:
    """Return what the value of an option may be."""
    flags, details = chosen
    if "--agent" in flags:
        return Wanted(AGENTS)
    if "--via" in flags:
        return Wanted(PROVIDERS)
    if "choices" in details:
        return Wanted(_WORDS, [Offer(choice) for choice in details["choices"]])
    return Wanted(_KINDS.get(str(details.get("metavar")), _WORDS))


def _argument(command: Command, line: _Line) -> Wanted:
    """Return what the next argument of a command may be."""
    agent = line.given.get("--agent") if arity(command.positionals).agent else None
    arguments = line.arguments if agent is None else [agent, *line.arguments]
    first, *others = command.positionals.split() or [""]
    if not arguments:
        return _first(command, first)
    if command.name == "rewind" and len(arguments) == 1:
        return Wanted(MARKS, agent=arguments[0])
    return Wanted(FILES if any(_KINDS.get(_name(other)) == FILES for other in others) else _WORDS)


def _first(command: Command, positional: str) -> Wanted:
    """Return what the first argument of a command may be."""
    name = _name(positional)
    if name == "NAME":
        return Wanted(ALL_AGENTS if command.name == "revive" else AGENTS)
    tools = STARTERS if command.name == "mcp" else tuple(MODULES)
    lists = {"COMMAND": (*command_names(), *TOPICS), "EDITOR": EDITORS, "TOOL": tools}
    choices = lists.get(name, name.split("|") if "|" in name else ())
    return Wanted(_KINDS.get(name, _WORDS), [Offer(choice) for choice in choices])


def _name(positional: str) -> str:
    return positional.strip("[].")
