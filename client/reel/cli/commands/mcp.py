"""The command ``mcp``: let agents read earlier conversations."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from reel.cli.commands.shared.import_secrets import masking_by, mode_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.settings_text import replace
from reel.cli.line.suggestions import like
from reel.mcp.wiring.plan import Change, Refused, installed, lines_of, uninstalled
from reel.mcp.wiring.tools import TOOLS, Started, Wired

# Variables that say which daemon is meant, and that a tool may not pass on.
_VARIABLES = ("REEL_SOCKET", "REEL_DATABASE")
# The directories that decide about the daemon as well: Codex passes on none of them.
_DIRECTORIES = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
_COMPACTED = (
    "The context was compacted. What was dropped can be read word for word with the tool `lost` of the MCP server"
    " reel; without arguments it is about this session."
)


def mcp(ctx: Context) -> int:
    """Answer an agent on stdin and stdout until it closes its end; or let a tool start this."""
    given = [f"--{name}" for name in ("install", "uninstall", "hook") if getattr(ctx.args, name)]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined")
    if ctx.args.install or ctx.args.uninstall:
        return _wire(ctx, _tool(ctx))
    if ctx.args.hook:
        return _hook(ctx, _tool(ctx))
    if ctx.words:
        raise UsageError(f"what is to become of {ctx.words[0]}? Add --install, --uninstall or --hook")
    import anyio  # noqa: PLC0415 - with the server, it costs a tenth of a second

    from reel.mcp.server import Options, serve  # noqa: PLC0415 - as above

    args, settings = ctx.args, ctx.settings.mcp
    masking = masking_by(mode_of(ctx)) if settings.get("import", True) and not args.no_import else None
    writes, shows = (getattr(args, name) or settings.get(name, False) for name in ("write", "show_secrets"))
    anyio.run(serve, Options(ctx.socket, ctx.starts, writes, shows, masking))
    return OK


def _tool(ctx: Context) -> Wired:
    names = [tool.name for tool in TOOLS]
    if not ctx.words:
        raise UsageError(f"name a tool: {', '.join(names)}")
    for tool in TOOLS:
        if tool.name == ctx.words[0]:
            return tool
    raise UsageError(f"{ctx.words[0]!r} is not one of {', '.join(names)}{like(ctx.words[0], names)}")


def _wire(ctx: Context, tool: Wired) -> int:
    """Show what would change, and change it if that is wanted."""
    try:
        if ctx.args.uninstall:
            changes = uninstalled(tool, os.environ)
        else:
            changes = installed(tool, os.environ, _started(ctx, tool), hooks=_wants_hooks(ctx, tool))
    except Refused as error:
        ctx.out.warn(str(error))
        return REFUSED
    done = "does not start this server" if ctx.args.uninstall else "starts this server"
    if not changes:
        ctx.out.line(f"{tool.title} {done}{'' if ctx.args.uninstall else ' already'}; nothing was changed")
        return OK
    for change in changes:
        ctx.out.lines([line] for line in lines_of(change))
    sys.stdout.flush()
    if not _agreed(ctx):
        return REFUSED
    for change in changes:
        _write(change)
    ctx.out.line(f"{tool.title} {done} the next time it is started.")
    files = {change.file for change in changes if change.after is not None}
    if tool.hooks is not None and tool.hooks.then and tool.hooks.file(os.environ) in files and not ctx.args.uninstall:
        ctx.out.line(tool.hooks.then)
    return OK


def _started(ctx: Context, tool: Wired) -> Started:
    """Return how a tool is to start the server: as this command was started, from wherever it is."""
    program = os.path.abspath(sys.argv[0])
    own = os.path.basename(program) == "reel" and os.access(program, os.X_OK)
    words = (program,) if own else (sys.executable, "-c", "from reel.cli import process; process()")
    names = [*_VARIABLES, *(_DIRECTORIES if tool.name == "codex" else ())]
    variables = {name: os.environ[name] for name in names if os.environ.get(name)}
    if ctx.args.socket:
        variables["REEL_SOCKET"] = ctx.socket
    return Started(words, tuple(_flags(ctx)), variables)


def _flags(ctx: Context) -> list[str]:
    """Return the options with which the server is to be started."""
    args = ctx.args
    flags = {"--write": args.write, "--show-secrets": args.show_secrets, "--no-import": args.no_import}
    return [flag for flag, is_set in flags.items() if is_set]


def _wants_hooks(ctx: Context, tool: Wired) -> bool:
    """Return whether hooks are wanted; a person at a terminal is asked."""
    if tool.hooks is None or ctx.args.with_hooks or ctx.args.yes or not _is_asked(ctx):
        return ctx.args.with_hooks
    question = "Also read sessions in before they are compacted, and tell the model then? [Y/n] "
    return _said_yes(question)


def _agreed(ctx: Context) -> bool:
    if ctx.args.yes:
        return True
    if not _is_asked(ctx):
        ctx.out.warn(f"nothing was changed; change it with: {ctx.command('mcp', *_given(ctx), '--yes')}")
        return False
    return _said_yes("Write this? [Y/n] ")


def _given(ctx: Context) -> list[str]:
    hooks = ["--with-hooks"] if ctx.args.with_hooks else []
    what = ["--uninstall"] if ctx.args.uninstall else ["--install", *hooks, *_flags(ctx)]
    return [ctx.words[0], *what]


def _is_asked(ctx: Context) -> bool:
    return sys.stdin.isatty() and ctx.out.tells_a_person


def _said_yes(question: str) -> bool:
    try:
        answer = input(question)
    except EOFError:
        return False
    return answer.strip().lower() in ("", "y", "yes")


def _write(change: Change) -> None:
    """Write a file, or remove it, and the directory of a skill if that is empty then."""
    if change.after is not None:
        replace(str(change.file), change.after)
        return
    change.file.unlink()
    if change.is_skill and not any(change.file.parent.iterdir()):
        change.file.parent.rmdir()


def _given_on_stdin() -> dict[str, Any]:
    try:
        given = json.loads(sys.stdin.read())
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise UsageError("what a tool gives its hook on stdin is a JSON object; let the tool run this")
    return given


def _hook(ctx: Context, tool: Wired) -> int:
    """Do what a tool's hook is for: read its transcript in, and tell a model that was compacted what it can do."""
    from reel.importing.refreshing import Caller, Refresher  # noqa: PLC0415 - only here

    given = _given_on_stdin()
    path = given.get("transcript_path")
    if isinstance(path, str) and path:
        ctx.client.connect()
        refresher = Refresher(ctx.socket, os.environ, new_masking=masking_by(mode_of(ctx)))
        refresher.run(Caller(tool=tool.name, transcript=path))
    event = given.get("hook_event_name")
    if event == "SessionStart" and given.get("source") == "compact":
        print(json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": _COMPACTED}}))
    elif tool.name == "gemini-cli":  # it reads JSON in any case
        print("{}")
    return OK
