"""Checks of the settings of the daemon and of this command."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from reel.cli.commands.checks.finding import BAD, FINE, WARN, Finding
from reel.cli.line.arguments import SettingsError
from reel.cli.line.settings import Settings, load, settings_file
from reel.daemon.address import config_file

# What may come before the program of a command line, and what only the shell understands.
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL_SYNTAX = re.compile(r"[^\w./+@%:,~ -]")
_NO_PROGRAM = "install it, or correct the setting; a relative path is looked up in the current directory"


def check_settings(problem: str | None) -> Finding:
    """Check that a daemon could start with the settings in its file and in the environment.

    Args:
        problem: what is wrong with them.
    """
    if problem is not None:
        return Finding("settings", BAD, problem, "correct it; see all settings with: reeld --check")
    file = config_file()
    return Finding("settings", FINE, file if Path(file).exists() else f"{file}: not there; the defaults apply")


def check_own_settings() -> Finding:
    """Check the settings of this command."""
    file = settings_file()
    try:
        settings = load()
    except SettingsError as error:
        return Finding("reel.toml", BAD, str(error), "correct it; until then, most commands refuse to run")
    if missing := list(_missing_programs(settings)):
        return Finding("reel.toml", WARN, f"{file}: {', '.join(missing)}", _NO_PROGRAM)
    return Finding("reel.toml", FINE, file if Path(file).exists() else f"{file}: not there; the defaults apply")


def _missing_programs(settings: Settings) -> Iterator[str]:
    """Yield each setting whose command line begins with a program that does not exist."""
    commands = {
        f"providers.{name}.command": provider["command"]
        for name, provider in settings.providers.items()
        if "command" in provider
    }
    if settings.via and settings.via not in settings.providers:
        commands["via"] = settings.via
    for name, command in commands.items():
        if not is_found(program := program_of(command)):
            yield f"{name}: there is no program {program!r}"


def program_of(command: str) -> str:
    """Return the program with which a command line begins; empty if only the shell can tell."""
    words = (word for word in shlex.split(command) if not _ASSIGNMENT.match(word))
    program = os.path.expanduser(os.path.expandvars(next(words, "")))
    return "" if _SHELL_SYNTAX.search(program) else program


def is_found(program: str) -> bool:
    """Return whether the shell can run a program, relative to the current directory."""
    if not program or shutil.which(program):
        return True
    # It may also be a part of the shell, such as exec or if.
    ask = ["/bin/sh", "-c", 'command -v "$1" > /dev/null 2>&1', "sh", program]
    return "/" not in program and subprocess.run(ask, check=False).returncode == 0  # noqa: S603 - it runs nothing
