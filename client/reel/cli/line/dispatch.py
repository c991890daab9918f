"""Running a command's function.

This is not part of :mod:`reel.cli.line.run` because ``--help`` and ``--version`` need no client: everything that
imports one is imported from here on, and of the commands only the one that runs.
"""

import os
import sys
from importlib import import_module

from reel.base.errors import NotRunning, ReelError
from reel.cli.line.arguments import UsageError
from reel.cli.line.command import Command
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED, status_of
from reel.cli.line.options import Options
from reel.cli.line.settings import NO_START, Settings
from reel.cli.screen.output import Output
from reel.daemon.address import default_socket, standard_socket
from reel.reading.failures import explain


def dispatch(
    command: Command,
    args: Options,
    agent: str,
    words: list[str],
    settings: Settings,
    *,
    lone: bool = False,
    picks: bool = False,
) -> int:
    """Run a command's function and return the exit status. An error of the daemon becomes one line on stderr.

    Args:
        command: the command.
        args: its options.
        agent: the agent, or an empty string.
        words: the other positional arguments.
        settings: the user's settings.
        lone: whether the only argument may also be the agent.
        picks: whether the user, who is at a terminal, chooses the agent.
    """
    color = args.color or settings.color
    out = Output(sys.stdout, sys.stderr, as_json=args.json, color=color, hints=settings.hints)
    changes = command.writes or args.add  # draft changes something only with --add
    ctx: Context | None = None
    try:
        socket, starts = _socket(command, args), _starts(command, args, settings)
        ctx = Context(args, agent, words, socket, out, settings=settings, changes=changes, starts=starts)
        with ctx.client:
            if lone:
                from reel.cli.line.lone_argument import resolve_lone_argument  # noqa: PLC0415 - it is seldom needed

                resolve_lone_argument(ctx, command)
            if picks:
                from reel.cli.line.picking import choose_agent  # noqa: PLC0415 - for a person only

                if not choose_agent(ctx, command.name):
                    return REFUSED
            _resolve_positions(ctx)
            run = getattr(import_module(f"reel.cli.commands.{command.module}"), command.function)
            return run(ctx) or OK
    except ReelError as error:
        # The output comes before the error.
        sys.stdout.flush()
        what = explain(
            error,
            ctx.agent if ctx else agent,
            command=command.name,
            options=vars(args),
            socket=args.socket,
            typed=words,
        )
        # The name is for programs.
        out.warn(what if sys.stderr.isatty() else f"{error.name}: {what}")
        return status_of(error.name)


def _resolve_positions(ctx: Context) -> None:
    """Replace the positions of the options by seqs."""
    for name in ("at", "since"):
        given = vars(ctx.args).get(name)
        if given is None or isinstance(given, int):
            continue
        if not ctx.agent or ctx.args.all:
            raise UsageError(
                f"--{name} from the end needs one conversation; for all of them it is an event id, such as 12"
            )
        setattr(ctx.args, name, ctx.seq(given))


def _starts(command: Command, args: Options, settings: Settings) -> bool:
    """Return whether to start the daemon if none runs.

    Not on a socket of ``--socket``: nobody knows with which database, and a daemon on a mistyped path would keep the
    usual one from starting.
    """
    wanted = command.starts_daemon and settings.start and not args.no_start
    return wanted and not args.socket and not os.environ.get(NO_START)


def _socket(command: Command, args: Options) -> str:
    try:
        return os.path.abspath(args.socket or default_socket())
    except NotRunning:
        if not command.without_socket:
            raise
        return standard_socket()
