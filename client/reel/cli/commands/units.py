"""The command ``units``: the files for the supervisor of this system."""

import os
import shutil
import sys
from itertools import dropwhile
from pathlib import Path

from reel.base.installation import install_command
from reel.cli.commands.shared.installed import CHECKOUT, DATA, write
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.daemon.address import config_home

_UNITS = ("reeld.service", "reeld.socket")
_LABEL = "io.reel.reeld"


def units(ctx: Context) -> None:
    """Print the files for the supervisor of this system, or install them for this user."""
    if sys.platform == "darwin":
        place, files = Path.home() / "Library" / "LaunchAgents", {f"{_LABEL}.plist": _plist()}
        then = f"launchctl bootstrap gui/{os.getuid()} {place / _LABEL}.plist"
    else:
        place, files = Path(config_home()) / "systemd" / "user", {name: _unit(name) for name in _UNITS}
        then = "systemctl --user daemon-reload && systemctl --user enable --now reeld.socket"
    for name, text in files.items():
        if ctx.args.install:
            write(place / name, text)
            ctx.out.line(f"installed {place / name}")
        else:
            ctx.out.lines([line] for line in [f"# {place / name}", *text.splitlines(), ""])
    if ctx.args.install:
        ctx.out.line(f"next: {then}")


def _unit(name: str) -> str:
    source = DATA / "systemd" if DATA.exists() else CHECKOUT / "systemd"
    # A percent sign begins a specifier of systemd's.
    program = _program().replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    # What is above the first section is for those who copy a file from the source.
    lines = dropwhile(lambda line: not line.startswith("["), (source / name).read_text().splitlines())
    return "\n".join(f'ExecStart="{program}"' if line.startswith("ExecStart=") else line for line in lines) + "\n"


def _plist() -> str:
    from plistlib import dumps  # noqa: PLC0415 - only a Mac needs it

    # It is started again after a crash, but not after the statuses that say that this cannot help.
    service = {"Label": _LABEL, "ProgramArguments": [_program()], "RunAtLoad": True, "KeepAlive": {"Crashed": True}}
    return dumps(service).decode()


def _program() -> str:
    """Return the path of the ``reeld`` that belongs to this command."""
    beside = Path(sys.executable).parent / "reeld"
    program = str(beside) if beside.exists() else shutil.which("reeld")
    if program is None:
        raise UsageError(f"reeld is not installed here; install it with: {install_command()}")
    return str(Path(program).absolute())
