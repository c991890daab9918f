"""The files with which the supervisor of this system starts the daemon, and the import of what other tools write."""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from itertools import dropwhile
from pathlib import Path

from reel.base.installation import install_command
from reel.cli.commands.shared.installed import CHECKOUT, DATA
from reel.cli.line.arguments import UsageError
from reel.daemon.address import config_home

DAEMON, SOCKET, IMPORT = "reeld.service", "reeld.socket", "reel-import.service"
DAEMON_LABEL, IMPORT_LABEL = "io.reel.reeld", "io.reel.import"
# What the import runs; `reel import` beside this command.
IMPORTING = ("import", "--yes", "--watch")
# What decides which daemon is meant, and with which settings. The unit has neither these nor those of the tools.
_OWN = ("REEL_SOCKET", "REEL_DATABASE", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
# Every process has these of its own.
_EVERYBODYS = frozenset({"HOME", "PWD"})
_START = re.compile(r'^ExecStart="((?:[^"\\]|\\.)*)"', re.MULTILINE)
# Seconds until launchd starts again what has ended.
_THROTTLE = 30


def is_launchd() -> bool:
    """Return whether launchd is the supervisor, and not systemd."""
    return sys.platform == "darwin"


def place(name: str) -> Path:
    """Return the path of a file of this user, by the name of its unit or its label."""
    if is_launchd():
        return Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"
    return Path(config_home()) / "systemd" / "user" / name


def daemon_files() -> dict[Path, str]:
    """Return the files for the daemon, by their paths."""
    program = _program("reeld")
    if is_launchd():
        # It is started again after a crash, but not after the statuses that say that this cannot help.
        again = {"KeepAlive": {"Crashed": True}}
        return {place(DAEMON_LABEL): _plist(DAEMON_LABEL, [program], again)}
    return {place(DAEMON): _unit(DAEMON, program), place(SOCKET): _unit(SOCKET, program)}


def import_file() -> Path:
    """Return the path of the file for the import."""
    return place(IMPORT_LABEL if is_launchd() else IMPORT)


def import_files(environment: Mapping[str, str]) -> dict[Path, str]:
    """Return the file for the import, by its path.

    Args:
        environment: what a person's shell has: a unit has only what stands in it.
    """
    program, variables = _program("reel"), _variables(environment)
    if is_launchd():
        again = {"KeepAlive": True, "ThrottleInterval": _THROTTLE, "EnvironmentVariables": variables}
        return {import_file(): _plist(IMPORT_LABEL, [program, *IMPORTING], again)}
    return {import_file(): _unit(IMPORT, program, IMPORTING, variables)}


def installed_program(text: str) -> str:
    """Return the program that the file for the import starts; empty if it does not say."""
    if is_launchd():
        from plistlib import loads  # noqa: PLC0415 - only a Mac needs it

        return str(next(iter(loads(text.encode()).get("ProgramArguments", [])), ""))
    found = _START.search(text)
    return "" if found is None else re.sub(r"\\(.)", r"\1", found[1]).replace("%%", "%").replace("$$", "$")


def _unit(name: str, program: str, arguments: tuple[str, ...] = (), variables: Mapping[str, str] | None = None) -> str:
    source = DATA / "systemd" if DATA.exists() else CHECKOUT / "systemd"
    # A dollar sign begins a variable there.
    start = " ".join([f"ExecStart={_quoted(program).replace('$', '$$')}", *arguments])
    given = [f"Environment={_quoted(f'{name}={value}')}" for name, value in (variables or {}).items()]
    # What is above the first section is for those who copy a file from the source.
    lines = dropwhile(lambda line: not line.startswith("["), (source / name).read_text().splitlines())
    made = [one for line in lines for one in ([start, *given] if line.startswith("ExecStart=") else [line])]
    return "\n".join(made) + "\n"


def _quoted(text: str) -> str:
    """Return a text in quotes; a percent sign begins a specifier of systemd's."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return f'"{escaped}"'


def _plist(label: str, arguments: list[str], more: Mapping[str, object]) -> str:
    from plistlib import dumps  # noqa: PLC0415 - only a Mac needs it

    return dumps({"Label": label, "ProgramArguments": arguments, "RunAtLoad": True, **more}).decode()


def _program(name: str) -> str:
    """Return the path of a program that belongs to this command."""
    beside = Path(sys.executable).parent / name
    program = str(beside) if beside.exists() else shutil.which(name)
    if program is None:
        raise UsageError(f"{name} is not installed here; install it with: {install_command()}")
    return str(Path(program).absolute())


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what of an environment says where the daemon, its settings and the histories of the tools are."""
    from reel.importing import MODULES, tool_named  # noqa: PLC0415 - the daemon's files need none of them

    asked = _Asked(environment)
    for name in MODULES:
        list(tool_named(name).places(asked))
    names = sorted({*_OWN, *asked.names} - _EVERYBODYS)
    return {name: environment[name] for name in names if environment.get(name)}


class _Asked(Mapping[str, str]):
    """An environment that notes which variables it is asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._environment[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)
