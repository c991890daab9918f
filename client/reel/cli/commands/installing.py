"""The commands that connect this installation to the rest of the system: its editors, its supervisor, its shell.

A wheel carries the plug-ins and the units in ``reel/data``. In a checkout they are where they are edited.
"""

import os
import shutil
import sys
from itertools import dropwhile
from pathlib import Path

import reel
from reel.base.installation import install_command
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.shells import SHELLS
from reel.daemon.address import config_home

_PACKAGE = Path(reel.__file__).parent
_DATA = _PACKAGE / "data"
_CHECKOUT = _PACKAGE.parent.parent
_UNITS = ("reeld.service", "reeld.socket")
_LABEL = "io.reel.reeld"


def editor(ctx: Context) -> None:
    """Print what an editor's configuration needs for the plug-in of this installation."""
    name = ctx.words[0]
    lines = {
        "nvim": 'vim.opt.runtimepath:prepend("{}")  -- in init.lua',
        "vim": 'set runtimepath^={}  " in vimrc',
        "emacs": "(add-to-list 'load-path \"{}\")  ; in init.el\n(require 'reel)",
        "vscode": "code --install-extension {}",
    }
    if name not in lines:
        raise UsageError(f"{name!r} is not an editor that reel knows; expected one of {', '.join(lines)}")
    place = _vsix() if name == "vscode" else _editors() / name
    text = str(place) if ctx.args.path else lines[name].format(place)
    ctx.out.lines([line] for line in text.split("\n"))


def _editors() -> Path:
    return _DATA / "editors" if _DATA.exists() else _CHECKOUT / "client" / "editors"


def _vsix() -> Path:
    place = _DATA / "editors" / "reel.vsix" if _DATA.exists() else _CHECKOUT / "build" / "reel.vsix"
    if not place.exists():
        raise UsageError(f"{place} does not exist; make it in a checkout with: make vsix")
    return place


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
            _write(place / name, text)
            ctx.out.line(f"installed {place / name}")
        else:
            ctx.out.lines([line] for line in [f"# {place / name}", *text.splitlines(), ""])
    if ctx.args.install:
        ctx.out.line(f"next: {then}")


def _unit(name: str) -> str:
    source = _DATA / "systemd" if _DATA.exists() else _CHECKOUT / "systemd"
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


def completion(ctx: Context) -> None:
    """Print the completion script of a shell, or install it for this user."""
    shell = ctx.words[0] if ctx.words else Path(os.environ.get("SHELL", "")).name
    if not shell:
        raise UsageError(f"$SHELL is not set; name a shell: {', '.join(SHELLS)}")
    if shell not in SHELLS:
        raise UsageError(f"{shell!r} is not a shell that reel knows; expected one of {', '.join(SHELLS)}")
    script = SHELLS[shell]
    if not ctx.args.install:
        ctx.out.lines([line] for line in script.splitlines())
        return
    place = _completions(shell)
    _write(place, script)
    ctx.out.line(f"installed {place}")
    if shell == "zsh":
        ctx.out.line(f"next, in ~/.zshrc before compinit: fpath=({place.parent} $fpath)")


def _completions(shell: str) -> Path:
    """Return the file in which a shell looks for the completions of this user."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    if shell == "fish":
        return Path(config_home()) / "fish" / "completions" / "reel.fish"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_reel"
    own = os.environ.get("BASH_COMPLETION_USER_DIR", "").split(os.pathsep)[0]
    return Path(own or data / "bash-completion") / "completions" / "reel"


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
