"""The manual pages, made from the table of commands and the table of settings: ``python -m reeld.man DIRECTORY``."""

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from reel.cli.parser import DESCRIPTION, EPILOG, common_options, examples_of, options_of, sentence, usage_of
from reel.cli.table import COMMANDS, Command, Option
from reel.version import __version__
from reeld.config import SETTINGS

_FILES = (
    ("$XDG_RUNTIME_DIR/reel/reel.sock", "the socket; where there is no such variable, /tmp/reel-UID/reel.sock"),
    ("~/.local/state/reel/reel.db", "the database; $XDG_STATE_HOME goes before ~/.local/state"),
    ("~/.config/reel/reeld.toml", "the settings; $XDG_CONFIG_HOME goes before ~/.config"),
)
_SHARED = (
    ("--help", "say how reel, or a command of it, is used"),
    ("--version", "print the versions of reel and of the protocol; reel status has the daemon's"),
)
_STATUSES = (
    ("0", "stopped as asked"),
    ("2", "wrong usage, or a setting that cannot be"),
    ("3", "another reeld runs; starting again cannot help"),
    ("4", "it cannot start as told; the message says what to do"),
)
# A term and what is said of it, two blanks or more apart.
_ROW = re.compile(r"(\w+)  +(\S.*?)(?=  |\n|$)")
_DAEMON = """\
reeld owns the conversations of LLM agents: an append-only log in SQLite, each message committed before it is
acknowledged. It listens on a Unix socket, stays in the foreground and logs to stderr. SIGTERM and SIGINT make it
finish what is in flight and end.

Each setting is looked for on the command line, then in the environment, then in reeld.toml, and has a default;
--check prints what is in force and where it came from."""


def reel() -> str:
    """Make reel.1."""
    about, environment, statuses, _ = EPILOG.split("\n\n")
    return _page(
        ("reel", 1, "talk to reeld"),
        (".B reel", _text("[--socket PATH] [--json] COMMAND ...")),
        ("DESCRIPTION", [_text(DESCRIPTION), ".PP", _text(about)]),
        ("OPTIONS", [*_options(common_options()), *_terms(_SHARED)]),
        ("COMMANDS", (line for command in COMMANDS for line in _command(command))),
        ("ENVIRONMENT", _terms(_ROW.findall(environment))),
        ("EXIT STATUS", _terms(_ROW.findall(statuses))),
        ("SEE ALSO", [".BR reeld (8)"]),
    )


def reeld() -> str:
    """Make reeld.8."""
    settings = [
        *((f"{setting.flag} {setting.metavar}", f"{setting.help} (${setting.variable})") for setting in SETTINGS),
        ("--check", "print what is in force and where it came from"),
        ("--version", "print the versions of reeld, of the protocol and of SQLite"),
    ]
    return _page(
        ("reeld", 8, "the daemon that owns the conversations of LLM agents"),
        (".B reeld", "[options]"),
        ("DESCRIPTION", [line or ".PP" for line in map(_text, _DAEMON.split("\n"))]),
        ("OPTIONS", _terms(settings)),
        ("FILES", _terms(_FILES)),
        ("EXIT STATUS", _terms(_STATUSES)),
        ("SEE ALSO", [".BR reel (1)"]),
    )


def _page(title: tuple[str, int, str], synopsis: Iterable[str], *sections: tuple[str, Iterable[str]]) -> str:
    name, section, about = title
    when = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())))
    lines = [
        f'.TH {name.upper()} {section} "{when}" "reel {__version__}"',
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"{name} \- {about}",
    ]
    for heading, content in (("SYNOPSIS", synopsis), *sections):
        lines += [f".SH {heading}", *content]
    return "\n".join([*lines, ""])


def _command(command: Command) -> Iterator[str]:
    yield f'.SS "{_text(f"reel {command.name} {command.words}".rstrip())}"'
    yield _text(sentence(command.summary))
    if command.notes:
        yield _text(command.notes)
    yield from _options(option for option in options_of(command) if option not in common_options())
    example = [_text(line) for line in examples_of(command)]
    yield from (".PP", "Example:", ".RS 2", ".nf", *example, ".fi", ".RE")


def _options(options: Iterable[Option]) -> Iterator[str]:
    return _terms((usage_of(option), option[1]["help"]) for option in options)


def _terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, about in pairs:
        yield from (".TP", f".B {_text(term)}", _text(about))


def _text(text: str) -> str:
    """Keep roff from reading a text as its own."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("`", r"\(ga")
    return "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n"))


def main(directory: str) -> None:
    """Write the pages into a directory."""
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    (target / "reel.1").write_text(reel(), encoding="utf-8")
    (target / "reeld.8").write_text(reeld(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
