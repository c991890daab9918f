"""Make the manual pages from the tables of commands and of settings: ``python daemon/manual.py DIRECTORY``.

It is not part of the package, because the daemon does not need it: ``make man`` and the build of a wheel do.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from reel.cli.line.command import COMMON, Command, Option, options_of
from reel.cli.line.overview import DESCRIPTION, ENVIRONMENT, EXIT_STATUSES, NAME_RULE
from reel.cli.line.parser import examples_of, sentence, usage_of
from reel.cli.line.table import all_commands
from reel.version import __version__
from reeld.config import SETTINGS

_FILES = (
    ("$XDG_RUNTIME_DIR/reel/reel.sock", "the socket; /tmp/reel-UID/reel.sock if that variable is not set"),
    ("~/.local/state/reel/reel.db", "the database; $XDG_STATE_HOME takes the place of ~/.local/state if it is set"),
    ("~/.config/reel/reel.toml", "the settings of reel, beside those of the daemon"),
    (
        "~/.config/reel/reeld.toml",
        "the settings of reeld; $XDG_CONFIG_HOME takes the place of ~/.config if it is set",
    ),
)
_SHARED = (
    ("--help", "show help for reel, or for one of its commands"),
    ("--version", "print the versions of reel and of the protocol (reel status prints the daemon's)"),
)
_STATUSES = (
    ("0", "stopped as asked"),
    ("2", "wrong usage, or an invalid setting"),
    ("3", "another reeld is running; starting again cannot help"),
    ("4", "it cannot start with these settings; the message says what to do"),
)
_DAEMON = """\
reeld owns the conversations of LLM agents. It keeps them in an append-only log in SQLite and commits each message
before it acknowledges it. It listens on a Unix socket, stays in the foreground, and logs to stderr. On SIGTERM or
SIGINT it finishes what is in flight and exits. On SIGHUP it opens its log again, if that is a file, and makes its
socket again, if that is gone from its path; if it logs to a terminal, SIGHUP ends it, too.

A setting is read from the command line, else from the environment, else from reeld.toml; each has a default.
--check prints every setting and where it came from."""


def reel() -> str:
    """Return the text of reel.1."""
    return _page(
        ("reel", 1, "talk to reeld"),
        (".B reel", _text("[--socket PATH] [--json] [--timeout SECONDS] COMMAND ...")),
        ("DESCRIPTION", [_text(DESCRIPTION), ".PP", _text(NAME_RULE)]),
        ("OPTIONS", [*_options(COMMON), *_terms(_SHARED)]),
        ("COMMANDS", (line for command in all_commands() for line in _command(command))),
        ("ENVIRONMENT", _terms(ENVIRONMENT)),
        ("EXIT STATUS", _terms(EXIT_STATUSES)),
        ("SEE ALSO", [".BR reeld (8)"]),
    )


def reeld() -> str:
    """Return the text of reeld.8."""
    settings = [
        *((f"{setting.flag} {setting.metavar}", f"{setting.help} (${setting.variable})") for setting in SETTINGS),
        ("--check", "print every setting and where it came from"),
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
    yield f'.SS "{_text(f"reel {command.name} {command.positionals}".rstrip())}"'
    yield _text(sentence(command.summary))
    if command.notes:
        yield _text(command.notes)
    yield from _options(option for option in options_of(command) if option not in COMMON)
    example = [_text(line) for line in examples_of(command)]
    yield from (".PP", "Example:", ".RS 2", ".nf", *example, ".fi", ".RE")


def _options(options: Iterable[Option]) -> Iterator[str]:
    return _terms((usage_of(option), option[1]["help"]) for option in options)


def _terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, about in pairs:
        yield from (".TP", f".B {_text(term)}", _text(about))


def _text(text: str) -> str:
    """Escape what roff would read as a request or a special character."""
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
