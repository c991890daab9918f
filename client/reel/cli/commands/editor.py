"""The command ``editor``: what an editor needs for the plug-in of this installation."""

from pathlib import Path

from reel.cli.commands.shared.installed import CHECKOUT, DATA
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context


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
    return DATA / "editors" if DATA.exists() else CHECKOUT / "client" / "editors"


def _vsix() -> Path:
    place = DATA / "editors" / "reel.vsix" if DATA.exists() else CHECKOUT / "build" / "reel.vsix"
    if not place.exists():
        raise UsageError(f"{place} does not exist; install reel where npm is, or make it in a checkout with: make vsix")
    return place
