"""What shells complete, made from the table of commands: arguments, options and the values of options."""

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeVar

from reel.cli.arguments import AGENT
from reel.cli.command import COMMON, Command, Option, options_of
from reel.cli.overview import TOPICS
from reel.cli.table import all_commands, command_names
from reel.cli.tables.itself import EDITORS
from reel.importing import MODULES

# The kinds of values that an argument or an option takes.
NOTHING = "nothing"
TEXT = "text"
FILE = "file"
AGENTS = "agents"
CHOICE = "choice"
PROVIDERS = "providers"

_FILES = ("FILE", "PATH")
_KINDS = {**dict.fromkeys(_FILES, FILE), "AGENT": AGENTS, "OTHER": AGENTS}


Key = TypeVar("Key", bound=Hashable)


class Value(NamedTuple):
    """What an argument or an option may be, and how many arguments that takes."""

    kind: str
    choices: tuple[str, ...] = ()
    arguments: int = 1


class Flag(NamedTuple):
    """An option as a shell sees it."""

    flags: tuple[str, ...]
    help: str
    value: Value


class Completable(NamedTuple):
    """A command as a shell sees it."""

    name: str
    summary: str
    flags: list[Flag]
    # What its first argument may be.
    first: Value
    # Whether killed agents are offered as well.
    dead: bool
    # Whether its second argument is a mark of the first.
    marks: bool
    # Whether the arguments after the first are files.
    files: bool


_HELP = Flag(("--help",), "show help", Value(NOTHING, arguments=0))


def commands() -> list[Completable]:
    """Return every command of the table."""
    return [_command(command) for command in all_commands()]


def shared() -> list[Flag]:
    """Return the options that may come before a command."""
    version = Flag(("--version",), "print the versions", Value(NOTHING, arguments=0))
    return [*map(_flag, COMMON), _HELP, version]


def flags_by(key: Callable[[Value], Key]) -> dict[Key, list[tuple[str, str]]]:
    """Return the options that take a value, each with its command, by what a function returns for the value.

    Where it returns the same for all commands that have an option, the command is ``*``.
    """
    uses: dict[str, dict[Key | None, list[str]]] = {}
    for each in commands():
        for flag in each.flags:
            for name in flag.flags:
                found = key(flag.value) if flag.value.arguments else None
                uses.setdefault(name, {}).setdefault(found, []).append(each.name)
    flags: dict[Key, list[tuple[str, str]]] = {}
    for name, users in uses.items():
        for found, names in users.items():
            if found is not None:
                flags.setdefault(found, []).extend((command, name) for command in (names if len(users) > 1 else "*"))
    return flags


def _command(command: Command) -> Completable:
    flags = [_flag(option) for option in options_of(command)]
    flags.append(_HELP)
    dead, marks = command.name == "revive", command.name == "rewind"
    files = any(_named(word) in _FILES for word in command.positionals.split()[1:])
    return Completable(command.name, command.summary, flags, _first(command.positionals), dead, marks, files)


def _flag(option: Option) -> Flag:
    flags, details = option
    return Flag(flags, details["help"], Value(PROVIDERS) if "--via" in flags else _value(details))


def _value(details: dict[str, object]) -> Value:
    if details.get("action") == "store_true":
        return Value(NOTHING, arguments=0)
    if isinstance(choices := details.get("choices"), tuple):
        return Value(CHOICE, choices)
    count = details.get("nargs", 1)
    return Value(_KINDS.get(str(details.get("metavar")), TEXT), arguments=count if isinstance(count, int) else 1)


def _first(positionals: str) -> Value:
    first = positionals.split(maxsplit=1)[0] if positionals else ""
    if first in (AGENT, "[AGENT...]"):
        return Value(AGENTS)
    if first == "[COMMAND]":
        return Value(CHOICE, (*command_names(), *TOPICS))
    if first == "EDITOR":
        return Value(CHOICE, EDITORS)
    if first == "[TOOL]":
        return Value(CHOICE, tuple(MODULES))
    if _named(first) in _FILES:
        return Value(FILE)
    if "|" in first:
        return Value(CHOICE, tuple(first.strip("[]").split("|")))
    return Value(TEXT if first else NOTHING)


def _named(positional: str) -> str:
    return positional.strip("[].")


def quoted(text: str) -> str:
    """Return a text quoted so that all three shells understand it."""
    return "'" + text.replace("'", r"'\''") + "'"


def filled(script: str, **parts: Iterable[str]) -> str:
    """Return a script with lines in place of marks such as ``@name@``, indented like the mark."""
    for name, lines in parts.items():
        mark = f"@{name}@"
        before = script[: script.index(mark)].rpartition("\n")[2]
        margin = before if before.isspace() else ""
        script = script.replace(mark, f"\n{margin}".join(lines))
    return script
