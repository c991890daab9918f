"""The command ``completion``: the script for a shell."""

import os
from pathlib import Path

from reel.cli.commands.shared.installed import write
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.shells import SHELLS
from reel.daemon.address import config_home


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
    write(place, script)
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
